/**
 * Witnessing audit logs: what a witness serves, what a desk knows of the logs of its hosts, and what a host takes from its desk.
 */
import * as v from "valibot";
import { field, fileContent, NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";
import { badInput, conflict, forbidden, notFound } from "../lib/errors";
import { isSignedBy } from "../lib/signing-key";
import { answerResponse, parseSubmission } from "./add-checkpoint";
import type { Collector } from "./collector";
import { addCosignatures } from "./cosignatures";
import { checkEvidence, parseEvidence } from "./evidence";
import { ASSIGNMENT, assignmentMessage, type Membership } from "./messages";
import { recordRestore } from "./restored";
import { newRecord, RECORD, type Record, recordsIn, STANDINGS, STATES, type WatchedLog } from "./states";
import type { Store } from "./store";
import type { Witness } from "./witness";

/** The witness of this process, and where it keeps what it has cosigned. */
export interface Open {
  readonly witness: Witness;
  readonly store: Store;
}

interface Uses {
  /** Null where this host witnesses nothing: looking makes no file. */
  existingWitness(): Promise<Open | null>;
  witness(): Promise<Open>;
  /** The desk that this host has joined. */
  membership(): Promise<(Membership & { readonly desk_key: string }) | undefined>;
}

const PROTOCOL = { cli: "logs and monitors ask it over HTTP", script: "logs and monitors ask it over HTTP" };
const BY_DESK = { cli: "the server of the desk sends it", script: "the desk signs it" };

const addCheckpoint = operation({
  name: "witness.add_checkpoint",
  summary: "Cosign a checkpoint of a log that this host witnesses (C2SP tlog-witness)",
  scope: "any",
  http: {
    method: "POST",
    path: "/witness/add-checkpoint",
    public: "signed",
    body: "request",
    text: true,
    routine: true,
    content: "text/plain",
  },
  leftOut: PROTOCOL,
  input: v.strictObject({
    request: field(v.string(), "The old size, a consistency proof, an empty line, and the checkpoint"),
  }),
  output: v.unknown(),
  async run(service: Pick<Uses, "existingWitness">, { request }) {
    const submission = parseSubmission(request);
    if (!submission) throw badInput("request: expected an old size, a proof, an empty line and a checkpoint");
    const open = await service.existingWitness();
    if (!open) throw notFound("this host witnesses no log");
    return answerResponse(await open.witness.offer(submission));
  },
});

const showCheckpoint = operation({
  name: "witness.checkpoint",
  summary: "Print the newest checkpoint of a log that this host has cosigned (C2SP tlog-witness)",
  scope: "any",
  http: { method: "GET", path: "/witness/{origin_hash}/checkpoint", public: true, content: "text/plain" },
  leftOut: PROTOCOL,
  input: v.strictObject({
    origin_hash: field(v.pipe(v.string(), v.maxLength(200)), "SHA-256 of the name of the log, hexadecimal"),
  }),
  output: v.unknown(),
  async run(service: Pick<Uses, "existingWitness">, { origin_hash }) {
    const note = (await service.existingWitness())?.witness.latest(origin_hash);
    if (note === undefined) throw notFound("this witness has cosigned no checkpoint of that log");
    return new Response(note, {
      headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
    });
  },
});

export const showKey = operation({
  name: "witness.key",
  summary: "Print the key that verifies the cosignatures of this host",
  scope: "read",
  command: "AC_witness_key",
  http: { method: "GET", path: "/witness/key" },
  input: NO_INPUT,
  output: v.object({ name: v.string(), vkey: v.string() }),
  async run(service: Pick<Uses, "existingWitness">) {
    const open = await service.existingWitness();
    if (!open) throw notFound("this host witnesses no log");
    return { name: open.witness.name, vkey: open.witness.vkey };
  },
});

const assign = operation({
  name: "witness.assign",
  summary: "Witness the logs that the desk of this host names, which it has signed",
  scope: "any",
  changes: "announces",
  http: { method: "POST", path: "/witness/logs" },
  leftOut: BY_DESK,
  input: ASSIGNMENT,
  output: v.object({ vkey: v.string() }),
  async run(service: Uses, { signature, ...assignment }, caller) {
    const { logs } = assignment;
    const membership = await service.membership();
    if (!membership) throw conflict("this host has joined no desk");
    if (!isSignedBy(membership.desk_key, assignmentMessage(membership, assignment), signature))
      throw forbidden("the signature is not that of the desk which this host has joined");
    const { witness, store } = await service.witness();
    // One from before changes nothing: no log is dropped, and none begins anew with an epoch that it has had.
    const isNew = logs.some(({ origin, epoch }) => (store.log(origin)?.epoch ?? -1) < epoch);
    if (isNew) await caller.announce(`witness.assign logs=${logs.length}`);
    store.commit(() => {
      for (const log of logs) store.register(log);
    });
    return { vkey: witness.vkey };
  },
});

/** A host of the address book. */
interface Entry {
  readonly label: string;
  readonly member?: { readonly host_id: string } | undefined;
}

interface DeskUses extends Pick<Uses, "existingWitness"> {
  addressBook(): Promise<{ hosts(): readonly Entry[] }>;
  /** Null where this process looks at no logs. */
  watchedLogs(): Promise<Pick<Collector, "restore" | "forget"> | null>;
  /** What this process, or the server before, has found about each host, by its id. */
  foundLogs(): Promise<ReadonlyMap<string, WatchedLog>>;
}

const WATCHED = v.object({
  label: v.string(),
  host_id: v.string(),
  ...v.omit(RECORD, ["label", "left", "vkey", "former", "epoch", "peers"]).entries,
  /** What the state asks for: nothing, finding out who did it, seeing whether the host runs, or why it was never reached. */
  standing: v.picklist(STANDINGS),
  /** The hosts that have cosigned the checkpoint which was handed back last. */
  peers: v.array(v.string()),
  /** How many files of evidence there are. */
  evidence: v.number(),
});

/** A host that has left while its log was broken. */
const LEFT = v.object({
  ...v.pick(WATCHED, ["label", "host_id", "origin", "state", "since", "reason", "evidence"]).entries,
  /** When it left. */
  left: v.string(),
});

export const listWitnessed = operation({
  name: "admin.witness",
  summary: "Show whether the audit logs of hosts that have joined are what they were",
  scope: "read",
  command: "AC_admin_witness",
  answeredBy: "server or here",
  http: { method: "GET", path: "/admin/witness" },
  input: NO_INPUT,
  output: v.object({
    /** Whether a server looks at them now. */
    watching: v.boolean(),
    hosts: v.array(WATCHED),
    /** Hosts that have left this desk while their logs were not what they had been. */
    left: v.array(LEFT),
  }),
  async run(service: DeskUses) {
    const watching = (await service.watchedLogs()) !== null;
    const records = await service.foundLogs();
    const store = (await service.existingWitness())?.store;
    const members = (await service.addressBook())
      .hosts()
      .flatMap(({ label, member }) => (member ? [{ label, host_id: member.host_id }] : []));
    const piecesOf = (record: Record) => evidenceOf(store, record).length;
    const labels = new Map(members.map(({ label, host_id }) => [host_id, label]));
    const hosts = members.flatMap(({ label, host_id }) => {
      // One that has joined just now is looked at soon, where a server runs.
      const record = records.get(host_id) ?? { ...newRecord(), standing: watching ? "good" : "unseen" };
      const { vkey, former, epoch, left, peers, ...shown } = record;
      const known = peers.flatMap((id) => labels.get(id) ?? []);
      return { ...shown, label, host_id, peers: known, evidence: piecesOf(record) };
    });
    const left = [...records].flatMap(([host_id, record]) => {
      const { label, origin, state, since, reason, left } = record;
      if (left === null || labels.has(host_id)) return [];
      return { label, host_id, origin, state, since, reason, left, evidence: piecesOf(record) };
    });
    return { watching, hosts, left };
  },
});

/** The files about a log, under all names that it has had; the newest last. */
const evidenceOf = (store: Store | undefined, { origin, former }: Record): string[] =>
  [...former, ...(origin === null ? [] : [origin])].flatMap((one) => store?.evidence(one) ?? []);

const label = field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(256)), "Label of the host");

export const showFork = operation({
  name: "admin.witness_fork",
  subcommand: "admin witness-fork",
  summary: "Print the file that proves that the audit log of a host contradicts itself",
  scope: "read",
  http: { method: "GET", path: "/admin/witness/fork" },
  leftOut: { script: "a person hands the file to others" },
  input: v.strictObject({
    label: field(
      v.pipe(v.string(), v.nonEmpty(), v.maxLength(256)),
      "Label of the host, its id, or the name of its log",
    ),
  }),
  output: v.object({ file: v.string() }),
  async run(service: DeskUses, { label: wanted }) {
    const store = (await service.existingWitness())?.store;
    const isWanted = (label: string, id?: string) => label === wanted || id === wanted;
    const entry = (await service.addressBook())
      .hosts()
      .find(({ label, member }) => isWanted(label, member?.host_id));
    const found = (await service.foundLogs()).get(entry?.member?.host_id ?? "");
    // Another host may have got its label since.
    const left = [...recordsIn(store?.records() ?? new Map())].filter(
      ([id, record]) => record.left !== null && isWanted(record.label, id),
    );
    const records = [...left.map(([, record]) => record), ...(found ? [found] : [])];
    // The newest: those before may be of a break that was accepted since.
    // A peer knows a log by its name alone.
    const file = [...(store?.evidence(wanted) ?? []), ...records.flatMap((one) => evidenceOf(store, one))].at(
      -1,
    );
    if (file === undefined) throw notFound("there is no file that proves a fork of the log of this host");
    return { file };
  },
});

export const verifyFork = operation({
  name: "audit.verify_fork",
  summary: "Check whether a file proves that an audit log contradicts itself",
  scope: "any",
  leftOut: { http: "whoever has the file trusts only a program of their own", script: "a person checks it" },
  input: v.strictObject({
    file: field(
      fileContent(v.pipe(v.string(), v.maxLength(1_048_576))),
      "What `svc admin witness-fork` prints",
    ),
  }),
  output: v.object({
    /** Whether it does. */
    ok: v.boolean(),
    /** The key of the log: compare it with what `svc audit key` printed on the host. */
    vkey: v.string(),
    sizes: v.array(v.number()),
    roots: v.array(v.string()),
  }),
  run(_service: object, { file }) {
    const evidence = parseEvidence(file);
    const found = checkEvidence(evidence);
    const { sizes = [], roots = [] } = found ?? {};
    return { ok: found !== null, vkey: evidence.vkey, sizes: [...sizes], roots: [...roots] };
  },
});

export const restoreLog = operation({
  name: "admin.witness_restore",
  subcommand: "admin witness-restore",
  summary: "Accept the audit log of a host as it is now, on record on that host, after a backup was restored",
  scope: "admin",
  changes: true,
  answeredBy: "server",
  http: { method: "POST", path: "/admin/witness/restore" },
  leftOut: { script: "a person decides it" },
  input: v.strictObject({
    label,
    reason: field(v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(500)), "Why the log is another"),
  }),
  output: v.object({ label: v.string(), state: v.picklist(STATES), origin: v.nullable(v.string()) }),
  async run(service: DeskUses, { label: wanted, reason }, { signal }) {
    const { state, origin } = await (await watchedHere(service)).restore(wanted, reason, signal);
    return { label: wanted, state, origin };
  },
});

export const forgetLog = operation({
  name: "admin.witness_forget",
  subcommand: "admin witness-forget",
  summary: "Forget the broken audit log of a host that has left; what proves the break is kept",
  scope: "admin",
  changes: true,
  answeredBy: "server",
  http: { method: "POST", path: "/admin/witness/forget" },
  leftOut: { script: "a person decides it" },
  input: v.strictObject({ label }),
  output: v.object({ forgotten: v.string() }),
  async run(service: DeskUses, { label: wanted }) {
    (await watchedHere(service)).forget(wanted);
    return { forgotten: wanted };
  },
});

async function watchedHere(service: DeskUses) {
  const watched = await service.watchedLogs();
  if (!watched) throw conflict("no server of a desk runs here: `svc serve` looks at the logs");
  return watched;
}

export const operations = [
  addCheckpoint,
  showCheckpoint,
  showKey,
  assign,
  addCosignatures,
  recordRestore,
  listWitnessed,
  showFork,
  verifyFork,
  restoreLog,
  forgetLog,
];
