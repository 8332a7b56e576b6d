/** The clipboard between the host and a viewer that controls. */
import { test as always, describe, expect, setDefaultTimeout } from "bun:test";
import { constants, deflateSync, inflateSync } from "node:zlib";
import fc from "fast-check";
import type { Desktop } from "../../../../src/host/desktop/desktop";
import { createViewerClipboard } from "../../../../src/host/desktop/screen/child/clipboard";
import { provide, understand } from "../../../../src/host/desktop/screen/child/clipboard-messages";
import { testWith, until } from "../../../support";
import { desktopOn, forAllTests, forever, PROGRAMS, type startDisplay } from "../support";
import { EXTENDED_CLIPBOARD, TIGHT, type Viewer, view } from "./viewer";

setDefaultTimeout(180_000);
const test = testWith(...PROGRAMS);
const TEXT = `Grüße, 漢字 "q" 😀\nsecond line`;
const [CAPS, REQUEST, NOTIFY, PROVIDE] = [1 << 24, 1 << 25, 1 << 27, 1 << 28];

let display: Awaited<ReturnType<typeof startDisplay>>;
let desktop: Desktop;
forAllTests(PROGRAMS, (started) => {
  ({ display, desktop } = started);
});

let viewers = 0;
async function start(control: boolean, ...encodings: readonly number[]) {
  viewers += 1;
  const id = `viewer ${viewers}`;
  const viewer = await view(await desktop.openViewer({ id, control, name: id }));
  viewer.encodings(TIGHT, ...encodings);
  viewer.start();
  return { id, viewer };
}

/** The flags of the extended messages that came. */
const flagsOf = ({ cut }: Viewer) =>
  cut.filter(({ extended }) => extended).map(({ body }) => body.readUInt32BE(0));

function extended(flags: number, text?: string): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(flags >>> 0);
  if (text === undefined) return head;
  const bytes = Buffer.from(`${text.replaceAll("\n", "\r\n")}\0`);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(bytes.length);
  return Buffer.concat([head, deflateSync(Buffer.concat([size, bytes]))]);
}

const hostHas = (text: string) =>
  until("the host to have the text", async () => (await desktop.clipboard(forever)) === text || undefined);

/** Sets the clipboard as another program does. */
async function copyElsewhere(text: string): Promise<AsyncDisposable> {
  const other = desktopOn(display.env);
  await other.desktop.setClipboard(text, forever);
  return other;
}

describe("a viewer that controls", () => {
  test("is told of a text that is copied on the host, and gets it when it asks, in any script", async () => {
    const { viewer } = await start(true, EXTENDED_CLIPBOARD);
    using _viewer = viewer;
    await using _other = await copyElsewhere(TEXT);
    await until("the notice", () => flagsOf(viewer).includes(NOTIFY | 1) || undefined);
    expect(flagsOf(viewer)[0]).toBe(CAPS | REQUEST | (1 << 26) | NOTIFY | PROVIDE | 1);
    viewer.cutText(extended(REQUEST | 1), true);
    const { body } = await until("the text", () =>
      viewer.cut.find(({ body }) => body.readUInt32BE(0) === (PROVIDE | 1)),
    );
    const bytes = inflateSync(body.subarray(4), { finishFlush: constants.Z_SYNC_FLUSH });
    expect(bytes.toString("utf8", 4)).toBe(`${TEXT.replaceAll("\n", "\r\n")}\0`);
  });

  test("without the extended messages gets the text in Latin-1", async () => {
    const { viewer } = await start(true);
    using _viewer = viewer;
    await using _other = await copyElsewhere("Grüße, 漢字");
    const { body, extended: isExtended } = await until("the text", () => viewer.cut[0]);
    expect([isExtended, body.toString("latin1")]).toEqual([false, "Grüße, ??"]);
  });

  test("is asked for the text that it has, and the host has it then", async () => {
    const { viewer } = await start(true, EXTENDED_CLIPBOARD);
    using _viewer = viewer;
    viewer.cutText(extended(NOTIFY | 1), true);
    await until("the question", () => flagsOf(viewer).includes(REQUEST | 1) || undefined);
    viewer.cutText(extended(PROVIDE | 1, TEXT), true);
    await hostHas(TEXT);
  });

  test("gives the host a text in Latin-1 too, and hears nothing of its own text", async () => {
    const { viewer } = await start(true);
    using _viewer = viewer;
    viewer.cutText(Buffer.from("Grüße", "latin1"), false);
    await hostHas("Grüße");
    await using _other = await copyElsewhere("another");
    const texts = () => viewer.cut.map(({ body }) => body.toString("latin1"));
    await until("the other text", () => texts().includes("another") || undefined);
    expect(texts()).not.toContain("Grüße");
  });
});

describe("a viewer that looks", () => {
  test("neither hears of the clipboard nor changes it, until it controls", async () => {
    await using _other = await copyElsewhere("a secret");
    const { id, viewer } = await start(false);
    using _viewer = viewer;
    viewer.cutText(Buffer.from("not this"), false);
    await until("the screen", () => viewer.updates > 0 || undefined);
    expect(await desktop.clipboard(forever)).toBe("a secret");
    expect(viewer.cut).toEqual([]);
    await desktop.controlViewer(id, true);
    const { body } = await until("the text", () => viewer.cut[0]);
    expect(body.toString("latin1")).toBe("a secret");
  });
});

always("a text that is provided is understood as it was", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const clean = text.toWellFormed().replaceAll(/\0|\r/g, "");
      const message = provide(clean).subarray(8);
      expect(understand(message.readUInt32BE(0), message.subarray(4))).toEqual({
        kind: "provide",
        text: clean,
      });
    }),
  );
});

always("data that is damaged, or unpacks to more than is taken, says nothing", () => {
  const bomb = deflateSync(Buffer.alloc(64 * 1_024 * 1_024));
  expect(understand(PROVIDE | 1, bomb)).toEqual({ kind: "nothing" });
  fc.assert(
    fc.property(fc.integer(), fc.uint8Array(), (flags, data) => {
      understand(flags, data);
    }),
  );
});

always("of a flood of texts the host is given one at a time, and the newest", async () => {
  const given: string[] = [];
  const taken: Array<() => void> = [];
  const host = {
    clipboard: async () => "",
    setClipboard(text: string) {
      given.push(text);
      return new Promise<void>((resolve) => taken.push(resolve));
    },
  };
  const clipboard = createViewerClipboard(host, true);
  for (let nth = 0; nth <= 100; nth++) clipboard.given(`text ${nth}`);
  expect(given).toEqual(["text 0"]);
  taken[0]?.();
  await until("the newest", () => given.length > 1 || undefined);
  expect(given).toEqual(["text 0", "text 100"]);
  // What waits when its control ends is not given.
  clipboard.given("too late");
  clipboard.control(false);
  taken[1]?.();
  clipboard.control(true);
  clipboard.given("again");
  await until("another", () => given.length > 2 || undefined);
  expect(given).toEqual(["text 0", "text 100", "again"]);
});

always(
  "a viewer that asks for the same text again and again gets the same message, which is packed once",
  () => {
    const sent: Buffer[] = [];
    const clipboard = createViewerClipboard(
      { clipboard: async () => "", setClipboard: async () => {} },
      true,
    );
    clipboard.onMessage((form) => sent.push(form(true)));
    clipboard.given("one\ntwo");
    for (let nth = 0; nth < 3; nth++) clipboard.take(REQUEST | 1, new Uint8Array());
    expect([sent[1] === sent[0], sent[2] === sent[0]]).toEqual([true, true]);
    clipboard.given("three");
    clipboard.take(REQUEST | 1, new Uint8Array());
    const texts = [sent[0], sent[3]].map((message = Buffer.alloc(0)) =>
      understand(message.readUInt32BE(8), message.subarray(12)),
    );
    expect(texts).toEqual([
      { kind: "provide", text: "one\ntwo" },
      { kind: "provide", text: "three" },
    ]);
  },
);
