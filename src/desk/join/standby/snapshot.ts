/**
 * What makes a machine the desk, encrypted for one standby (age, X25519), and what tells that it has changed.
 *
 * The promise: only who has the standby's key can open a snapshot; it is one state of each file.
 */
import { join } from "node:path";
import * as v from "valibot";
import { badInput, rejected } from "../../../lib/errors";
import { fileStamp } from "../../../lib/files";
import { gunzipAside, gzipPieces } from "../../../lib/gzip";
import { jsonFields, jsonPieces } from "../../../lib/json-slices";
import { AGE_IDENTITY, makeKey } from "../../../lib/key-file";
import { readTrustFile, sizeOf, unusable } from "../../../lib/trust-files";
import { nextTurn } from "../../../lib/turn";
import { FILE_NAMES } from "../desk-bundle";
import { DATABASE_NAMES } from "../desk-databases";

/** The public half of a standby's key. */
export const RECIPIENT = v.pipe(
  v.string(),
  v.trim(),
  v.regex(/^age1[02-9ac-hj-np-z]{58}$/, "the key that `svc standby key` prints on the standby, age1…"),
);

/** When tokens were used last is no reason for another snapshot: that is so with each request. */
const UNWATCHED = ["token_use.json"];

/** Beside the files of a bundle: the address book is kept in another form. */
const WATCHED = [
  ...FILE_NAMES.filter((name) => !UNWATCHED.includes(name)),
  "admin_hosts.db",
  "admin_hosts.db-wal",
  ...DATABASE_NAMES.flatMap((name) => [name, `${name}-wal`]),
];

/** The most bytes of a snapshot, once it is opened. */
const MAX_BYTES = 536_870_912;

/** The level of gzip. */
const FAST = 1;

/** How much is encrypted in one turn, in bytes: some milliseconds. */
const PIECE_BYTES = 262_144;

/** A text that changes whenever one of the files does that make a desk. */
export function stampOf(configDir: string): string {
  const stamps = WATCHED.map((name) => {
    const path = join(configDir, ...name.split("/"));
    // A reader may leave an empty write-ahead log, which says nothing.
    return sizeOf(path) > 0 ? fileStamp(path) : "";
  });
  return Bun.SHA256.hash(JSON.stringify(stamps), "hex");
}

/** @throws `bad_input` for what is no public half of a standby's key: it is cut off or mistyped. */
export async function requireRecipient(key: string): Promise<void> {
  const { Encrypter } = await import("age-encryption");
  try {
    new Encrypter().addRecipient(key);
  } catch {
    throw badInput(
      "key: it is cut off or mistyped: copy the whole line that `svc standby key` prints, age1…",
    );
  }
}

/** What is in a snapshot: a bundle of a desk. */
interface Content {
  readonly databases: object;
}

/** `bundle` for who has the key of `recipient` alone. */
export async function sealSnapshot<B extends Content>(bundle: B, recipient: string): Promise<Uint8Array> {
  const { Encrypter } = await import("age-encryption");
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  const { databases, ...rest } = bundle;
  const packed = await gzipPieces(headOf(rest), FAST);
  // The databases are packed already, all but the third that base64 adds.
  packed.push(...(await gzipPieces(tailOf(databases), FAST, false)));
  return new Response(await encrypter.encrypt(inPieces(packed))).bytes();
}

/** The JSON of a bundle, piece by piece, up to its databases. */
function* headOf(rest: object): Generator<string> {
  yield "{";
  yield* jsonFields(rest);
  yield ',"databases":';
}

function* tailOf(databases: object): Generator<string> {
  yield* jsonPieces(databases);
  yield "}";
}

/** Gives `packed` piece by piece: whoever encrypts it leaves others their turn after each. */
function inPieces(packed: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const pieces = piecesOf(packed);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await nextTurn();
        const { value } = pieces.next();
        if (value) controller.enqueue(value);
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

function* piecesOf(packed: readonly Uint8Array[]): Generator<Uint8Array, undefined> {
  for (const one of packed)
    for (let at = 0; at < one.length; at += PIECE_BYTES) yield one.subarray(at, at + PIECE_BYTES);
}

/** The bundle in a snapshot, unchecked. @throws `rejected` where it cannot be opened with that key. */
export async function openSnapshot(sealed: Uint8Array, identity: string): Promise<unknown> {
  const { Decrypter } = await import("age-encryption");
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  try {
    const packed = await decrypter.decrypt(sealed, "uint8array");
    return JSON.parse((await gunzipAside(packed, MAX_BYTES)).toString());
  } catch {
    throw rejected("the snapshot cannot be opened: it is for the key of another machine, or damaged");
  }
}

/** The key of this machine as a standby, which is made (0600) where there is none. @throws `unavailable` where it cannot be used. */
export async function openStandbyKey(file: string): Promise<{ identity: string; recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await import("age-encryption");
  const identity = readKey(file) ?? makeKey(file, `${await generateX25519Identity()}\n`, readKey);
  return { identity, recipient: await identityToRecipient(identity) };
}

function readKey(file: string): string | undefined {
  const text = readTrustFile(file)?.toString().trim();
  if (text === undefined || AGE_IDENTITY.test(text)) return text;
  throw unusable(file, "is not an age identity");
}
