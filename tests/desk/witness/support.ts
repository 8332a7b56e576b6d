/** A log with a key of its own, as a host has one. */
import { writeFileSync } from "node:fs";
import * as v from "valibot";
import { GENESIS, rowHash } from "../../../src/host/audit/row";
import { proofText, verifyProof } from "../../../src/host/audit/witness/proof";
import { leafOf } from "../../../src/host/audit/witness/tree";
import { configFiles } from "../../../src/lib/paths";
import { openSigningKey, type SigningKey } from "../../../src/lib/signing-key";
import { answerResponse, parseSubmission } from "../../../src/wire/witness/add-checkpoint";
import { checkpointText } from "../../../src/wire/witness/checkpoint";
import { consistencyProof, type Hash, inclusionProof, rootOf } from "../../../src/wire/witness/merkle";
import { ASSIGNMENT, type Membership, RESTORED } from "../../../src/wire/witness/messages";
import { RESTORED_ROW, restoredDetail } from "../../../src/wire/witness/restore-row";
import {
  formatVerifierKey,
  logName,
  noteOf,
  ownerText,
  parseVerifierKey,
  SIGNATURE,
  signNote,
  toBase64,
  verifierKey,
} from "../../../src/wire/witness/signed-note";
import { openStore } from "../../../src/wire/witness/store";
import { createWitness } from "../../../src/wire/witness/witness";
import { leavesOf, nodesOf } from "../../lib/trees";

/** Lets the host of `configDir` have joined a desk with that key. */
export function joinDesk(configDir: string, { publicKey }: SigningKey, member: Membership): void {
  const join = {
    ...{ desk: "desk.lab:9939", desk_pin: `spki:${"A".repeat(43)}`, label: "lab-01", carriers: [] },
    ...{ ...member, token: "desk", desk_key: publicKey, joined: new Date().toISOString() },
  };
  writeFileSync(configFiles(configDir).desk, JSON.stringify(join));
}

export type TestLog = ReturnType<typeof testLog>;

/** A log whose name is that of its key, as those of hosts are. @param file has its key, in `folder`. */
export const ownLog = (folder: string, file = "audit_key") =>
  testLog(folder, logName(openSigningKey(`${folder}/${file}`).publicKey), leavesOf(300), file);

/** @param folder has its key. */
export function testLog(
  folder: string,
  name = "svc.host/0123456789abcdef",
  leaves: readonly Hash[] = leavesOf(300),
  file = name.replaceAll("/", "-"),
) {
  const key = openSigningKey(`${folder}/${file}`);
  const node = nodesOf(leaves);
  return {
    origin: name,
    vkey: formatVerifierKey(verifierKey(name, SIGNATURE, key.publicKey)),
    /** The same log with other leaves from `at` on. */
    forkedAt: (at: number) =>
      testLog(folder, name, [...leaves.slice(0, at), ...leavesOf(300 - at, "other")], file),
    /** The same log with `leaf` as its leaf `at`. */
    with: (at: number, leaf: Hash) => testLog(folder, name, leaves.with(at, leaf), file),
    inclusion: (index: number, size: number) => inclusionProof(index, size, node),
    text: (size: number) => checkpointText({ origin: name, size, root: rootOf(size, node) }),
    note(size: number) {
      const text = this.text(size);
      return noteOf(text, [signNote(text, name, key)]);
    },
    sign: (text: string) => noteOf(text, [signNote(text, name, key)]),
    ownedBy: (hostId: string) => noteOf(ownerText(hostId), [signNote(ownerText(hostId), name, key)]),
    proof: (old: number, size: number) => consistencyProof(old, size, node).map(toBase64),
    submission(old: number, size: number) {
      return { old, proof: this.proof(old, size), note: this.note(size) };
    },
  };
}

const HANDED = v.object({ note: v.string(), witnesses: v.array(v.string()) });

/** What `GET /audit/checkpoint` answers. */
interface Shown {
  readonly note: string;
  readonly size: number;
  readonly old: number;
  readonly proof: readonly string[] | null;
  readonly rows?: object;
}

/** What `POST /audit/restored` answers. */
interface Proven {
  readonly proof: string;
  readonly consistency: readonly string[];
}

const memberOf = (label: string) => ({ host_id: label.padEnd(32, "0"), nonce: "A".repeat(22) });

/** As the service verifies the proof of a row. */
export const verifyRow = async (proof: string, vkey: string) =>
  verifyProof(proof, { key: parseVerifierKey(vkey), witnesses: [] });

/** A host that answers a desk as svc does, with a log in memory and a witness of its own; stopped when the scope ends. */
export function testHost(folder: string, label: string, options: { readonly growsBy?: number } = {}) {
  const store = openStore(`${folder}/${label}.db`);
  const witness = createWitness({ store, key: openSigningKey(`${folder}/${label}-witness`) });
  const state = {
    label,
    /** Whose log it says it has. */
    owner: memberOf(label).host_id as string | null,
    log: ownLog(folder, `${label}-log`),
    size: 10,
    /** How many rows the log gets when cosignatures are handed back. */
    growsBy: options.growsBy ?? 2,
    isUp: true,
    /** The status of the answer when cosignatures are handed back; undefined for what is no answer. */
    handBackStatus: 200 as number | undefined,
    witnesses: true,
    /** The key that it names as that of its cosignatures, and what it makes of its answers with these. */
    witnessKey: witness.vkey,
    cosigns: ((lines) => lines) as (lines: string, submission: string) => string | Promise<string>,
    /** What the host makes of its answers with a checkpoint; an error where it is undefined. */
    shows: ((answer) => answer) as (answer: Shown) => Shown | undefined | Promise<Shown>,
    /** The size that it answers as a witness, without having cosigned it. */
    claims: undefined as number | undefined,
    /** What the desk has sent. */
    handed: [] as Array<v.InferOutput<typeof HANDED>>,
    restored: [] as unknown[],
    /** What the host makes of its answer to a restore. */
    proves: ((answer) => answer) as (answer: Proven) => Partial<Proven>,
    /** What it waits for before that answer. */
    provesOnce: async () => {},
  };
  const answer = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    const { log, size } = state;
    if (!state.isUp) return Response.json({ error: "it is away" }, { status: 500 });
    if (pathname === "/audit/key")
      return Response.json({ vkey: log.vkey, owner: state.owner && log.ownedBy(state.owner) });
    if (pathname === "/audit/checkpoint") {
      const old = Number(searchParams.get("old"));
      const proof = old > size ? null : log.proof(old, size);
      const shown = await state.shows({ note: log.note(size), size, old, proof });
      return Response.json(shown ?? { error: "not now" }, { status: shown ? 200 : 503 });
    }
    if (pathname === "/audit/cosignatures") {
      state.handed.push(v.parse(HANDED, await request.json()));
      state.size += state.growsBy;
      const status = state.handBackStatus;
      if (status === undefined) return new Response("x".repeat(1_000_000));
      return Response.json({}, { status });
    }
    if (pathname === "/audit/restored") {
      const { signature, ...about } = v.parse(RESTORED, await request.json());
      state.restored.push({ ...about, signature });
      const desk_key = openSigningKey(`${folder}/desk_key`).publicKey;
      const detail = restoredDetail({ ...memberOf(label), desk_key }, about, signature);
      const row = {
        ...{ id: size + 1, ts: "2030-01-01T00:00:00.000000+00:00", event_type: RESTORED_ROW, detail },
        ...{ host_id: null, viewer_id: null, prev_hash: GENESIS },
      };
      const row_hash = rowHash(row.prev_hash, row.ts, row);
      state.log = log.with(size, leafOf(row_hash));
      state.size = size + 1;
      const hashes = state.log.inclusion(size, size + 1);
      const proof = proofText({
        ...{ row: { ...row, row_hash }, index: size, hashes, note: state.log.note(size + 1) },
      });
      const consistency = state.log.proof(about.size, size + 1);
      await state.provesOnce();
      return Response.json(state.proves({ proof, consistency }));
    }
    if (!state.witnesses) return Response.json({ error: "not found" }, { status: 404 });
    if (pathname === "/witness/logs") {
      for (const one of v.parse(ASSIGNMENT, await request.json()).logs) store.register(one);
      return Response.json({ vkey: state.witnessKey });
    }
    if (state.claims !== undefined)
      return answerResponse(
        request.method === "POST" ? { status: 409, size: state.claims } : { status: 404, reason: "none" },
      );
    if (pathname === "/witness/add-checkpoint") {
      const text = await request.text();
      const submission = parseSubmission(text);
      const said = submission ? await witness.add(submission) : ({ status: 400, reason: "" } as const);
      if (said.status !== 200) return answerResponse(said);
      return answerResponse({ ...said, cosignatures: await state.cosigns(said.cosignatures, text) });
    }
    const [, hash = ""] = /^\/witness\/(\w+)\/checkpoint$/.exec(pathname) ?? [];
    const note = witness.latest(hash);
    return new Response(note, { status: note === undefined ? 404 : 200 });
  };
  const server = Bun.serve({ port: 0, fetch: answer });
  return Object.assign(state, {
    witness,
    witnessStore: store,
    entry: {
      label,
      base_url: `http://127.0.0.1:${server.port}`,
      token: "token-of-the-host",
      tags: [],
      member: { host_key: "key", ...memberOf(label) },
    },
    /** From now on nobody answers there. */
    stop: () => void server.stop(true),
    [Symbol.dispose]() {
      server.stop(true);
      store.close();
    },
  });
}
