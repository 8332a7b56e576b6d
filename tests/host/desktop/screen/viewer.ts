/** A viewer for tests: speaks RFB to the door of the desktop's child, and keeps the picture that it is sent. */
import { connect, type Socket } from "node:net";
import { constants, createInflate, inflateSync } from "node:zlib";
import { decode } from "fast-png";
import type { XConnectionExtensions } from "x11";
import type { Door } from "../../../../src/host/desktop/screen/calls";
import { connect as connectToX } from "../../../../src/host/desktop/x11/connection";
import { until } from "../../../support";

export const TIGHT = 7;
export const ZRLE = 16;
export const H264 = 50;
export const QUALITY_6 = -26;
export const [CURSOR, NAME, EXTENDED_SIZE, SIZE] = [-239, -307, -308, -223];
export const [FENCE, CONTINUOUS, EXTENDED_CLIPBOARD] = [-312, -313, 0xc0a1e5ce | 0];

/** Red, green and blue of each pixel of a PNG in base64, as a viewer has them. */
export function pixelsOf(base64: string): Uint8Array {
  const { data, channels, width, height } = decode(Buffer.from(base64, "base64"));
  const pixels = new Uint8Array(width * height * 3);
  for (let at = 0; at < width * height; at++) {
    pixels.set(data.subarray(at * channels, at * channels + 3), at * 3);
  }
  return pixels;
}

/** Draws the pointer of the display of `env` into `pixels`, a picture of all of its screen. */
export async function withPointer(pixels: Uint8Array, env: NodeJS.ProcessEnv): Promise<Uint8Array> {
  const { client, screen, need, reply, close } = await connectToX(env, () => {});
  const { promise, resolve } = Promise.withResolvers<XConnectionExtensions["fixes"]>();
  client.require("fixes", (_error, found) => resolve(found));
  const fixes = await promise;
  const [size, { rootX, rootY }, image] = await Promise.all([
    need.GetGeometry(screen.root),
    need.QueryPointer(screen.root),
    reply(fixes.GetCursorImage.bind(fixes)),
  ]);
  close();
  if (!image) throw new Error("the display has no pointer");
  const { width, height, xhot, yhot } = image;
  const shape = Buffer.from(image.cursorImage);
  for (let nth = 0; nth < width * height; nth++) {
    // The colours are multiplied by the alpha already.
    const [blue = 0, green = 0, red = 0, alpha = 0] = shape.subarray(nth * 4, nth * 4 + 4);
    const [x, y] = [rootX - xhot + (nth % width), rootY - yhot + Math.floor(nth / width)];
    if (x < 0 || y < 0 || x >= size.width || y >= size.height) continue;
    const at = (y * size.width + x) * 3;
    const mixed = [red, green, blue].map(
      (over, colour) => over + Math.round(((pixels[at + colour] ?? 0) * (255 - alpha)) / 255),
    );
    pixels.set(mixed, at);
  }
  return pixels;
}

/** Bytes that come one after the other. */
function createReader(socket: Socket) {
  let bytes = Buffer.alloc(0);
  let wake = () => {};
  let hasEnded = false;
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    wake();
  });
  const end = () => {
    hasEnded = true;
    wake();
  };
  socket.on("error", end);
  socket.on("close", end);
  return async (count: number): Promise<Buffer> => {
    while (bytes.length < count) {
      if (hasEnded) throw new Error(`the stream ended; ${count} bytes were expected`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    const read = bytes.subarray(0, count);
    bytes = bytes.subarray(count);
    return read;
  };
}

export interface Format {
  readonly bits: 8 | 16 | 32;
  readonly max: readonly [number, number, number];
  readonly shift: readonly [number, number, number];
}

const OWN: Format = { bits: 32, max: [255, 255, 255], shift: [16, 8, 0] };

/** A rectangle in H.264: its pixels are in no picture of the viewer. */
export interface VideoRect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly flags: number;
  readonly data: Buffer;
}

export type Viewer = Awaited<ReturnType<typeof view>>;

/** Connects to `door`, or to a proxy that wants no key, and gets as far as the size of the screen. */
export async function view(door: Door | { readonly port: number }, version = "RFB 003.008\n") {
  const socket = "port" in door ? connect(door.port, "127.0.0.1") : connect(door.path);
  const read = createReader(socket);
  if ("key" in door) socket.write(door.key);
  const greeting = (await read(12)).toString();
  socket.write(version);
  if (version.endsWith("003\n")) await read(4);
  else {
    const types = await read((await read(1)).readUInt8());
    socket.write(Buffer.of(types.readUInt8()));
    if (version.endsWith("008\n")) await read(4);
  }
  socket.write(Buffer.of(1));
  const init = await read(24);
  let [width, height] = [init.readUInt16BE(0), init.readUInt16BE(2)];
  let name = (await read(init.readUInt32BE(20))).toString();
  /** Red, green and blue, a byte each. */
  let pixels = new Uint8Array(width * height * 3);
  let format = OWN;
  const rects: Array<{ x: number; y: number; width: number; height: number; encoding: number }> = [];
  const cut: Array<{ extended: boolean; body: Buffer }> = [];
  const videos: VideoRect[] = [];
  const fences: Buffer[] = [];
  /** How many updates had come at each of them. */
  const updatesAtFences: number[] = [];
  let updates = 0;
  let jpegs = 0;
  let continuous = false;
  let canContinue = false;
  let answersFences = true;
  let failure: unknown;
  let cursor: { width: number; height: number } | undefined;
  const inflate = createInflate({ finishFlush: constants.Z_SYNC_FLUSH });
  let inflated = Buffer.alloc(0);
  inflate.on("data", (chunk: Buffer) => {
    inflated = Buffer.concat([inflated, chunk]);
  });

  const put = (x: number, y: number, red: number, green: number, blue: number) => {
    pixels.set([red, green, blue], (y * width + x) * 3);
  };
  const colourOf = (value: number) =>
    format.max.map((most, nth) =>
      Math.round((((value >>> (format.shift[nth] ?? 0)) & most) * 255) / most),
    ) as [number, number, number];
  const compact = async () => {
    let length = 0;
    for (let nth = 0; nth < 3; nth++) {
      const byte = (await read(1)).readUInt8();
      length |= (nth === 2 ? byte : byte & 0x7f) << (7 * nth);
      if (!(byte & 0x80)) break;
    }
    return length;
  };

  const readTight = async (x: number, y: number, w: number, h: number) => {
    const control = (await read(1)).readUInt8();
    if (control === 0x80) {
      const [red = 0, green = 0, blue = 0] = await read(3);
      for (let row = 0; row < h; row++) for (let at = 0; at < w; at++) put(x + at, y + row, red, green, blue);
      return;
    }
    if (control === 0x90) {
      jpegs += 1;
      const jpeg = await read(await compact());
      const { data, channels } = decode(await new Bun.Image(jpeg).png().bytes());
      for (let at = 0; at < w * h; at++) {
        const [red = 0, green = 0, blue = 0] = data.subarray(at * channels, at * channels + 3);
        put(x + (at % w), y + Math.floor(at / w), red, green, blue);
      }
      return;
    }
    const filter = control & 0x40 ? (await read(1)).readUInt8() : 0;
    const palette: Buffer[] = [];
    if (filter === 1) {
      const count = (await read(1)).readUInt8() + 1;
      for (let nth = 0; nth < count; nth++) palette.push(await read(3));
    }
    const stride = filter === 0 ? w * 3 : palette.length === 2 ? (w + 7) >> 3 : w;
    const size = stride * h;
    const data =
      size < 12
        ? await read(size)
        : inflateSync(await read(await compact()), { finishFlush: constants.Z_SYNC_FLUSH });
    if (data.length !== size) throw new Error(`${data.length} bytes in a rectangle of ${size}`);
    for (let row = 0; row < h; row++) {
      for (let at = 0; at < w; at++) {
        const place = row * stride;
        const index =
          palette.length === 2
            ? ((data[place + (at >> 3)] ?? 0) >> (7 - (at & 7))) & 1
            : (data[place + at] ?? 0);
        const [red = 0, green = 0, blue = 0] =
          filter === 1 ? (palette[index] ?? []) : data.subarray(place + at * 3, place + at * 3 + 3);
        put(x + at, y + row, red, green, blue);
      }
    }
  };
  const readRaw = async (x: number, y: number, w: number, h: number) => {
    const size = format.bits / 8;
    const data = await read(w * h * size);
    for (let at = 0; at < w * h; at++) {
      put(x + (at % w), y + Math.floor(at / w), ...colourOf(data.readUIntLE(at * size, size)));
    }
  };
  const readZrle = async (x: number, y: number, w: number, h: number) => {
    const packed = await read((await read(4)).readUInt32BE());
    await new Promise<void>((resolve) =>
      inflate.write(packed, () => inflate.flush(constants.Z_SYNC_FLUSH, resolve)),
    );
    let at = 0;
    const byte = () => inflated[at++] ?? 0;
    const colour = () => {
      const [blue, green, red] = [byte(), byte(), byte()];
      return [red, green, blue] as const;
    };
    for (let top = 0; top < h; top += 64) {
      for (let left = 0; left < w; left += 64) {
        const [tw, th] = [Math.min(64, w - left), Math.min(64, h - top)];
        const kind = byte();
        const palette = Array.from({ length: kind === 0 ? 0 : kind }, colour);
        const bits = kind <= 1 ? 0 : kind === 2 ? 1 : kind <= 4 ? 2 : 4;
        for (let row = 0; row < th; row++) {
          const start = at;
          for (let column = 0; column < tw; column++) {
            if (kind === 0) put(x + left + column, y + top + row, ...colour());
            else {
              const place = column * bits;
              const index =
                bits === 0
                  ? 0
                  : ((inflated[start + (place >> 3)] ?? 0) >> (8 - bits - (place & 7))) & ((1 << bits) - 1);
              const [red = 0, green = 0, blue = 0] = palette[index] ?? [];
              put(x + left + column, y + top + row, red, green, blue);
            }
          }
          if (kind !== 0) at = start + Math.ceil((tw * bits) / 8);
        }
      }
    }
    inflated = inflated.subarray(at);
  };
  const readRect = async () => {
    const header = await read(12);
    const [x, y, w, h] = [0, 2, 4, 6].map((at) => header.readUInt16BE(at)) as [
      number,
      number,
      number,
      number,
    ];
    const encoding = header.readInt32BE(8);
    rects.push({ x, y, width: w, height: h, encoding });
    if (encoding === TIGHT) return readTight(x, y, w, h);
    if (encoding === 0) return readRaw(x, y, w, h);
    if (encoding === ZRLE) return readZrle(x, y, w, h);
    if (encoding === H264) {
      const head = await read(8);
      const data = Buffer.from(await read(head.readUInt32BE(0)));
      videos.push({ x, y, width: w, height: h, flags: head.readUInt32BE(4), data });
      return;
    }
    if (encoding === NAME) name = (await read((await read(4)).readUInt32BE())).toString();
    else if (encoding === CURSOR) {
      cursor = { width: w, height: h };
      await read(w * h * (format.bits / 8) + ((w + 7) >> 3) * h);
    } else if (encoding === EXTENDED_SIZE || encoding === SIZE) {
      if (encoding === EXTENDED_SIZE)
        await read(4 + 16 * (await read(4).then((head) => head.readUInt8())) - 4);
      if (w !== width || h !== height) pixels = new Uint8Array(w * h * 3);
      [width, height] = [w, h];
    } else throw new Error(`a rectangle of encoding ${encoding}`);
  };
  const ask = (incremental: boolean) => {
    const message = Buffer.alloc(10);
    message.set([3, incremental ? 1 : 0]);
    message.writeUInt16BE(width, 6);
    message.writeUInt16BE(height, 8);
    socket.write(message);
  };
  const readMessages = async () => {
    for (;;) {
      const type = (await read(1)).readUInt8();
      if (type === 0) {
        const count = (await read(3)).readUInt16BE(1);
        for (let nth = 0; nth < count; nth++) await readRect();
        updates += 1;
        if (!continuous) ask(true);
      } else if (type === 3) {
        const length = (await read(7)).readInt32BE(3);
        cut.push({ extended: length < 0, body: await read(Math.abs(length)) });
      } else if (type === 150) {
        if (!canContinue) {
          canContinue = true;
          continuous = true;
          socket.write(Buffer.of(150, 1, 0, 0, 0, 0, 255, 255, 255, 255));
        }
      } else if (type === 248) {
        const header = await read(8);
        const payload = await read(header.readUInt8(7));
        fences.push(payload);
        updatesAtFences.push(updates);
        const flags = Buffer.alloc(4);
        flags.writeUInt32BE(header.readUInt32BE(3) & 0x7fffffff);
        if (answersFences && header.readUInt8(3) & 0x80) {
          socket.write(Buffer.concat([Buffer.of(248, 0, 0, 0), flags, Buffer.of(payload.length), payload]));
        }
      } else throw new Error(`a message of type ${type}`);
    }
  };

  return {
    socket,
    greeting,
    rects,
    cut,
    videos,
    fences,
    updatesAtFences,
    get size() {
      return { width, height };
    },
    get name() {
      return name;
    },
    get cursor() {
      return cursor;
    },
    get updates() {
      return updates;
    },
    /** How many rectangles came as JPEGs. */
    get jpegs() {
      return jpegs;
    },
    get isContinuous() {
      return continuous;
    },
    get pixels() {
      return pixels;
    },
    get failure() {
      return failure;
    },
    ask,
    encodings(...numbers: readonly number[]) {
      const message = Buffer.alloc(4 + 4 * numbers.length);
      message.writeUInt8(2);
      message.writeUInt16BE(numbers.length, 2);
      numbers.forEach((number, nth) => {
        message.writeInt32BE(number, 4 + 4 * nth);
      });
      socket.write(message);
    },
    format(wanted: Format) {
      format = wanted;
      const message = Buffer.alloc(20);
      message.writeUInt8(wanted.bits, 4);
      message.writeUInt8(wanted.bits, 5);
      message.writeUInt8(1, 7);
      wanted.max.forEach((most, nth) => {
        message.writeUInt16BE(most, 8 + 2 * nth);
      });
      message.set(wanted.shift, 14);
      socket.write(message);
    },
    key(keysym: number, down: boolean) {
      const message = Buffer.of(4, down ? 1 : 0, 0, 0, 0, 0, 0, 0);
      message.writeUInt32BE(keysym, 4);
      socket.write(message);
    },
    pointer(x: number, y: number, buttons: number) {
      const message = Buffer.of(5, buttons, 0, 0, 0, 0);
      message.writeUInt16BE(x, 2);
      message.writeUInt16BE(y, 4);
      socket.write(message);
    },
    cutText(body: Buffer, extended: boolean) {
      const header = Buffer.of(6, 0, 0, 0, 0, 0, 0, 0);
      header.writeInt32BE(extended ? -body.length : body.length, 4);
      socket.write(Buffer.concat([header, body]));
    },
    keepFences() {
      answersFences = false;
    },
    /** Answers fences again, and this one. */
    answer(payload: Buffer) {
      answersFences = true;
      socket.write(Buffer.concat([Buffer.of(248, 0, 0, 0, 0, 0, 0, 1, payload.length), payload]));
    },
    /** Begins to read; asks for the whole screen. */
    start() {
      readMessages().catch((error) => {
        failure = error;
      });
      ask(false);
    },
    colourAt(x: number, y: number) {
      return [...pixels.subarray((y * width + x) * 3, (y * width + x) * 3 + 3)];
    },
    /** Resolves when all pixels are those of `expected` (red, green, blue). */
    async shows(expected: () => Promise<Uint8Array>) {
      await until("the viewer to show the screen", async () => {
        if (failure) throw failure;
        return Buffer.compare(pixels, await expected()) === 0;
      });
    },
    [Symbol.dispose]() {
      socket.destroy();
      inflate.close();
    },
  };
}
