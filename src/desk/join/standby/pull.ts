/**
 * Asking the desk that this machine follows.
 *
 * The promise: a snapshot that is kept can be opened here, and would make this machine the desk; until it is on disk, the one before
 * stays. A large one holds up nobody.
 */
import { existsSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type * as v from "valibot";
import { RemoteError, type RemoteServer } from "../../../client/carrier";
import { callRemote } from "../../../client/remote-call";
import { conflict, unavailable } from "../../../lib/errors";
import { beginReplace, ensurePrivateFolder, PRIVATE_FILE } from "../../../lib/files";
import { printable } from "../../../lib/sanitize";
import type { Office } from "../../../wire/join/office";
import { pullEndpoint, yieldEndpoint, yieldMessage } from "./endpoints";
import { type FollowingFiles, type Leader, removeSnapshots, snapshotFile, writeFollowing } from "./following";

/** How long an answer may take, in milliseconds: the desk may have to pack much first. */
const ANSWER_MS = 60_000;

/** How long a desk may take to say that it is there, and to hear that it is not the desk any more, in milliseconds. */
const WORD_MS = 5_000;

/** The largest snapshot, in bytes. */
const MAX_BYTES = 268_435_456;

/** What pulling uses. */
export interface PullUses {
  readonly files: FollowingFiles;
  /**
   * Checks the snapshot in a file, and holds up nobody for long.
   *
   * @param id of the standby string.
   * @returns that this machine has it, as `haveMessage`, signed by the key in it.
   * @throws a `rejected` failure for what would not make this machine the desk.
   */
  check(file: string, id: string, stamp: string, signal?: AbortSignal): Promise<string | null>;
}

const deskOf = ({ address, pins }: Pick<Leader, "address" | "pins">): RemoteServer => ({
  url: `https://${address}`,
  token: undefined,
  trust: { kind: "pin", pins },
});

/** What the desk has answered. */
interface Update extends Disposable {
  /** What is known of it now. */
  readonly following: Leader;
  /** The newer snapshot, which goes unless it is put in place; absent where the one that is here is the newest. */
  readonly newer?: { commit(): void };
}

/**
 * Asks whether the desk has changed, and takes what it is now where it has. What was here stays until {@link keep}.
 *
 * @throws a {@link RemoteError}; `rejected` or `unavailable` for what is no snapshot.
 */
export async function pull(uses: PullUses, following: Leader, signal?: AbortSignal): Promise<Update> {
  const { id, secret, stamp, pins } = following;
  // Somebody may have removed it.
  const isHere = existsSync(snapshotFile(uses.files, following));
  const asked = { id, secret, have: isHere ? stamp : null, proof: isHere ? following.proof : null };
  const first = await callRemote(deskOf(following), pullEndpoint, asked, ANSWER_MS, signal);
  // The key that it shows now may be one that it has announced before.
  const seen = { ...following, pins: first.pins.length > 0 ? first.pins : pins };
  if (first.bytes === 0) return { following: seen, [Symbol.dispose]() {} };
  const path = snapshotFile(uses.files, following);
  ensurePrivateFolder(dirname(path));
  using begun = new DisposableStack();
  const newer = begun.use(beginReplace(path, PRIVATE_FILE, true));
  await writePieces(newer.fd, following, asked, first, signal);
  const proof = await uses.check(newer.temporary, id, first.stamp, signal);
  const arrived = begun.move();
  return {
    following: { ...seen, stamp: first.stamp, snapshot: new Date().toISOString(), proof },
    newer,
    [Symbol.dispose]: () => arrived.dispose(),
  };
}

/** Keeps what was pulled: the snapshot first, so that one which is named is there. Those of other desks go last. */
export function keep(files: FollowingFiles, { following, newer }: Update): void {
  newer?.commit();
  writeFollowing(files, following);
  removeSnapshots(files, following.id);
}

/** Writes the snapshot whose first piece is here, and asks for the others. */
async function writePieces(
  fd: number,
  following: Leader,
  who: Pick<v.InferInput<(typeof pullEndpoint)["input"]>, "id" | "secret" | "have" | "proof">,
  { bytes, stamp, piece }: { readonly bytes: number; readonly stamp: string; readonly piece: string },
  signal: AbortSignal | undefined,
): Promise<void> {
  if (bytes > MAX_BYTES) throw unavailable(`the snapshot of the desk is too large: ${bytes} bytes`);
  let offset = 0;
  const append = (text: string) => {
    const part = Buffer.from(text, "base64");
    if (part.length === 0) throw unavailable("the snapshot of the desk ends too early");
    for (let at = 0; at < part.length; ) at += writeSync(fd, part, at);
    offset += part.length;
  };
  append(piece);
  while (offset < bytes) {
    const asked = { ...who, piece_of: stamp, offset };
    append((await callRemote(deskOf(following), pullEndpoint, asked, ANSWER_MS, signal)).piece);
  }
}

/** Whether the desk is there: it answers, whatever it says, or takes a request and is slow to. */
export async function isThere(following: Leader): Promise<boolean> {
  const { id, secret } = following;
  // It has no snapshot of that stamp: so it says something at once, and packs nothing.
  const asked = { id, secret, piece_of: "0".repeat(64) };
  try {
    await callRemote(deskOf(following), pullEndpoint, asked, WORD_MS);
    return true;
  } catch (error) {
    if (error instanceof RemoteError) return error.refusal !== undefined || error.sent;
    throw error;
  }
}

/**
 * Tells the former desk which one has taken over.
 *
 * @param sign by the key of the desk, which this machine has now.
 * @returns what it says.
 * @throws a {@link RemoteError}.
 */
export const tell = async (
  following: Leader,
  { line, generation }: Office,
  sign: (text: string) => string,
  signal?: AbortSignal,
) => {
  const { id, secret } = following;
  const signature = sign(yieldMessage(id, { line, generation }));
  const word = { id, secret, line, generation, signature };
  return callRemote(deskOf(following), yieldEndpoint, word, WORD_MS, signal);
};

/** Why the desk was not followed, in words. */
export const whyNot = (error: unknown): string =>
  printable(error instanceof Error ? error.message : String(error), 200);

/** `error` as who types a command is to read it. */
export function refusedBy(address: string, error: unknown): unknown {
  if (!(error instanceof RemoteError)) return error;
  const { refusal, message } = error;
  if (refusal) return conflict(`the desk at ${address} refuses: ${refusal.error}`);
  return unavailable(`the desk at ${address} cannot be followed: ${message}`);
}
