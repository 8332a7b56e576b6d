/**
 * Looking for one text in another, in a time that grows with both together.
 *
 * Those of JavaScript compare a long text anew at each place where it could begin: 75 KB in 150 KB can take 5 seconds. Both may come
 * from outside, so they look for short texts alone, and for long ones this does (Knuth, Morris, Pratt 1977).
 */

/** How long a text may be that those of JavaScript look for, in characters. */
const SHORT = 24;

/** Where `part` begins in `text`, from `from` on; -1 where it is not. */
export function indexIn(text: string, part: string, from = 0): number {
  if (part.length <= SHORT) return text.indexOf(part, from);
  const [first = -1] = placesOf(text, part, from);
  return first;
}

/** Where `part` begins last in `text`, at `from` or before; -1 where it is not. */
export function lastIndexIn(text: string, part: string, from = text.length): number {
  if (part.length <= SHORT) return text.lastIndexOf(part, from);
  let last = -1;
  for (const at of placesOf(text.slice(0, from + part.length), part)) last = at;
  return last;
}

/** `text` without each `part`, which is not empty, taken apart there. */
export function splitAt(text: string, part: string): string[] {
  if (part.length <= SHORT) return text.split(part);
  const parts: string[] = [];
  let from = 0;
  for (let at = indexIn(text, part); at >= 0; at = indexIn(text, part, from)) {
    parts.push(text.slice(from, at));
    from = at + part.length;
  }
  parts.push(text.slice(from));
  return parts;
}

/** Where `part` begins in `text`, from `from` on, in order; of places that overlap, each. */
function* placesOf(text: string, part: string, from = 0): Generator<number, void> {
  const borders = bordersOf(part);
  let fits = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (fits > 0 && part.charCodeAt(fits) !== code) fits = borders[fits - 1] ?? 0;
    if (part.charCodeAt(fits) === code) fits++;
    if (fits < part.length) continue;
    yield at - fits + 1;
    fits = borders[fits - 1] ?? 0;
  }
}

/** For each beginning of `part`, how long the longest shorter one is that it ends with. */
function bordersOf(part: string): Uint32Array {
  const borders = new Uint32Array(part.length);
  let length = 0;
  for (let at = 1; at < part.length; at++) {
    while (length > 0 && part.charCodeAt(length) !== part.charCodeAt(at)) length = borders[length - 1] ?? 0;
    if (part.charCodeAt(length) === part.charCodeAt(at)) length++;
    borders[at] = length;
  }
  return borders;
}
