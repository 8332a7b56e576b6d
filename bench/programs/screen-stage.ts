/**
 * What the bench of the live screen looks at: a picture that moves, a terminal that scrolls, and a window that changes its
 * colour with each key. Each line on stdin names a scene; the line that answers it says how many pictures or lines the scene
 * before it had: `{"drawn": 180}`.
 */
import { appendFileSync, closeSync, ftruncateSync, openSync, unlinkSync } from "node:fs";
import { createClient } from "x11";

/** What is used of `x11` here, beyond what svc uses of it. */
interface Client {
  AllocID(): number;
  CreateWindow(...args: unknown[]): void;
  MapWindow(id: number): void;
  UnmapWindow(id: number): void;
  CreateGC(id: number, window: number, values: object): void;
  SetInputFocus(window: number, revertTo: number): void;
  PolyFillRectangle(window: number, gc: number, rectangles: readonly number[]): void;
  on(event: "event", listener: (event: { readonly type: number }) => void): void;
  require(name: "shm", done: (error: Error | null, extension: Shm) => void): void;
}
interface Segment {
  readonly shmseg: number;
  readonly buffer: Buffer;
}
interface Shm {
  createSegment(bytes: number, done: (error: Error | null, segment: Segment) => void): void;
  PutImage(window: number, gc: number, image: object): void;
}
interface Display {
  readonly client: Client;
  readonly screen: ReadonlyArray<{ readonly root: number }>;
}
type Open = (options: object, done: (error: Error | null, display: Display) => void) => void;

const FRAMES_A_SECOND = 30;
/** Where the number of a picture is on the screen. */
const CODE = { x: 1_000, y: 100 };
/** Where each video is, and of how many pictures, after which it begins again. */
const VIDEOS = {
  small: { ...CODE, width: 640, height: 360, pictures: 32 },
  large: { ...CODE, width: 920, height: 980, pictures: 32 },
  full: { x: 0, y: 0, width: 1_920, height: 1_080, pictures: 12 },
};
const TERMINAL_ROWS = 40;
const KEY_PRESS = 2;

/** Memory that the X server shares. */
const shm = {
  flavor: "fd",
  zeroCopy: true,
  create(size: number) {
    const path = `/dev/shm/stage-${process.pid}-${size}`;
    const fd = openSync(path, "wx+", 0o600);
    ftruncateSync(fd, size);
    const buffer = Buffer.from(Bun.mmap(path, { shared: true }).buffer);
    unlinkSync(path);
    return { size, fd, buffer };
  },
  commit() {},
  sync() {},
  destroy: (segment: { readonly fd: number }) => closeSync(segment.fd),
};

const { client, screen } = await new Promise<Display>((resolve, reject) =>
  (createClient as unknown as Open)({ display: process.env.DISPLAY, shm }, (error, display) =>
    error ? reject(error) : resolve(display),
  ),
);
const root = screen[0]?.root ?? 0;
const shared = await new Promise<Shm>((resolve, reject) =>
  client.require("shm", (error, extension) => (error ? reject(error) : resolve(extension))),
);

function openWindow(x: number, y: number, width: number, height: number, eventMask: number): number {
  const id = client.AllocID();
  client.CreateWindow(id, root, x, y, width, height, 0, 0, 0, 0, { overrideRedirect: true, eventMask });
  return id;
}

function colour(window: number, foreground: number): number {
  const id = client.AllocID();
  client.CreateGC(id, window, { foreground, background: 0 });
  return id;
}

/** The colour changes with each key that is pressed. */
function openKeyWindow(): void {
  const window = openWindow(100, 800, 64, 64, 1);
  client.MapWindow(window);
  const colours = [colour(window, 0x00ff00), colour(window, 0xff0000)];
  let pressed = 0;
  client.on("event", ({ type }) => {
    if (type === KEY_PRESS) client.PolyFillRectangle(window, colours[pressed++ % 2] ?? 0, [0, 0, 64, 64]);
  });
  const focus = () => client.SetInputFocus(window, 1);
  setTimeout(focus, 300);
  setInterval(focus, 1_000);
}

/** The number of a picture stands in a row of blocks, one bit each, black or white. */
async function openVideo(place: (typeof VIDEOS)[keyof typeof VIDEOS]) {
  const { width, height, pictures } = place;
  const bytes = width * height * 4;
  const { buffer, shmseg } = await new Promise<Segment>((resolve, reject) =>
    shared.createSegment(bytes * pictures, (error, made) => (error ? reject(error) : resolve(made))),
  );
  let to = 0;
  for (let picture = 0; picture < pictures; picture++) {
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++, to += 4) {
        const moved = x + picture * 6;
        buffer[to] = 128 + 100 * Math.sin(moved / 37) + ((moved * 7 + y * 13) % 23);
        buffer[to + 1] = 128 + 90 * Math.sin(y / 29 + moved / 50) + (((moved * 3) ^ y) % 19);
        buffer[to + 2] = 128 + 80 * Math.cos((moved + y) / 61);
      }
    }
  }
  const window = openWindow(place.x, place.y, width, height, 0);
  const [codeX, codeY] = [CODE.x - place.x, CODE.y - place.y];
  const gc = colour(window, 0xffffff);
  const draw = (picture: number) => {
    const offset = (picture % pictures) * bytes;
    for (let bit = 0; bit < 16; bit++) {
      const value = (picture >> bit) & 1 ? 255 : 0;
      for (let y = 0; y < 8; y++) {
        const start = offset + ((codeY + y) * width + codeX + bit * 8) * 4;
        buffer.fill(value, start, start + 32);
      }
    }
    const whole = {
      totalWidth: width,
      totalHeight: height,
      srcX: 0,
      srcY: 0,
      srcWidth: width,
      srcHeight: height,
    };
    shared.PutImage(window, gc, { ...whole, dstX: 0, dstY: 0, depth: 24, format: 2, shmseg, offset });
  };
  return { draw, show: () => client.MapWindow(window), hide: () => client.UnmapWindow(window) };
}

/** A terminal that shows the lines of a file. It is full from the start, so that each further line moves all others. */
function openTerminal() {
  const path = `/tmp/stage-${process.pid}`;
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789 /.-_";
  const write = (line: number) => {
    const text = Array.from(
      { length: 96 },
      (_, at) => letters[(line * 31 + at * (line % 13) + at) % letters.length],
    );
    appendFileSync(path, `${text.join("")}\n`);
  };
  for (let line = 0; line < TERMINAL_ROWS; line++) write(line);
  const args = ["-geometry", `100x${TERMINAL_ROWS}+50+50`, "-e", "tail", "-n", "+1", "-f", path];
  const terminal = Bun.spawn(["xterm", ...args], { stdio: ["ignore", "ignore", "ignore"] });
  process.on("exit", () => {
    terminal.kill();
    unlinkSync(path);
  });
  return write;
}

openKeyWindow();
const videos = {
  small: await openVideo(VIDEOS.small),
  large: await openVideo(VIDEOS.large),
  full: await openVideo(VIDEOS.full),
};
const scroll = openTerminal();
const scenes: Record<string, { draw(nth: number): void; show?(): void; hide?(): void }> = {
  ...videos,
  still: { draw() {} },
  scroll: { draw: scroll },
};

let scene = scenes.still;
let drawn = 0;
let next = performance.now();
/** Keeps the pace: a frame that is late is not left out. */
const tick = () => {
  scene?.draw(drawn++);
  next += 1_000 / FRAMES_A_SECOND;
  setTimeout(tick, Math.max(0, next - performance.now()));
};
tick();
console.log(JSON.stringify({ url: "" }));
for await (const line of console) {
  console.log(JSON.stringify({ drawn }));
  scene?.hide?.();
  scene = scenes[line];
  scene?.show?.();
  drawn = 0;
}
process.exit();
