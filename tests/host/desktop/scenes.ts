/**
 * Made-up screens to look for pictures on: flat areas, gradients, text, icons, and widgets that nearly are the one that is
 * looked for. The same number makes the same scene.
 */
import type { Picture } from "../../../src/host/desktop/backend";

export interface Scene {
  readonly screen: Picture;
  readonly image: Picture;
  /** Where the image is; undefined where only near copies of it are. */
  readonly place: { readonly x: number; readonly y: number } | undefined;
}

type Colour = readonly [number, number, number];

/** Mulberry32: the same numbers everywhere. @returns whole numbers from `min` to `max`, without `max`. */
function numbers(seed: number) {
  let state = seed >>> 0;
  return (min: number, max: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return min + Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * (max - min));
  };
}

export const blank = (width: number, height: number): Picture => ({
  ...{ width, height, redAt: 0 },
  pixels: new Uint8Array(width * height * 4).fill(255),
});

export function fill(
  picture: Picture,
  x: number,
  y: number,
  width: number,
  height: number,
  [red, green, blue]: Colour,
): void {
  const { pixels } = picture;
  for (let row = Math.max(0, y); row < Math.min(picture.height, y + height); row++) {
    for (let column = Math.max(0, x); column < Math.min(picture.width, x + width); column++) {
      // Thousands of scenes are made so: `set` would take ten times as long.
      const at = (row * picture.width + column) * 4;
      pixels[at] = red;
      pixels[at + 1] = green;
      pixels[at + 2] = blue;
    }
  }
}

/** Puts `image` on `picture`, with its upper left corner at (x, y). */
export function put(picture: Picture, image: Picture, x: number, y: number): void {
  for (let row = 0; row < image.height; row++) {
    const line = image.pixels.subarray(row * image.width * 4, (row + 1) * image.width * 4);
    picture.pixels.set(line, ((y + row) * picture.width + x) * 4);
  }
}

/** The shapes of ten letters, 5 x 7 pixels: any two differ in several. */
const LETTERS = Array.from({ length: 10 }, (_, nth) => {
  const random = numbers(nth + 77);
  return Array.from({ length: 35 }, () => random(0, 2) === 1);
});

function write(picture: Picture, x: number, y: number, letters: readonly number[], colour: Colour): void {
  letters.forEach((letter, nth) => {
    LETTERS[letter]?.forEach((isInk, at) => {
      if (isInk) fill(picture, x + nth * 7 + (at % 5), y + Math.floor(at / 5), 1, 1, colour);
    });
  });
}

/** How the near copies of a widget differ from it. */
const FLAWS = ["letter", "colour", "greyed", "moved", "other icon"] as const;

interface Look {
  readonly width: number;
  readonly height: number;
  readonly back: Colour;
  readonly ink: Colour;
  readonly icon: number;
  readonly letters: readonly number[];
}

const mixed = (a: Colour, b: Colour, part: number) =>
  a.map((value, nth) => Math.round(value + ((b[nth] ?? 0) - value) * part)) as unknown as Colour;

/** A button: a border, an icon and a label. */
function draw({ width, height, back, ink, icon, letters }: Look, shift = 0): Picture {
  const picture = blank(width, height);
  fill(picture, 0, 0, width, height, mixed(back, ink, 0.5));
  fill(picture, 1, 1, width - 2, height - 2, back);
  const side = Math.min(12, height - 6, width - 6);
  const random = numbers(icon);
  for (let at = 0; at < side * side; at++) {
    const [x, y] = [at % side, Math.floor(at / side)];
    if (random(0, 3) === 0) fill(picture, 3 + shift + x, Math.round((height - side) / 2) + y, 1, 1, ink);
  }
  write(picture, 8 + side + shift, Math.round((height - 7) / 2), letters, ink);
  return picture;
}

function flawed(look: Look, flaw: (typeof FLAWS)[number], random: ReturnType<typeof numbers>): Picture {
  const { letters, back, ink } = look;
  if (flaw === "letter" && letters.length > 0) {
    const at = random(0, letters.length);
    return draw({ ...look, letters: letters.with(at, ((letters[at] ?? 0) + random(1, 10)) % 10) });
  }
  if (flaw === "greyed") return draw({ ...look, ink: mixed(ink, back, 0.6) });
  if (flaw === "moved") return draw(look, 2);
  if (flaw === "other icon") return draw({ ...look, icon: look.icon + 1 });
  const [red, green, blue] = back;
  return draw({
    ...look,
    back: [blue, red, green].map((part, nth) => (part + 90 * (nth + 1)) % 256) as unknown as Colour,
  });
}

/**
 * A scene of this number: in four of five the image is there once, in all there are five near copies of it.
 *
 * @param noise by how much each sample of the screen is off at most.
 */
export function makeScene(seed: number, { width = 320, height = 240, noise = 8 } = {}): Scene {
  const random = numbers(seed);
  const colour = (): Colour => [random(0, 256), random(0, 256), random(0, 256)];
  const screen = blank(width, height);
  const [top, bottom] = [colour(), random(0, 2) ? colour() : undefined];
  for (let y = 0; y < height; y++)
    fill(screen, 0, y, width, 1, bottom ? mixed(top, bottom, y / height) : top);
  for (let nth = 0; nth < 8; nth++) {
    fill(
      screen,
      random(-50, width),
      random(-50, height),
      random(20, width / 2),
      random(20, height / 2),
      colour(),
    );
  }
  for (let nth = 0; nth < (width * height) / 3_000; nth++) {
    const letters = Array.from({ length: random(3, 20) }, () => random(0, 10));
    write(screen, random(-20, width), random(-5, height), letters, random(0, 3) ? [20, 20, 20] : colour());
  }
  const isDark = random(0, 2) === 1;
  const back: Colour = isDark
    ? [random(0, 70), random(0, 70), random(0, 70)]
    : [random(185, 256), random(185, 256), random(185, 256)];
  const count = random(0, 12);
  const look: Look = {
    ...{ width: 22 + count * 7 + random(0, 30), height: random(16, 48), back },
    ...{ ink: isDark ? [240, 240, 230] : [20, 20, 40], icon: random(0, 1_000_000) * 2 },
    letters: Array.from({ length: count }, () => random(0, 10)),
  };
  const image = draw(look);
  // Places in a grid, so that none covers another.
  const [columns, rows] = [Math.floor(width / (image.width + 2)), Math.floor(height / (image.height + 2))];
  const free = Array.from({ length: columns * rows }, (_, at) => ({
    x: (at % columns) * (image.width + 2) + random(0, 3),
    y: Math.floor(at / columns) * (image.height + 2) + random(0, 3),
  }));
  const take = () => free.splice(random(0, free.length), 1)[0] ?? { x: 0, y: 0 };
  const place = seed % 5 === 0 ? undefined : take();
  for (const flaw of FLAWS) {
    const { x, y } = take();
    put(screen, flawed(look, flaw, random), x, y);
  }
  if (place) put(screen, image, place.x, place.y);
  for (let at = 0; at < screen.pixels.length; at++) {
    const value = (screen.pixels[at] ?? 0) + random(-noise, noise + 1);
    screen.pixels[at] = Math.max(0, Math.min(255, value));
  }
  return { screen, image, place };
}
