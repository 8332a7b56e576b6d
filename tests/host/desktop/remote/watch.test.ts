/** Watching GNOME, and pictures of it, with a session and a PipeWire that are a test's own. */
import { expect, test } from "bun:test";
import type { PictureStream, PipeWire } from "../../../../src/host/desktop/remote/pipewire";
import { createRemoteScreen } from "../../../../src/host/desktop/remote/screen";
import type { OpenRemote, RemoteSession } from "../../../../src/host/desktop/remote/session";
import { watchRemote } from "../../../../src/host/desktop/remote/watch";
import type { Output } from "../../../../src/host/desktop/wayland/outputs";

const OUTPUT = { name: "one", region: { x1: 0, y1: 0, x2: 2, y2: 1 } } as Output;

/** A session of GNOME, as far as its screen goes. */
function sessionWith(streams: OpenRemote["streams"], endListeners: Set<() => void>): RemoteSession {
  const opened = { streams, castProblem: undefined, pipewire: async () => undefined };
  return { who: "GNOME", endListeners, use: async () => opened as unknown as OpenRemote };
}

/** Pictures of one node, of which there is one. */
function streamOf(): PictureStream & { readonly isClosed: boolean } {
  let problem: string | undefined;
  let isClosed = false;
  const listeners = new Set<() => void>();
  return {
    picture: { pixels: new Int32Array(2), width: 2, height: 1, stride: 2 } as PictureStream["picture"],
    ...{ cursor: undefined, count: 1, refusal: undefined, listeners },
    get problem() {
      return problem;
    },
    get isClosed() {
      return isClosed;
    },
    fail(why) {
      problem ??= why;
      for (const listener of listeners) listener();
    },
    close() {
      isClosed = true;
    },
  };
}

test("where the picture of a monitor has nothing of the part that is wanted, that is said", async () => {
  const tall: Output = { ...OUTPUT, region: { x1: 0, y1: 0, x2: 2, y2: 10 } };
  const streams = new Map([["one", { path: "/one", node: Promise.resolve(7) }]]);
  const session = sessionWith(streams, new Set());
  const screen = createRemoteScreen(
    session,
    () => [tall],
    () => ({ stream: streamOf, step() {}, close() {} }),
  );
  expect(await screen.capture({ x1: 0, y1: 0, x2: 2, y2: 1 })).toMatchObject({ width: 2, height: 1 });
  await expect(screen.capture({ x1: 0, y1: 5, x2: 2, y2: 6 })).rejects.toThrow(
    "GNOME gives pictures of one with 2x1 pixels: there are none of this part of it",
  );
});

test("pictures that come and are not read fail with the reason", async () => {
  const streams = new Map([["one", { path: "/one", node: Promise.resolve(7) }]]);
  const unread = () =>
    Object.assign(streamOf(), { picture: undefined, refusal: "they lie in no shared memory" });
  const screen = createRemoteScreen(
    sessionWith(streams, new Set()),
    () => [OUTPUT],
    () => ({ stream: unread, step() {}, close() {} }),
  );
  await expect(screen.capture({ x1: 0, y1: 0, x2: 2, y2: 1 })).rejects.toThrow(
    "GNOME showed no picture of one to PipeWire within 4 s: those that came are not read, as they lie in no shared memory",
  );
});

test("where Mutter closes the session, who watches is told, and its pictures are closed; the next watch has a PipeWire of its own", async () => {
  const endListeners = new Set<() => void>();
  const streams = new Map([["one", { path: "/one", node: Promise.resolve(7) }]]);
  const session = sessionWith(streams, endListeners);
  const made: Array<ReturnType<typeof streamOf>> = [];
  let opened = 0;
  const openPipeWire = (): PipeWire => {
    opened++;
    const own = new Set<PictureStream>();
    return {
      stream() {
        const stream = streamOf();
        made.push(stream);
        own.add(stream);
        return stream;
      },
      step() {},
      close() {
        for (const stream of own) stream.close();
      },
    };
  };
  const screen = createRemoteScreen(session, () => [OUTPUT], openPipeWire);
  const outputs = { list: () => [OUTPUT], listeners: new Set<() => void>() };
  const parts = {
    ...{ screen, outputs: outputs as never, clipboardListeners: new Set<() => void>() },
    pointer: async () => ({ x: 0, y: 0 }),
  };
  const reasons: string[] = [];
  const events = { over: (why: string) => void reasons.push(why), damaged() {}, clipboard() {} } as never;
  await watchRemote(parts, events);
  for (const listener of endListeners) listener();
  expect(reasons).toEqual(["the session with GNOME has ended"]);
  expect(made.map(({ isClosed }) => isClosed)).toEqual([true]);
  const again = await watchRemote(parts, events);
  expect(opened).toBe(2);
  again.close();
  expect(reasons).toHaveLength(1);
  expect(made.map(({ isClosed }) => isClosed)).toEqual([true, true]);
});
