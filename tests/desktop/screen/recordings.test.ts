/** Recordings of this host: one at a time, and a bounded number of files. */
import { expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EventType } from "../../../src/core/events";
import type { Recorded } from "../../../src/desktop/screen/record/calls";
import { createRecordings } from "../../../src/desktop/screen/record/recordings";
import { unavailable } from "../../../src/lib/errors";
import { silentLog } from "../../../src/lib/log";
import { temporaryFolder } from "../../support";

const LIMITS = { fps: 4, maxMs: 60_000, maxBytes: 1_000_000 };
const ASKED = { ...LIMITS, file: undefined, token: null };
const DONE: Recorded = {
  ...{ ended: "stopped", error: null, seconds: 3, pictures: 2, bytes: 900, width: 80, height: 60 },
};

function recordingsIn(folder: string, hasDisplay = true) {
  let ended = Promise.withResolvers<Recorded>();
  const published: Array<[string, unknown]> = [];
  const desktop = {
    async screenSize() {
      if (!hasDisplay) throw unavailable("no display");
    },
    record() {
      ended = Promise.withResolvers();
      return ended.promise;
    },
    async stopRecording() {
      ended.resolve(DONE);
    },
  };
  const publish = (type: EventType, data: unknown) => void published.push([type.name, data]);
  const recordings = createRecordings({ folder, desktop: async () => desktop, publish, log: silentLog });
  return { recordings, published, crash: (error: Error) => ended.reject(error) };
}

test("goes on until it is stopped; meanwhile there is no other", async () => {
  using folder = temporaryFolder();
  const { recordings, published } = recordingsIn(folder.path);
  const started = await recordings.start({ ...ASKED, token: "ann" });
  expect(started).toMatchObject({ token: "ann", result: null });
  expect(recordings.current()).toEqual(started);
  expect(recordings.start(ASKED)).rejects.toThrow(
    `the screen is being recorded already, to ${started.file_path}`,
  );
  expect(await recordings.stop()).toEqual({ ...started, result: DONE });
  expect(recordings.current()).toBeNull();
  expect(published.map(([name]) => name)).toEqual(["recording.started", "recording.ended"]);
  expect(recordings.stop()).rejects.toThrow("the screen is not being recorded");
});

test("of two that start at once, one does", async () => {
  using folder = temporaryFolder();
  const { recordings } = recordingsIn(folder.path);
  const both = await Promise.allSettled([recordings.start(ASKED), recordings.start(ASKED)]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
});

test("leaves no file where there is no display", async () => {
  using folder = temporaryFolder();
  const { recordings } = recordingsIn(folder.path, false);
  await expect(recordings.start(ASKED)).rejects.toThrow("no display");
  expect(readdirSync(folder.path)).toEqual([]);
  expect(recordings.current()).toBeNull();
});

test("has failed when the desktop's helper has, and another one can start", async () => {
  using folder = temporaryFolder();
  const { recordings, published, crash } = recordingsIn(folder.path);
  await recordings.start(ASKED);
  crash(unavailable("the desktop helper was killed"));
  await Bun.sleep(0);
  expect(published.at(-1)).toEqual([
    "recording.ended",
    expect.objectContaining({ ended: "failed", error: "the desktop helper was killed" }),
  ]);
  expect((await recordings.start(ASKED)).result).toBeNull();
});

test("keeps the newest twenty in its own folder, and no file that is not its own goes", async () => {
  using folder = temporaryFolder();
  const { recordings } = recordingsIn(folder.path);
  for (let day = 10; day < 35; day++) {
    writeFileSync(join(folder.path, `screen-202601${day}T120000Z.webm`), "x");
  }
  writeFileSync(join(folder.path, "mine.webm"), "x");
  const { name } = await recordings.start(ASKED);
  const names = recordings.list().map((one) => one.name);
  expect([names.length, names[0], names.at(-1)]).toEqual([20, name ?? "", "screen-20260116T120000Z.webm"]);
  expect(readdirSync(folder.path)).toContain("mine.webm");
  expect(() => recordings.fileOf("mine.webm")).toThrow("no recording mine.webm is kept");
  expect(() => recordings.fileOf("../mine.webm")).toThrow("is kept");
});

test("goes to a file that is named, where it can be written", async () => {
  using folder = temporaryFolder();
  const { recordings } = recordingsIn(folder.path);
  const missing = join(folder.path, "none", "a.webm");
  expect(recordings.start({ ...ASKED, file: missing })).rejects.toThrow("file_path");
  const file = join(folder.path, "a.webm");
  expect(await recordings.start({ ...ASKED, file })).toMatchObject({ name: null, file_path: file });
});

test("ends with the token that started it", async () => {
  using folder = temporaryFolder();
  const { recordings } = recordingsIn(folder.path);
  await recordings.start({ ...ASKED, token: "ann" });
  await recordings.endRevoked((token) => (token === "bob" ? "was revoked" : null));
  expect(recordings.current()).not.toBeNull();
  await recordings.endRevoked((token) => (token === "ann" ? "was revoked" : null));
  expect(recordings.current()).toBeNull();
});
