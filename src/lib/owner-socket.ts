/**
 * The way from a process to the owner of a `{config_dir}`, the server that runs on it: a socket in the folder, a named pipe on Windows.
 *
 * Who may ask is decided by the file system: `run/` and all in it are private to the user. Both sides prove that they have read the
 * key in `run/owner.json`, since a pipe is in no folder, and who comes first could take its name. The owner speaks first, so that one
 * that hangs is known at once.
 */
import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import * as v from "valibot";
import { commit, version } from "../version";
import { deadline } from "./deadline";
import { displayName } from "./display-name";
import { Failure, messageOf, systemCode, unavailable } from "./errors";
import { readSmallFile, writeFileAtomic } from "./files";
import { connectForLines, type LineConnection, listenForLines } from "./lines";
import { look } from "./look";
import { orElse } from "./or-else";
import { valueIn } from "./value-in";

/** How both sides speak. An owner and a process of other numbers do not understand each other. */
const PROTOCOL = 1;

/** How long the owner may take to greet, in milliseconds. */
const GREETING_MS = 2_000;

/** The pause before an owner that has just started is asked again, in milliseconds. */
const AGAIN_MS = 20;

/** The most connections that have not proved who they are; one more ends the oldest of them. */
const MAX_STRANGERS = 256;

/** The longest line before both have proved who they are, and the longest file, in bytes. */
const MAX_GREETING = 4_096;

const ADDRESS = v.object({
  /** Of the socket: from the folder of the file, which may be elsewhere in a container. */
  path: v.string(),
  key: v.pipe(v.string(), v.length(64), v.hexadecimal()),
  pid: v.number(),
});

const GREETING = v.object({
  svc: v.string(),
  build: v.string(),
  protocol: v.number(),
  pid: v.number(),
  nonce: v.string(),
  /** `displayName` of its environment. */
  display: v.optional(v.string()),
});

/** What the owner says of itself. */
type Greeting = v.InferOutput<typeof GREETING>;

const PROOF = v.object({ nonce: v.string(), proof: v.string() });

/** What proves to the other side, for its nonce and one's own, that one has the key. `node:crypto` would cost each command some milliseconds. */
const proofOf = (key: string, who: "owner" | "process", nonces: readonly string[]) =>
  new Bun.CryptoHasher("sha256", Buffer.from(key, "hex"))
    .update(JSON.stringify([who, ...nonces]))
    .digest("hex");

/** Whether a proof is the expected one, in a time that does not depend on where it differs. */
function isProof(given: string, expected: string): boolean {
  let differs = given.length ^ expected.length;
  for (let at = 0; at < expected.length; at++) differs |= given.charCodeAt(at) ^ expected.charCodeAt(at);
  return differs === 0;
}

const randomHex = (bytes: number) =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");

/**
 * Takes calls of processes that can read `file`. To be called by who has claimed the folder: whatever socket is there is of a process that
 * died.
 *
 * @param file `run/owner.json`, which this writes.
 * @param taken gets each connection, once it has proved itself.
 * @throws an `unavailable` failure where no socket can be made.
 */
export function listenAsOwner(file: string, taken: (connection: LineConnection) => Promise<void>) {
  const key = randomHex(32);
  const display = displayName(process.env);
  /** Those that have not proved themselves yet. */
  const strangers = new Set<LineConnection>();
  const admit = async (connection: LineConnection) => {
    const [oldest] = strangers;
    if (oldest && strangers.size >= MAX_STRANGERS) {
      strangers.delete(oldest);
      oldest.cut();
    }
    strangers.add(connection);
    try {
      const isProved = await deadline(greet(connection, key, display), {
        ms: GREETING_MS,
        late: () => false,
      });
      if (!strangers.delete(connection) || !isProved) return connection.cut();
      await taken(connection);
    } catch {
      strangers.delete(connection);
      connection.cut();
    }
  };
  const { path, listener } = openSocket(dirname(file), (connection) => void admit(connection));
  writeFileAtomic(file, `${JSON.stringify({ path, key, pid: process.pid })}\n`);
  return {
    /** Takes no further connection, and cuts those that have not proved themselves. Never throws. */
    stop() {
      // Where the folder was replaced meanwhile, what is in it is of the server there.
      const isOurs = orElse(() => valueIn(ADDRESS, readSmallFile(file, MAX_GREETING))?.key === key, false);
      const place = isPipe(path) || isAbsolute(path) ? undefined : join(dirname(file), path);
      if (isOurs || !place) listener.stop();
      else stopBeside(place, () => listener.stop());
      for (const connection of strangers) connection.cut();
      strangers.clear();
      try {
        if (isOurs) rmSync(file, { force: true });
        if (isOurs && place) rmSync(place, { force: true });
      } catch {
        // The folder is gone; or it has become read-only, and the next server clears it.
      }
      try {
        // A temporary folder has nothing else.
        if (!isPipe(path) && isAbsolute(path)) rmSync(dirname(path), { recursive: true, force: true });
      } catch {
        // It stays, and is empty of anything that counts.
      }
    },
  };
}

/** Calls `stop`, which removes whatever socket is at `place`: that of another server goes aside for the moment. Never throws. */
function stopBeside(place: string, stop: () => void): void {
  const aside = `${place}.${process.pid}`;
  const isAside = orElse(() => renameSync(place, aside) === undefined, false);
  stop();
  if (isAside) orElse(() => renameSync(aside, place), undefined);
}

const isPipe = (path: string) => path.startsWith("\\\\.\\pipe\\");

/** A socket in the folder `run`; where it cannot have one (a long path on macOS, a network drive), in a private temporary folder. */
function openSocket(run: string, taken: (connection: LineConnection) => void) {
  if (process.platform === "win32") {
    const path = `\\\\.\\pipe\\svc-${randomHex(16)}`;
    return { path, listener: listenForLines(path, taken) };
  }
  const place = join(run, "svc.sock");
  try {
    if (look(place)?.isSocket()) rmSync(place);
    return { path: "svc.sock", listener: privateSocket(place, taken) };
  } catch (error) {
    const path = join(mkdtempSync(join(tmpdir(), "svc-")), "svc.sock");
    try {
      return { path, listener: privateSocket(path, taken) };
    } catch {
      rmSync(dirname(path), { recursive: true, force: true });
      throw unavailable(`${place} cannot be made (${systemCode(error) ?? messageOf(error)})`);
    }
  }
}

function privateSocket(path: string, taken: (connection: LineConnection) => void) {
  const listener = listenForLines(path, taken);
  chmodSync(path, 0o600);
  return listener;
}

/** @returns whether the process has the key. */
async function greet(connection: LineConnection, key: string, display: string): Promise<boolean> {
  const nonce = randomHex(16);
  const greeting: Greeting = {
    svc: version,
    build: commit,
    protocol: PROTOCOL,
    pid: process.pid,
    nonce,
    display,
  };
  await connection.send(JSON.stringify(greeting));
  const line = await connection.next(MAX_GREETING);
  const given = valueIn(PROOF, line);
  if (!given) return false;
  const nonces = [nonce, given.nonce];
  if (!isProof(given.proof, proofOf(key, "process", nonces))) return false;
  await connection.send(JSON.stringify({ proof: proofOf(key, "owner", nonces) }));
  return true;
}

/** A connection to an owner that has proved itself. */
export interface OwnerConnection extends LineConnection {
  readonly owner: Greeting;
}

/**
 * Connects to the owner of the folder; undefined where there is none.
 *
 * A server that has just started listens a moment before it writes its key, and refuses that of the server before it: it is asked again.
 *
 * @param file `run/owner.json`.
 * @throws an `unavailable` failure when it does not answer, is no owner of this folder, or speaks another protocol.
 */
export async function connectToOwner(file: string): Promise<OwnerConnection | undefined> {
  const until = performance.now() + GREETING_MS;
  for (;;) {
    const met = await meetAt(file);
    if (!met || "send" in met) return met;
    if (performance.now() > until) throw impostor(met.refusedBy);
    await Bun.sleep(AGAIN_MS);
  }
}

/** An owner that ended the connection when it saw what this process proved. */
interface Refusal {
  readonly refusedBy: Greeting;
}

/** Connects once. @throws as {@link connectToOwner}. */
async function meetAt(file: string): Promise<OwnerConnection | Refusal | undefined> {
  const address = valueIn(ADDRESS, existsSync(file) ? readSmallFile(file, MAX_GREETING) : undefined);
  if (!address) return undefined;
  const { path, key, pid } = address;
  const connecting = connectForLines(isPipe(path) ? path : resolve(dirname(file), path));
  const late = () => {
    void connecting.then(({ cut }) => cut()).catch(() => {});
    throw unavailable(`the server (pid ${pid}) does not answer within ${GREETING_MS / 1_000} s: restart it`);
  };
  try {
    return await deadline(
      connecting.then((connection) => meet(connection, key)),
      { ms: GREETING_MS, late },
    );
  } catch (error) {
    if (error instanceof Failure) throw error;
    // Of one that died, or whose folder was taken away meanwhile.
    return undefined;
  }
}

async function meet(connection: LineConnection, key: string): Promise<OwnerConnection | Refusal | undefined> {
  const owner = valueIn(GREETING, await connection.next(MAX_GREETING));
  // It ends at this moment, or is none.
  if (!owner) {
    connection.cut();
    return undefined;
  }
  const { protocol, nonce } = owner;
  if (protocol !== PROTOCOL) {
    connection.cut();
    throw otherBuild(owner);
  }
  const own = randomHex(16);
  const nonces = [nonce, own];
  await connection.send(JSON.stringify({ nonce: own, proof: proofOf(key, "process", nonces) }));
  const line = await connection.next(MAX_GREETING);
  const answer = valueIn(v.object({ proof: v.string() }), line);
  if (answer && isProof(answer.proof, proofOf(key, "owner", nonces))) return { ...connection, owner };
  connection.cut();
  if (line === undefined) return { refusedBy: owner };
  throw impostor(owner);
}

const impostor = ({ svc }: Greeting) =>
  unavailable(`who answers for the server (svc ${svc}) does not have the key of its folder`);

/** For an owner that does not understand this process, or the other way round. */
export const otherBuild = ({ svc, build }: Greeting) =>
  unavailable(`the server is svc ${svc} (${build}), this is svc ${version} (${commit}): restart the server`);
