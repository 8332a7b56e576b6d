/** Recordings of this host: one at a time, and a bounded number of files. */
import { expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EventType } from "../../../../src/core/events";
import type { RecordingResult } from "../../../../src/host/desktop/screen/record/calls";
import { createRecordings, type MayUse } from "../../../../src/host/desktop/screen/record/recordings";
import { unavailable } from "../../../../src/lib/errors";
import { silentLog } from "../../../../src/lib/log";
import { temporaryFolder } from "../../../support";

const LIMITS = { fps: 4, maxMs: 60_000, maxBytes: 1_000_000 };
const ASKED = { ...LIMITS, file: undefined, token: null, share: null, run: null };
const ofToken = (token: string) => ({ ...ASKED, token, share: token });
/** What the owner may use. */
const ALL = () => true;
/** What the token may use. */
const own =
  (token: string): MayUse =>
  ({ maker }) =>
    maker === token;
const DONE: RecordingResult = {
  ...{ ended: "stopped", error: null, seconds: 3, pictures: 2, bytes: 900, width: 80, height: 60 },
};

function recordingsIn(folder: string, hasDisplay = true, free = 1e12) {
  let ended = Promise.withResolvers<RecordingResult>();
  const published: Array<[string, unknown]> = [];
  const sizes: number[] = [];
  const desktop = {
    async screenSize() {
      if (!hasDisplay) throw unavailable("no display");
    },
    record({ maxBytes }: { readonly maxBytes: number }) {
      sizes.push(maxBytes);
      ended = Promise.withResolvers();
      return ended.promise;
    },
    async stopRecording() {
      ended.resolve(DONE);
    },
  };
  const publish = (type: EventType, data: unknown) => void published.push([type.name, data]);
  const recordings = createRecordings({
    folder,
    desktop: async () => desktop,
    publish,
    log: silentLog,
    freeBytes: () => free,
  });
  return { recordings, published, sizes, crash: (error: Error) => ended.reject(error) };
}

test("of a token leaves a gigabyte of the disk free, and one of the owner may take it", async () => {
  using folder = temporaryFolder();
  const room = recordingsIn(folder.path, true, 1_005_000_000);
  const maxBytes = 4_096 * 1_048_576;
  await room.recordings.start({ ...ofToken("ann"), maxBytes }, own("ann"));
  await room.recordings.stop(ALL);
  await room.recordings.start({ ...ASKED, maxBytes }, ALL);
  await room.recordings.stop(ALL);
  expect(room.sizes).toEqual([5_000_000, maxBytes]);
  const full = recordingsIn(folder.path, true, 1_000_500_000).recordings;
  await expect(full.start({ ...ofToken("ann"), maxBytes }, own("ann"))).rejects.toMatchObject({
    code: "unavailable",
    message: "the disk is almost full: recordings of tokens leave 1 GB of it free",
  });
  expect(full.current(ALL)).toBeNull();
});

test("goes on until it is stopped; meanwhile there is no other", async () => {
  using folder = temporaryFolder();
  const { recordings, published } = recordingsIn(folder.path);
  const started = await recordings.start(ofToken("ann"), own("ann"));
  expect(started).toMatchObject({ token: "ann", result: null });
  expect(recordings.current(ALL)).toEqual(started);
  expect(recordings.start(ASKED, ALL)).rejects.toThrow(
    `the screen is being recorded already, to ${started.file_path}`,
  );
  expect(await recordings.stop(ALL)).toEqual({ ...started, result: DONE });
  expect(recordings.current(ALL)).toBeNull();
  expect(published.map(([name]) => name)).toEqual(["recording.started", "recording.ended"]);
  expect(recordings.stop(ALL)).rejects.toThrow("the screen is not being recorded");
});

test("of two that start at once, one does", async () => {
  using folder = temporaryFolder();
  const { recordings } = recordingsIn(folder.path);
  const both = await Promise.allSettled([recordings.start(ASKED, ALL), recordings.start(ASKED, ALL)]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
});

test("leaves no file where there is no display", async () => {
  using folder = temporaryFolder();
  const { recordings } = recordingsIn(folder.path, false);
  await expect(recordings.start(ASKED, ALL)).rejects.toThrow("no display");
  expect(readdirSync(folder.path)).toEqual([]);
  expect(recordings.current(ALL)).toBeNull();
});

test("has failed when the desktop's helper has, and another one can start", async () => {
  using folder = temporaryFolder();
  const { recordings, published, crash } = recordingsIn(folder.path);
  await recordings.start(ASKED, ALL);
  crash(unavailable("the desktop helper was killed"));
  await Bun.sleep(0);
  expect(published.at(-1)).toEqual([
    "recording.ended",
    expect.objectContaining({ ended: "failed", error: "the desktop helper was killed" }),
  ]);
  expect((await recordings.start(ASKED, ALL)).result).toBeNull();
});

test("keeps the newest twenty in its own folder, and no file that is not its own goes", async () => {
  using folder = temporaryFolder();
  const { recordings } = recordingsIn(folder.path);
  for (let day = 10; day < 35; day++) {
    writeFileSync(join(folder.path, `screen-202601${day}T120000Z.webm`), "x");
  }
  writeFileSync(join(folder.path, "mine.webm"), "x");
  const { name } = await recordings.start(ASKED, ALL);
  const names = recordings.list(ALL).map((one) => one.name);
  expect([names.length, names[0], names.at(-1)]).toEqual([20, name ?? "", "screen-20260116T120000Z.webm"]);
  expect(readdirSync(folder.path)).toContain("mine.webm");
  expect(() => recordings.fileOf("mine.webm", ALL)).toThrow("no recording mine.webm is kept");
  expect(() => recordings.fileOf("../mine.webm", ALL)).toThrow("is kept");
});

test("of a token leaves those of others where they are, and goes in place of the oldest of its own", async () => {
  using folder = temporaryFolder();
  const { recordings } = recordingsIn(folder.path);
  const names = (day: number, end = "") => `screen-202601${day}T120000Z${end}.webm`;
  for (let day = 10; day < 30; day++) writeFileSync(join(folder.path, names(day)), "x");
  for (let day = 10; day < 20; day++) writeFileSync(join(folder.path, names(day, "~ann")), "x");
  for (const [token, removed] of [
    ["ann", [names(10, "~ann")]],
    ["bob", []],
  ] as const) {
    const before = readdirSync(folder.path);
    const { name } = await recordings.start(ofToken(token), own(token));
    expect(name).toMatch(new RegExp(`~${token}\\.webm$`));
    await recordings.stop(own(token));
    const after = new Set(readdirSync(folder.path));
    expect(before.filter((one) => !after.has(one))).toEqual([...removed]);
    expect(recordings.list(own(token)).every((one) => one.token === token)).toBe(true);
  }
  expect(recordings.list(own("ann"))).toHaveLength(10);
  expect(() => recordings.fileOf(names(11, "~ann"), own("bob"))).toThrow("is kept");
  expect(recordings.fileOf(names(11, "~ann"), own("ann"))).toEndWith("~ann.webm");
});

test("of a token is refused where others have all that are kept of tokens", async () => {
  using folder = temporaryFolder();
  const { recordings } = recordingsIn(folder.path);
  for (let day = 10; day < 30; day++) {
    writeFileSync(join(folder.path, `screen-202601${day}T120000Z~tok${day}.webm`), "x");
  }
  const refused = recordings.start(ofToken("ann"), own("ann"));
  await expect(refused).rejects.toThrow("there are 20 kept recordings already, which is the limit");
  await recordings.start(ASKED, ALL);
  expect(readdirSync(folder.path)).toHaveLength(21);
});

test("of one token is not ended by another, which learns no path of it", async () => {
  using folder = temporaryFolder();
  const { recordings } = recordingsIn(folder.path);
  await recordings.start(ofToken("ann"), own("ann"));
  await expect(recordings.stop(own("bob"))).rejects.toMatchObject({ code: "forbidden" });
  await expect(recordings.start(ofToken("bob"), own("bob"))).rejects.toThrow(
    /^the screen is being recorded already$/,
  );
  expect([recordings.current(own("bob")), recordings.current(own("ann"))?.token]).toEqual([null, "ann"]);
  expect((await recordings.stop(own("ann"))).result).toEqual(DONE);
});

test("goes to a file that is named, where it can be written", async () => {
  using folder = temporaryFolder();
  const { recordings } = recordingsIn(folder.path);
  const missing = join(folder.path, "none", "a.webm");
  expect(recordings.start({ ...ASKED, file: missing }, ALL)).rejects.toThrow("file_path");
  const file = join(folder.path, "a.webm");
  expect(await recordings.start({ ...ASKED, file }, ALL)).toMatchObject({ name: null, file_path: file });
});

test("ends with the token that started it", async () => {
  using folder = temporaryFolder();
  const { recordings } = recordingsIn(folder.path);
  await recordings.start(ofToken("ann"), own("ann"));
  await recordings.endRevoked((token) => (token === "bob" ? "was revoked" : null));
  expect(recordings.current(ALL)).not.toBeNull();
  await recordings.endRevoked((token) => (token === "ann" ? "was revoked" : null));
  expect(recordings.current(ALL)).toBeNull();
});
