/**
 * Simulated screens of ticket machines, as real ones differ: clocks that are not the same, counters, blinking carets, advertisements that
 * take turns on some, noise of a scaler, and the name of the machine in titles and texts. And what goes wrong with one of them.
 *
 * They are painted, and go through the blocks and the lines that a host makes of its screen.
 */
import type { SignedHost } from "../../../../src/desk/fleet/odd/prepared";
import { blocksOf } from "../../../../src/host/desktop/screen/signature/blocks";
import { linesOf } from "../../../../src/host/desktop/screen/signature/lines";
import { namesOf } from "../../../../src/wire/screen/signature";

const [WIDTH, HEIGHT] = [160, 96];

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** What may be wrong with a screen. */
export const FAULTS = ["dialog", "black", "login", "program", "language", "code"] as const;
export type Fault = (typeof FAULTS)[number];

const TOWNS = ["berlin", "lyon", "porto", "gdansk", "turin", "graz", "ghent", "malmo", "brno", "split"];
const PLACES = ["mitte", "nord", "sued", "hafen", "markt", "bahnhof"];
const HEADLINES = ["rain tomorrow", "a new bridge", "the match is today", "trams run late", "a fair opens"];
const ADS = ["Coffee", "Holidays", "Shoes", "Phones", "Bread", "Theatre", "Bikes", "Books"];
const [ENGLISH, GERMAN] = [
  ["Choose a destination", "Single ticket", "Day ticket", "Children", "Pay by card", "Help", "Cancel"],
  ["Ziel wählen", "Einzelfahrt", "Tageskarte", "Kinder", "Mit Karte zahlen", "Hilfe", "Abbrechen"],
];

/** A window with the focus, and others. */
interface Shown {
  windows: SignedHost["signature"]["windows"];
  texts: readonly string[];
  paint: Paint;
}

type Paint = (canvas: Canvas) => void;

/** Paints into pixels. */
class Canvas {
  readonly pixels = new Int32Array(WIDTH * HEIGHT);

  fill(x: number, y: number, width: number, height: number, colour: number): void {
    for (let row = y; row < Math.min(HEIGHT, y + height); row++)
      this.pixels.fill(colour, row * WIDTH + x, row * WIDTH + Math.min(WIDTH, x + width));
  }

  /** What looks like text from afar: dark strokes, other ones for another seed. */
  text(x: number, y: number, width: number, seed: number, colour = 0x202020): void {
    const random = randomOf(seed);
    for (let row = y; row < Math.min(HEIGHT, y + 4); row++)
      for (let at = x; at < Math.min(WIDTH, x + width); at++)
        if (random() < 0.45) this.pixels[row * WIDTH + at] = colour;
  }

  /** The noise of a scaler: of each pixel, and of squares of eight pixels. */
  noise(random: () => number): void {
    const squares = Array.from({ length: (WIDTH >> 3) * (HEIGHT >> 3) }, () => Math.floor(random() * 5) - 2);
    for (let at = 0; at < this.pixels.length; at++) {
      const square = squares[(Math.floor(at / WIDTH) >> 3) * (WIDTH >> 3) + ((at % WIDTH) >> 3)] ?? 0;
      const by = square + (((at * 2_654_435_761) >>> 7) & 3) - 1 + (random() < 0.5 ? 1 : 0);
      const pixel = this.pixels[at] ?? 0;
      const channel = (shift: number) => Math.min(255, Math.max(0, ((pixel >> shift) & 0xff) + by)) << shift;
      this.pixels[at] = channel(16) | channel(8) | channel(0);
    }
  }
}

/** The machine with that number; of each seed another fleet. */
export function machine(seed: number, nth: number, fault?: Fault): SignedHost {
  const random = randomOf(seed * 100_003 + nth);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const label = `${pick(TOWNS)}-${pick(PLACES)}-${nth}`;
  // Some were never named anew.
  const name =
    random() < 0.7
      ? label
      : `WIN-${Math.floor(random() * 1e9)
          .toString(36)
          .toUpperCase()}`;
  const minute = Math.floor(random() * 3);
  const shown = normal({ name, random, pick, minute });
  if (fault) change(shown, fault, name, random);
  const canvas = new Canvas();
  shown.paint(canvas);
  if (fault !== "black") canvas.noise(random);
  return {
    label,
    tags: ["kiosk"],
    signature: {
      ...{ machine: name, windows: shown.windows, no_windows: null, no_texts: null, no_picture: null },
      texts: linesOf(shown.texts, namesOf(name)),
      picture: Buffer.from(blocksOf({ width: WIDTH, height: HEIGHT, pixels: canvas.pixels })).toString(
        "base64",
      ),
    },
  };
}

interface Circumstances {
  readonly name: string;
  readonly random: () => number;
  readonly pick: <T>(list: readonly T[]) => T;
  readonly minute: number;
}

const whole = (random: () => number, most: number) => Math.floor(random() * most);

function normal({ name, random, pick, minute }: Circumstances): Shown {
  const ad = random() < 0.3 ? whole(random, ADS.length) : null;
  const caret = random() < 0.5;
  const [sold, train] = [whole(random, 2_000), whole(random, 60)];
  const windows = [
    { title: `Tickets - ${name} - 10:0${minute}`, program: "tickets.exe", focused: true },
    { title: `Monitor: ${whole(random, 100)} %`, program: "monitor", focused: false },
  ];
  if (ad !== null) windows.push({ title: `${ADS[ad]} - Player`, program: "player", focused: false });
  return {
    windows,
    texts: [
      ...ENGLISH,
      ...[`10:0${minute}:${10 + whole(random, 50)}`, `Sold today: ${sold}`, `Machine ${name}`],
      `Next train in ${train} min`,
      `Session ${whole(random, 2 ** 32)
        .toString(16)
        .padStart(8, "0")}`,
      `News: ${pick(HEADLINES)}`,
    ],
    paint(canvas) {
      paintApp(canvas, ENGLISH);
      canvas.text(130, 2, 24, 900 + minute, 0xffffff);
      canvas.text(110, 84, 16, 5_000 + sold);
      canvas.text(134, 84, 16, 9_000 + train);
      if (caret) canvas.fill(12, 18, 1, 5, 0x000000);
      if (ad === null) canvas.fill(4, 60, 50, 30, 0x2a4d8f);
      else paintAd(canvas, ad);
    },
  };
}

function paintApp(canvas: Canvas, words: readonly string[]): void {
  canvas.fill(0, 0, WIDTH, HEIGHT, 0xf4f4f0);
  canvas.fill(0, 0, WIDTH, 9, 0x10427a);
  canvas.text(4, 2, 60, 1, 0xffffff);
  for (const [nth, word] of words.entries())
    canvas.text(10, 18 + 6 * nth, 4 * word.length, 31 * word.length + word.charCodeAt(0));
  canvas.fill(100, 16, 50, 60, 0xdde6ee);
  canvas.text(104, 20, 40, 77);
}

function paintAd(canvas: Canvas, ad: number): void {
  canvas.fill(
    4,
    60,
    50,
    30,
    [0xc03020, 0x20a040, 0xe0c020, 0x8030a0, 0x101010, 0xf0f0f0, 0x00a0c0, 0xd08040][ad] ?? 0,
  );
  canvas.text(10, 70, 36, 400 + ad, 0x808080);
}

/** What has gone wrong. */
function change(shown: Shown, fault: Fault, name: string, random: () => number): void {
  const { windows, texts, paint } = shown;
  const unfocused = windows.map((window) => ({ ...window, focused: false }));
  if (fault === "dialog") {
    shown.windows = [{ title: "Update failed", program: "updater", focused: true }, ...unfocused];
    shown.texts = ["The update could not be installed", "Details", "OK"];
    shown.paint = (canvas) => {
      paint(canvas);
      canvas.fill(50, 34, 60, 28, 0xc8c8c8);
      canvas.text(54, 42, 50, 3_000 + Math.floor(random() * 10));
    };
  } else if (fault === "black") shown.paint = (canvas) => canvas.fill(0, 0, WIDTH, HEIGHT, 0);
  else if (fault === "login") {
    shown.windows = [];
    shown.texts = ["Password", `Sign in to ${name}`];
    shown.paint = (canvas) => {
      canvas.fill(0, 0, WIDTH, HEIGHT, 0x004275);
      canvas.fill(60, 50, 40, 6, 0xffffff);
    };
  } else if (fault === "program") {
    shown.windows = [{ title: "Solitaire", program: "sol.exe", focused: true }, ...unfocused];
    shown.texts = ["Game", "Deal", "Undo"];
    shown.paint = (canvas) => canvas.fill(0, 0, WIDTH, HEIGHT, 0x007030);
  } else if (fault === "language") {
    shown.texts = texts.map((text) => GERMAN[ENGLISH.indexOf(text)] ?? text);
    shown.paint = (canvas) => {
      paint(canvas);
      canvas.fill(10, 16, 80, 44, 0xf4f4f0);
      for (const [nth, word] of GERMAN.entries())
        canvas.text(10, 18 + 6 * nth, 4 * word.length, 31 * word.length + word.charCodeAt(0));
    };
  } else {
    shown.texts = [...texts, "Error 0x80070005"];
    shown.paint = (canvas) => {
      paint(canvas);
      canvas.text(104, 60, 40, 3_456, 0xa00000);
    };
  }
}

/** As many machines as that, all as they should be. */
export const fleet = (seed: number, size: number): SignedHost[] =>
  Array.from({ length: size }, (_, nth) => machine(seed, nth));
