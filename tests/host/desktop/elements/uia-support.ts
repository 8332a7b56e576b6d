/** Objects of COM that answer what they are told, for tests of UI Automation without Windows. */
import type { Pointer } from "bun:ffi";
import type { Face } from "../../../../src/host/desktop/elements/uia/com";
import { type Facts, factsOf } from "../../../../src/host/desktop/elements/uia/facts";
import type { Value } from "../../../../src/host/desktop/elements/uia/values";

/** An interface whose methods do and answer nothing, but for `own`. */
export const faceOf = (own: Partial<Face> = {}): Face => ({
  at: 1 as Pointer,
  call() {},
  object: () => undefined,
  whole: () => 0,
  real: () => 0,
  text: () => "",
  value: () => undefined,
  as: () => undefined,
  [Symbol.dispose]() {},
  ...own,
});

/** An element that has these properties, and what it was asked for. */
export function element(values: ReadonlyMap<number, Value>) {
  const asked: number[] = [];
  const face = faceOf({
    value(_most, _index, _kinds, property) {
      asked.push(Number(property));
      return values.get(Number(property));
    },
  });
  return { face, asked };
}

/** What an element says of itself that has these properties. */
export const factsWith = (...values: ReadonlyArray<readonly [number, Value]>): Facts =>
  factsOf(element(new Map(values)).face);
