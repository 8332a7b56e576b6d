/**
 * Places in a picture that an agent was sent, as places on the desktop.
 *
 * The promise: whoever decides, and what runs, sees places on the desktop alone; a place that is not in the picture is refused.
 */
import type { InputSchema, Operation } from "../../core/operation";
import { entryOf, metadataOf, type Place } from "../../core/schema";
import { isWholeList } from "../../core/written";
import { badInput } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { Region, Size } from "../desktop/geometry";

/** Its size, in its own pixels, and what it shows of the desktop, as `screen_region` has it. */
interface Picture extends Size, Region {}

type Fields = Readonly<Record<string, unknown>>;

/** As an agent gets it, and gives it back. */
export const pictureText = ({ width, height, x1, y1, x2, y2 }: Picture): string =>
  `${width}x${height} of ${x1},${y1},${x2},${y2}`;

const PICTURE = /^([1-9]\d{0,4})x([1-9]\d{0,4}) of (-?\d{1,5}),(-?\d{1,5}),(-?\d{1,5}),(-?\d{1,5})$/;

/** @throws a `bad_input` failure for what is no text of {@link pictureText}. */
export function pictureIn(given: unknown): Picture {
  const parts = typeof given === "string" ? PICTURE.exec(given)?.slice(1).map(Number) : undefined;
  const [width = 0, height = 0, x1 = 0, y1 = 0, x2 = 0, y2 = 0] = parts ?? [];
  if (x2 > x1 && y2 > y1) return { width, height, x1, y1, x2, y2 };
  throw badInput(
    `picture: expected the text of a picture, such as 640x400 of 0,0,1280,800, but found ${printable(`${given}`, 80)}`,
  );
}

/** Whether a field of the operation is a place, or has actions that may have some. */
export const hasPlaces = ({ input: { entries } }: Pick<Operation, "input">): boolean =>
  Object.values(entries).some((entry) => {
    const { place, actions } = metadataOf(entry as Parameters<typeof metadataOf>[0]);
    return place !== undefined || actions === true;
  });

/**
 * `input` with each place of `picture` as it is on the desktop, also in lists of actions and in lists inside. A variable stays: what
 * svc found is a place on the desktop already.
 *
 * @throws a `bad_input` failure for a place outside the picture.
 */
export function onDesktop(
  operations: readonly Operation[],
  { input: schema }: Pick<Operation, "input">,
  input: Fields,
  picture: Picture,
): Fields {
  const commands = new Map(operations.map((one) => [one.command ?? "", one]));
  const fields = (entries: InputSchema, given: Fields): Fields => {
    if (typeof given.monitor === "number" && Object.hasOwn(given, "screen_region"))
      throw badInput("picture: expected without monitor, as places in a picture are on the whole desktop");
    if (given.relative_to !== undefined && given.relative_to !== null)
      throw badInput("picture: expected without relative_to, as a place in a picture counts from its corner");
    const changed = Object.entries(given).map(([name, value]) => [name, changedValue(entries, name, value)]);
    return Object.fromEntries(changed);
  };
  const changedValue = (entries: InputSchema, name: string, value: unknown): unknown => {
    const entry = entryOf(entries, name);
    const { place, actions } = entry ? metadataOf(entry) : {};
    if (place) return placeOf(picture, place, name, value);
    return actions && Array.isArray(value) ? value.map(action) : value;
  };
  const action = (written: unknown): unknown => {
    if (!Array.isArray(written)) return written;
    const [name, given, ...others] = written;
    const called = commands.get(name);
    if (!called || typeof given !== "object" || given === null) return written;
    if (!Array.isArray(given)) return [name, fields(called.input, given), ...others];
    const names = Object.keys(called.input.entries);
    if (isWholeList(called.input, given))
      return [name, changedValue(called.input, names[0] ?? "", given), ...others];
    const last = names.indexOf("relative_to");
    fields(called.input, last < 0 ? {} : { relative_to: given[last] });
    const values = given.map((value, at) => changedValue(called.input, names[at] ?? "", value));
    return [name, values, ...others];
  };
  return fields(schema, input);
}

/** A value of `field`; what is no number, or has another form, is left to the check of the input. */
function placeOf(picture: Picture, place: Place, field: string, value: unknown): unknown {
  const { x1, y1, x2, y2, width, height } = picture;
  const across = { first: x1, from: width, to: x2 - x1 };
  const down = { first: y1, from: height, to: y2 - y1 };
  if (place === "x" || place === "y") return pixelOf(place === "x" ? across : down, field, value);
  if (place === "width" || place === "height") {
    const { from, to } = place === "width" ? across : down;
    return typeof value === "number" ? Math.round((value * to) / from) : value;
  }
  if (!Array.isArray(value)) return value;
  const axisOf = (at: number) => (at % 2 === 0 ? across : down);
  return value.map((one, at) =>
    place === "point" ? pixelOf(axisOf(at), field, one) : edgeOf(axisOf(at), field, one),
  );
}

interface Axis {
  /** On the desktop. */
  readonly first: number;
  /** Pixels of the picture, and those of the desktop that they show. */
  readonly from: number;
  readonly to: number;
}

/** The pixel of the desktop in the middle of that of the picture. */
const pixelOf = ({ first, from, to }: Axis, field: string, value: unknown): unknown =>
  typeof value === "number"
    ? first + Math.floor(((within(value, from - 1, field) + 0.5) * to) / from)
    : value;

const edgeOf = ({ first, from, to }: Axis, field: string, value: unknown): unknown =>
  typeof value === "number" ? first + Math.round((within(value, from, field) * to) / from) : value;

function within(value: number, most: number, field: string): number {
  if (value >= 0 && value <= most) return value;
  throw badInput(`${field}: expected 0 to ${most}, as it is a place in the picture, but found ${value}`);
}
