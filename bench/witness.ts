/**
 * What witnessing costs a desk: cosigning checkpoints of a thousand logs against the bare signatures and one commit for each
 * thousand, and the processor time of a look at a log that does not grow against that of a bare fetch of its checkpoint.
 */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { type Host, serverOf } from "../src/desk/fleet/host";
import { createCollector } from "../src/desk/witness/collector";
import { isSignedBy, openSigningKey, type SigningKey } from "../src/lib/signing-key";
import type { Submission } from "../src/wire/witness/add-checkpoint";
import { checkpointText } from "../src/wire/witness/checkpoint";
import { consistencyProof, leafHash, type NodeAt, nodeHash, rootOf } from "../src/wire/witness/merkle";
import {
  formatVerifierKey,
  logName,
  noteOf,
  ownerText,
  SIGNATURE,
  signNote,
  toBase64,
  verifierKey,
} from "../src/wire/witness/signed-note";
import { openStore } from "../src/wire/witness/store";
import { createWitness } from "../src/wire/witness/witness";
import { type Figure, paired, TOKEN, temporaryFolder } from "./support";

const LOGS = 1_000;
const WATCHED = 100;
const ROUNDS = 5;
/** How many rows a log has first, and how many more with each checkpoint. */
const ROWS = 100;

export async function bench(): Promise<Figure[]> {
  return [await cosigned(), await looked()];
}

const leafOf = (at: number) => leafHash(Buffer.from(`${at}`));

const node: NodeAt = (level, index) =>
  level === 0 ? leafOf(index) : nodeHash(node(level - 1, 2 * index), node(level - 1, 2 * index + 1));

const nameOf = (at: number) => `svc.host/${at.toString(16).padStart(16, "0")}`;

const idOf = (at: number) => at.toString(16).padStart(32, "0");

const vkeyOf = (name: string, key: SigningKey) =>
  formatVerifierKey(verifierKey(name, SIGNATURE, key.publicKey));

function noteFor(name: string, size: number, root: Uint8Array, key: SigningKey): string {
  const text = checkpointText({ origin: name, size, root });
  return noteOf(text, [signNote(text, name, key)]);
}

/** A thousand logs that grow together. */
async function cosigned(): Promise<Figure> {
  using folder = temporaryFolder();
  const key = openSigningKey(join(folder.path, "log_key"));
  const own = openSigningKey(join(folder.path, "own_key"));
  const store = openStore(join(folder.path, "witness.db"));
  const witness = createWitness({ store, key: own });
  for (let at = 0; at < LOGS; at++)
    store.register({ origin: nameOf(at), vkey: vkeyOf(nameOf(at), key), epoch: 0 });
  let size = 0;
  /** The next checkpoint of each log. */
  const grown = (): Submission[] => {
    const old = size;
    size += ROWS;
    const proof = consistencyProof(old, size, node).map(toBase64);
    const root = rootOf(size, node);
    return Array.from({ length: LOGS }, (_, at) => ({
      old,
      proof,
      note: noteFor(nameOf(at), size, root, key),
    }));
  };
  using bare = new Database(join(folder.path, "bare.db"));
  bare.run("PRAGMA journal_mode = WAL");
  bare.run("PRAGMA synchronous = FULL");
  bare.run("CREATE TABLE heads(at INTEGER PRIMARY KEY, note TEXT)");
  const put = bare.query("INSERT OR REPLACE INTO heads VALUES (?, ?)");
  const text = "x".repeat(200);
  const signature = key.sign(text);
  const perSecond = async (work: () => unknown) => {
    const started = performance.now();
    await work();
    return (LOGS * 1_000) / (performance.now() - started);
  };
  const { ratio, subject, baseline } = await paired(
    () => {
      const submissions = grown();
      return perSecond(async () => {
        const answers = await Promise.all(submissions.map(witness.add));
        if (answers.some(({ status }) => status !== 200))
          throw new Error("expected that each checkpoint is cosigned");
      });
    },
    () =>
      perSecond(() =>
        bare
          .transaction(() => {
            for (let at = 0; at < LOGS; at++) {
              if (!isSignedBy(key.publicKey, text, signature)) throw new Error("expected a good signature");
              put.run(at, own.sign(text));
            }
          })
          .immediate(),
      ),
    ROUNDS,
  );
  store.close();
  return {
    name: "checkpoints that a desk cosigns / bare signatures and commits",
    ratio,
    goal: ">= 0.5",
    detail: `${Math.round(subject)} / ${Math.round(baseline)} a second, of ${LOGS} logs`,
  };
}

/** What a look costs at a log that does not grow. */
async function looked(): Promise<Figure> {
  using folder = temporaryFolder();
  const root = rootOf(ROWS, node);
  const keys = Array.from({ length: WATCHED }, (_, at) => openSigningKey(join(folder.path, `key-${at}`)));
  const logs = keys.map((key, at) => {
    const name = logName(key.publicKey);
    const owner = ownerText(idOf(at));
    return {
      vkey: vkeyOf(name, key),
      owner: noteOf(owner, [signNote(owner, name, key)]),
      note: noteFor(name, ROWS, root, key),
    };
  });
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      const [, which = "0", ...path] = pathname.split("/");
      const log = logs[Number(which)];
      if (path.join("/") === "audit/key") return Response.json(log);
      if (path.join("/") !== "audit/checkpoint") return Response.json({});
      const old = Number(searchParams.get("old"));
      return Response.json({ note: log?.note, size: ROWS, old, proof: [] });
    },
  });
  const hosts = Array.from({ length: WATCHED }, (_, at): Host => {
    const member = { host_id: idOf(at), host_key: "key", nonce: "N".repeat(22) };
    return { label: `${at}`, base_url: `${server.url}${at}`, token: TOKEN, tags: [], member };
  });
  const store = openStore(join(folder.path, "witness.db"));
  const collector = createCollector({
    ...{ store, log: { warn() {} }, publish() {} },
    witness: createWitness({ store, key: openSigningKey(join(folder.path, "own_key")) }),
    deskKey: openSigningKey(join(folder.path, "desk_key")),
    verifyRow: () => Promise.reject(new Error("nothing is restored here")),
    book: { hosts: () => hosts, reach: (host: Host) => serverOf(host) },
  });
  const each = async (look: (host: Host) => Promise<unknown>) => {
    const before = process.cpuUsage();
    for (const host of hosts) await look(host);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / WATCHED;
  };
  const { ratio, subject, baseline } = await paired(
    () => each(({ label }) => collector.lookNow(label)),
    () =>
      each(async ({ base_url }) =>
        (await fetch(`${base_url}/audit/checkpoint?old=${ROWS}`, { keepalive: false })).text(),
      ),
  );
  const states = [...collector.statuses().values()].map(({ state }) => state);
  collector.stop();
  store.close();
  if (states.some((state) => state !== "ok")) throw new Error(`expected ok, but found ${states.join(", ")}`);
  return {
    name: "a look at a log that does not grow / a bare fetch of its checkpoint",
    ratio,
    goal: "<= 6",
    detail: `${subject.toFixed(2)} / ${baseline.toFixed(2)} ms of processor time with the answer; a desk makes one of each host each 12 s`,
  };
}
