/** Thumbnails: one picture for all who ask at about the same time, and one row for all that one caller looks at. */
import { expect, test } from "bun:test";
import { createThrottledAudit } from "../../../../src/core/throttled-audit";
import { createThumbnails } from "../../../../src/host/desktop/screen/thumbnail/thumbnails";

const base64 = (text: string) => Buffer.from(text).toString("base64");

test("those who ask at the same time get the same picture, of each width its own", async () => {
  const taken: number[] = [];
  const { get } = createThumbnails(async ({ width }) => {
    taken.push(width);
    return base64(`picture ${taken.length}`);
  });
  const [first, second, wide] = await Promise.all([get(320), get(320), get(640)]);
  expect(first).toBe(second);
  expect(wide.digest).not.toBe(first.digest);
  expect(taken).toEqual([320, 640]);
  await Bun.sleep(250);
  expect(new TextDecoder().decode((await get(320)).bytes)).toBe("picture 3");
});

test("the same picture has the same digest, another one another", async () => {
  const texts = ["a", "a", "b"];
  const { get } = createThumbnails(async () => base64(texts.shift() ?? ""));
  const digests = await Promise.all([16, 17, 18].map(async (width) => (await get(width)).digest));
  expect(digests[0]).toBe(digests[1] ?? "");
  expect(digests[2]).not.toBe(digests[0]);
});

test("leaves one row for a caller, one more for another, and one more after a while", async () => {
  const rows: string[] = [];
  const callerOf = (name: string, client: string) => ({
    client,
    grant: { name, scopes: ["screen" as const] },
    announce: async (subject: string) => void rows.push(`${name} ${client} ${subject}`),
  });
  const onRecord = createThrottledAudit(60);
  const [ann, bob] = [callerOf("ann", "10.0.0.1"), callerOf("bob", "10.0.0.1")];
  for (const caller of [ann, ann, bob, ann, callerOf("ann", "10.0.0.2")]) await onRecord(caller, "looks");
  expect(rows).toEqual(["ann 10.0.0.1 looks", "bob 10.0.0.1 looks", "ann 10.0.0.2 looks"]);
  await Bun.sleep(80);
  await onRecord(ann, "looks");
  expect(rows).toHaveLength(4);
});

test("nothing is shown while no row can be written", async () => {
  const onRecord = createThrottledAudit();
  const announce = () => Promise.reject(new Error("the disk is full"));
  const caller = { client: null, grant: { name: null, scopes: ["admin" as const] }, announce };
  expect(onRecord(caller, "looks")).rejects.toThrow("the disk is full");
  expect(onRecord(caller, "looks")).rejects.toThrow("the disk is full");
});
