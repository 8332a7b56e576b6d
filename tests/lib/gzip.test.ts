/** What comes in pieces is packed as one file. */
import { expect, test } from "bun:test";
import { gunzipAside, gzipAside, gzipPieces } from "../../src/lib/gzip";

const MANY = 512 * 1_048_576;

test("pieces are one text for who unpacks them", async () => {
  const pieces = Array.from({ length: 50 }, (_, nth) => `${nth}\u00e9`.repeat(40_000));
  for (const looks of [true, false]) {
    const members = await gzipPieces(pieces, 1, looks);
    expect(members.length).toBeGreaterThan(2);
    expect((await gunzipAside(Buffer.concat(members), MANY)).toString()).toBe(pieces.join(""));
  }
  expect(await gzipPieces([], 1)).toEqual([]);
});

test("what is unpacked has a bound, however many members it has", async () => {
  const packed = Buffer.concat(await gzipPieces(["a".repeat(2_000_000), "b".repeat(2_000_000)], 1));
  await expect(gunzipAside(packed, 3_000_000)).rejects.toThrow();
});

test("base64 takes a quarter less without a look for what repeats", async () => {
  const base64 = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString("base64");
  const packed = await gzipAside(base64, 1, false);
  expect(packed.length / base64.length).toBeLessThan(0.77);
  expect((await gunzipAside(packed, MANY)).toString()).toBe(base64);
});
