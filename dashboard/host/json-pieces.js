/**
 * A JSON text as pieces, each with its place. `JSON.parse` says whether it is JSON, and not where its values are.
 */

/**
 * A value of a JSON text, and where it is.
 *
 * @typedef {object} Piece
 * @property {"list" | "object" | "value"} kind
 * @property {string | number} key in what it is in
 * @property {number} start
 * @property {number} end after its last character
 * @property {unknown} value of a text, a number, true, false or null
 * @property {Piece[]} inner of a list or an object
 */

/** Tokens of JSON; what is left out stands between values. */
const TOKEN = /[[\]{}]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s[\]{},:"]+/g;

/** Values within values of which the value is made. */
const MAX_DEPTH = 100;

/**
 * The piece that is the whole text; undefined where it is not JSON.
 *
 * @param {string} text
 * @returns {Piece | undefined}
 */
export function pieceOf(text) {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  /** Lists and objects that have begun, each with the name that an object has said last. @type {Array<{ piece: Piece, name: string | null }>} */
  const open = [];
  /** @type {Piece | undefined} */
  let whole;
  for (const { 0: token, index = 0 } of text.matchAll(TOKEN)) {
    const around = open.at(-1);
    if (token === "]" || token === "}") {
      if (around) around.piece.end = index + 1;
      open.pop();
      continue;
    }
    if (around?.piece.kind === "object" && around.name === null) {
      around.name = String(JSON.parse(token));
      continue;
    }
    const kind = token === "[" ? "list" : token === "{" ? "object" : "value";
    /** @type {Piece} */
    const piece = {
      kind,
      key: around?.name ?? around?.piece.inner.length ?? 0,
      start: index,
      end: index + token.length,
      value: kind === "value" ? JSON.parse(token) : undefined,
      inner: [],
    };
    if (around) {
      around.piece.inner.push(piece);
      around.name = null;
    }
    whole ??= piece;
    if (kind !== "value") open.push({ piece, name: null });
  }
  return whole;
}

/**
 * The value of a piece, without what is very deep in it.
 *
 * @param {Piece} piece
 * @param {number} [depth]
 * @returns {unknown}
 */
export function contentOf({ kind, value, inner }, depth = 0) {
  if (kind === "value") return value;
  if (depth === MAX_DEPTH) return "…";
  if (kind === "list") return inner.map((one) => contentOf(one, depth + 1));
  return Object.fromEntries(inner.map((one) => [String(one.key), contentOf(one, depth + 1)]));
}
