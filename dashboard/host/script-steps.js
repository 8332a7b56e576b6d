/**
 * The steps of a script, each with its place in the text. The list of steps and the text are two views of the same: nothing here changes
 * how it is written.
 */
import { contentOf, pieceOf } from "./json-pieces.js";

/** @typedef {import("./json-pieces.js").Piece} Piece */

/**
 * @typedef {object} Step
 * @property {string} number `2`, and `2.1` for the first inside it, as reports have it
 * @property {number} depth how many steps it is in
 * @property {string} list the argument that has the list in which it is; empty for the list of the script
 * @property {string} pointer to it from the whole text on (JSON Pointer), as the check names it
 * @property {string} place from the list on, as a trace names it: `[2].body[0]`
 * @property {number} start
 * @property {number} end after its last character
 * @property {string} command empty where it has none
 * @property {Piece | undefined} given its arguments, as they are written
 */

/** The names of the arguments of a command, in their order. @typedef {(command: string) => readonly string[]} ParametersOf */

/** The steps that are listed are in no more than this many others; the check refuses more. */
const MAX_DEPTH = 32;

/** Characters that say what a step acts on, and how many arguments they are of. */
const MAX_WORDS = 60;
const MAX_NAMED = 2;

/** The fields of a script that may have its list, the first that is there. */
const LISTS = ["auto_control", "actions"];

/**
 * The list of a script, and the pointer to it; null where the text is not JSON, or has none.
 *
 * @param {string} text
 */
function listIn(text) {
  const whole = pieceOf(text);
  if (whole?.kind === "list") return { list: whole, pointer: "" };
  const found = LISTS.flatMap((name) => whole?.inner.findLast(({ key }) => key === name) ?? []);
  const [list] = whole?.kind === "object" ? found : [];
  return list?.kind === "list" ? { list, pointer: `/${list.key}` } : null;
}

/** The list of a script as it is written; null where it has none. @param {string} text */
export function listTextIn(text) {
  const found = listIn(text);
  return found && text.slice(found.list.start, found.list.end);
}

/** @param {Piece} piece */
const isAction = ({ kind, inner: [first] }) =>
  kind === "list" && typeof first?.value === "string" && first.value.startsWith("AC_");

/** Whether it is a list of actions, one of which may be half written. @param {Piece} piece */
const isActions = ({ kind, inner }) => kind === "list" && inner.some(isAction);

/**
 * The lists of actions in the arguments of a step.
 *
 * @param {Piece} given
 * @param {readonly string[]} parameters
 * @returns {Array<{ list: Piece, name: string, pointer: string, place: string }>} `pointer` and `place` from the step on
 */
function listsIn(given, parameters) {
  const [first = "0"] = parameters;
  // A command whose one argument is a list takes that list itself.
  if (isActions(given)) return [{ list: given, name: first, pointer: "/1", place: `.${first}` }];
  return given.inner.flatMap((field) => {
    const { key, kind, inner } = field;
    const name = nameOf(key, parameters);
    const [pointer, place] = [`/1/${escaped(key)}`, `.${name}`];
    if (isActions(field)) return [{ list: field, name, pointer, place }];
    if (kind !== "list") return [];
    // Branches that run side by side.
    return inner.filter(isActions).map((list) => ({
      list,
      name: `${name} ${Number(list.key) + 1}`,
      pointer: `${pointer}/${list.key}`,
      place: `${place}[${list.key}]`,
    }));
  });
}

/** @param {string | number} key @param {readonly string[]} parameters */
const nameOf = (key, parameters) => (typeof key === "number" ? (parameters[key] ?? String(key)) : key);

/** As a part of a JSON Pointer. @param {string | number} key */
const escaped = (key) => String(key).replaceAll("~", "~0").replaceAll("/", "~1");

/**
 * The steps of a script, each before those inside it.
 *
 * @param {string} text
 * @param {ParametersOf} [parametersOf]
 * @returns {Step[] | null} null where the text is not JSON, or has no list
 */
export function stepsIn(text, parametersOf = () => []) {
  const found = listIn(text);
  if (!found) return null;
  /** @type {Step[]} */
  const steps = [];
  const { list, pointer } = found;
  collect(steps, list, parametersOf, { number: "", first: 1, depth: 0, list: "", pointer, place: "" });
  return steps;
}

/**
 * @param {Step[]} steps gets those of the list
 * @param {Piece} list
 * @param {ParametersOf} parametersOf
 * @param {Pick<Step, "number" | "depth" | "list" | "pointer" | "place"> & { first: number }} around `first`: the number of the first step in it
 */
function collect(steps, list, parametersOf, around) {
  for (const [nth, { kind, inner, start, end }] of list.inner.entries()) {
    const [named, given] = kind === "list" ? inner : [];
    const command = typeof named?.value === "string" ? named.value : "";
    const number = `${around.number}${around.first + nth}`;
    const pointer = `${around.pointer}/${nth}`;
    const place = `${around.place}[${nth}]`;
    const { depth } = around;
    steps.push({ number, depth, list: around.list, pointer, place, start, end, command, given });
    if (!given || depth === MAX_DEPTH) continue;
    let first = 1;
    for (const inside of listsIn(given, parametersOf(command))) {
      collect(steps, inside.list, parametersOf, {
        number: `${number}.`,
        first,
        depth: depth + 1,
        list: inside.name,
        pointer: `${pointer}${inside.pointer}`,
        place: `${place}${inside.place}`,
      });
      first += inside.list.inner.length;
    }
  }
}

/**
 * The steps at their places after the text has changed in one place.
 *
 * @param {readonly Step[]} steps
 * @param {string} before
 * @param {string} after
 * @returns {Step[]}
 */
export function movedSteps(steps, before, after) {
  let same = 0;
  while (same < before.length && before[same] === after[same]) same++;
  const by = after.length - before.length;
  /** @param {number} offset */
  const moved = (offset) => (offset <= same ? offset : Math.max(same, offset + by));
  return steps.map((step) => ({ ...step, start: moved(step.start), end: moved(step.end) }));
}

/** The innermost step around a place in the text; -1 where none is. @param {readonly Step[]} steps @param {number} offset */
export const stepAt = (steps, offset) =>
  steps.findLastIndex(({ start, end }) => start <= offset && offset <= end);

/** The step to which a JSON Pointer leads, or into which; -1 where none is. @param {readonly Step[]} steps @param {string} pointer */
export const stepOfPointer = (steps, pointer) =>
  steps.findLastIndex((step) => pointer === step.pointer || pointer.startsWith(`${step.pointer}/`));

/** The step with this place in a trace, or that has run what is there; -1 where none has. @param {readonly Step[]} steps @param {string} place */
export const stepOfPlace = (steps, place) =>
  steps.findLastIndex((step) => place === step.place || place.startsWith(`${step.place}.`));

/**
 * The arguments of a step, as they are written.
 *
 * @param {Step} step
 * @param {readonly string[]} parameters the names of those of its command
 * @returns {Array<{ name: string, value: unknown, steps: number }>} `steps`: how many a list of actions has, whose value is left out
 */
export function argumentsOf({ given }, parameters) {
  if (!given) return [];
  if (isActions(given)) return [{ name: parameters[0] ?? "0", value: null, steps: given.inner.length }];
  return given.inner.map((piece) => {
    const steps = isActions(piece) ? piece.inner.length : 0;
    return { name: nameOf(piece.key, parameters), value: steps > 0 ? null : contentOf(piece), steps };
  });
}

/** What a step acts on, in a few words. @param {Step} step */
export function wordsOf({ given }) {
  const plain = (given?.inner ?? []).filter(
    ({ kind, key }) => kind === "value" && key !== "as" && key !== "timeout",
  );
  const texts = plain.filter(({ value }) => typeof value === "string" && value !== "");
  const words = texts.length > 0 ? texts.map(({ value }) => String(value)) : plain.map(namedWord);
  const line = words.slice(0, MAX_NAMED).join(" ").replaceAll(/\s+/g, " ");
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS)}…` : line;
}

/** @param {Piece} piece */
const namedWord = ({ key, value }) => (typeof key === "number" ? String(value) : `${key} ${value}`);

/**
 * The place in a text, as an offset.
 *
 * @param {string} text
 * @param {number} line from 1
 * @param {number} column from 1, in UTF-16 units
 */
export function offsetAt(text, line, column) {
  let start = 0;
  for (let nth = 1; nth < line; nth++) {
    const end = text.indexOf("\n", start);
    if (end < 0) break;
    start = end + 1;
  }
  return Math.min(text.length, start + column - 1);
}

/**
 * How an action is added to the end of the list, so that the rest stays as it is written.
 *
 * @param {string} text
 * @param {readonly unknown[]} action
 * @returns {{ from: number, to: number, words: string, at: number } | null} what is put in the place of which part, and where the action is then;
 *   null where the text is not JSON, or has no list
 */
export function additionTo(text, action) {
  const written = JSON.stringify(action);
  /** @param {number} from @param {number} to @param {string} before @param {string} [after] */
  const put = (from, to, before, after = "") => {
    const words = `${before}${written}${after}`;
    return { from, to, words, at: from + before.length };
  };
  if (text.trim() === "") return put(0, text.length, "[\n  ", "\n]\n");
  const found = listIn(text);
  if (!found) return null;
  const { list } = found;
  const last = list.inner.at(-1);
  if (!last) return put(list.start, list.end, "[\n  ", "\n]");
  const before = text.slice(text.lastIndexOf("\n", last.start) + 1, last.start);
  return put(last.end, last.end, /\S/.test(before) ? ", " : `,\n${before}`);
}
