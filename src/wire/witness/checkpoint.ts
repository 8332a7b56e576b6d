/**
 * Checkpoints (https://c2sp.org/tlog-checkpoint): the text of a signed note that says how large the Merkle tree of a log is,
 * and its root. And the lines of hashes that prove something about one.
 */
import { badInput } from "../../lib/errors";
import { HASH_BYTES, type Hash } from "./merkle";
import { fromBase64, toBase64 } from "./signed-note";

export interface Checkpoint {
  /** The name of the log. */
  readonly origin: string;
  /** The number of leaves. */
  readonly size: number;
  readonly root: Hash;
}

/** The text of a checkpoint, to be signed. */
export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${toBase64(root)}\n`;

/** What the text of a note says; extension lines are left out. @throws a `bad_input` failure for what is no checkpoint. */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin, size, root, ...rest] = text.split("\n");
  const extensions = rest.slice(0, -1);
  const hash = root === undefined ? undefined : parseHash(root);
  if (!origin || !isCount(size) || !hash || rest.at(-1) !== "" || extensions.includes(""))
    throw badInput("checkpoint: expected three lines: the name of a log, the size of its tree, and its root");
  return { origin, size: Number(size), root: hash };
}

/** Whether `text` is a whole number in decimal without leading zeros that ECMAScript can count to. */
export const isCount = (text: string | undefined): text is string =>
  /^(0|[1-9]\d{0,15})$/.test(text ?? "") && Number.isSafeInteger(Number(text));

/** The hash that a line holds in base64; undefined for anything else. */
export function parseHash(line: string): Hash | undefined {
  const bytes = fromBase64(line);
  return bytes?.length === HASH_BYTES ? bytes : undefined;
}
