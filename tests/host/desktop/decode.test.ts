/** Reading PNG files, also hostile ones. */
import { expect, test } from "bun:test";
import { crc32, deflateSync } from "node:zlib";
import fc from "fast-check";
import { encode } from "fast-png";
import { decodePng } from "../../../src/host/desktop/images/decode";
import { encodePng } from "../../../src/host/desktop/png";

const read = (file: Uint8Array, most = 1_000_000) => decodePng(file, most, "image");

/** The colours of a picture, without the fourth byte. */
const colours = ({ pixels }: { readonly pixels: Uint8Array }) => pixels.filter((_, at) => at % 4 !== 3);

function chunk(type: string, data: Uint8Array): Buffer {
  const typed = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, checksum]);
}

/** A PNG with this header and these rows, filters included. */
function png(
  [width, height, ...format]: readonly number[],
  rows: Uint8Array,
  extra: readonly Buffer[] = [],
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width ?? 0, 0);
  header.writeUInt32BE(height ?? 0, 4);
  header.set(format, 8);
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    ...extra,
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

test("any picture that svc writes is read back", () => {
  const sides = fc.record({
    width: fc.integer({ min: 1, max: 30 }),
    height: fc.integer({ min: 1, max: 30 }),
  });
  const picture = sides.chain(({ width, height }) =>
    fc
      .uint8Array({ minLength: width * height * 4, maxLength: width * height * 4 })
      .map((pixels) => ({ width, height, pixels, redAt: 0 as const })),
  );
  fc.assert(
    fc.property(picture, (one) => {
      const found = read(encodePng(one));
      expect([found.width, found.height]).toEqual([one.width, one.height]);
      expect(colours(found)).toEqual(colours(one));
    }),
  );
});

test("pictures of another program are read: grey, coloured and opaque ones, of 8 and of 16 bits", () => {
  for (const depth of [8, 16] as const) {
    for (const channels of [1, 2, 3, 4] as const) {
      const most = 2 ** depth - 1;
      const data = Array.from({ length: 5 * 4 * channels }, (_, at) =>
        channels % 2 === 0 && at % channels === channels - 1
          ? most
          : (at * 37 * (depth === 16 ? 251 : 1)) % (most + 1),
      );
      const file = encode({
        width: 5,
        height: 4,
        depth,
        channels,
        data: depth === 8 ? new Uint8Array(data) : new Uint16Array(data),
      });
      const colourful = channels > 2;
      const expected = Array.from({ length: 20 }, (_, at) =>
        [0, 1, 2].map((nth) => (data[at * channels + (colourful ? nth : 0)] ?? 0) >> (depth - 8)),
      );
      expect([...colours(read(file))]).toEqual(expected.flat());
    }
  }
});

test("a palette of few bits and an interlaced picture are read", () => {
  const palette = chunk("PLTE", Buffer.from([255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9]));
  // Four pixels of two bits: 0, 1, 2, 3.
  const found = read(png([4, 1, 2, 3, 0, 0, 0], Buffer.from([0, 0b00_01_10_11]), [palette]));
  expect([...colours(found)]).toEqual([255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9]);
  // 3 x 3 in grey, by Adam7: the passes with pixels are 1 (one), 4 (one), 5 (two), 6 (one a row), 7 (three).
  const rows = [
    [0, 1],
    [0, 3],
    [0, 7, 9],
    [0, 2],
    [0, 8],
    [0, 4, 5, 6],
  ].flat();
  expect(
    [...colours(read(png([3, 3, 8, 0, 0, 0, 1], Buffer.from(rows))))].filter((_, at) => at % 3 === 0),
  ).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("what is no PNG, damaged, too large or transparent is refused", () => {
  const good = Buffer.from(encodePng({ width: 3, height: 2, redAt: 0, pixels: new Uint8Array(24) }));
  expect(() => read(Buffer.from("GIF89a"))).toThrow("image: expected a PNG");
  expect(() => read(new Uint8Array())).toThrow("image: expected a PNG");
  for (let length = 8; length < good.length - 12; length++) {
    expect(() => read(good.subarray(0, length))).toThrow("image: the PNG is damaged");
  }
  expect(() => read(good, 5)).toThrow("image: expected at most 5 pixels but found 3 x 2");
  expect(() => read(png([2, 1, 8, 6, 0, 0, 0], Buffer.from([0, 1, 2, 3, 255, 1, 2, 3, 128])))).toThrow(
    "image: expected an opaque picture",
  );
  const clear = chunk("tRNS", Buffer.from([0, 5]));
  expect(() => read(png([2, 1, 8, 0, 0, 0, 0], Buffer.from([0, 4, 5]), [clear]))).toThrow(
    "image: expected an opaque picture",
  );
  expect(() => read(png([2, 1, 8, 3, 0, 0, 0], Buffer.from([0, 0, 0])))).toThrow("image: the PNG is damaged");
  expect(() => read(png([2, 1, 7, 0, 0, 0, 0], Buffer.from([0, 0, 0])))).toThrow("image: the PNG is damaged");
  expect(() => read(png([2, 1, 8, 0, 0, 0, 0], Buffer.from([5, 0, 0])))).toThrow("image: the PNG is damaged");
});

test("a small file that would unpack to much more than its picture is refused", () => {
  const bomb = png([10, 10, 8, 0, 0, 0, 0], new Uint8Array(50_000_000));
  const before = process.memoryUsage().rss;
  expect(() => read(bomb)).toThrow("image: the PNG is damaged");
  expect(process.memoryUsage().rss - before).toBeLessThan(40_000_000);
});

test("any bytes after the signature are a picture or a refusal", () => {
  const good = Buffer.from(
    encodePng({ width: 9, height: 7, redAt: 0, pixels: new Uint8Array(9 * 7 * 4).fill(7) }),
  );
  const change = fc.record({
    at: fc.integer({ min: 8, max: good.length - 1 }),
    to: fc.integer({ min: 0, max: 255 }),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
      const file = Buffer.from(good);
      for (const { at, to } of changes) file[at] = to;
      try {
        read(file, 10_000);
      } catch (error) {
        expect(String(error)).toStartWith("Failure: image: ");
      }
    }),
  );
});
