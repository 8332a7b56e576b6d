/**
 * What a desk knows of the audit logs of its hosts, and what a person decides about one that is broken.
 */
import * as v from "valibot";
import { field, fileContent, NO_INPUT } from "../../core/fields";
import { operation } from "../../core/operation";
import { conflict, notFound } from "../../lib/errors";
import { checkEvidence, parseEvidence } from "../../wire/witness/evidence";
import { STATES } from "../../wire/witness/log-state";
import type { Store } from "../../wire/witness/store";
import type { OpenWitness } from "../../wire/witness/witness";
import type { Collector, Entry } from "./collector";
import { LOG_STATUS, type LogStatus, newLogStatus, STANDINGS, statusesIn, type WatchedLog } from "./states";

interface Uses {
  /** Null where this process has witnessed no log. */
  existingWitness(): Promise<Pick<OpenWitness, "store"> | null>;
  addressBook(): Promise<{ hosts(): readonly Entry[] }>;
  /** Null where this process looks at no logs. */
  watchedLogs(): Promise<Pick<Collector, "restore" | "forget"> | null>;
  /** What this process, or the server before, has found about each host, by its id. */
  foundLogs(): Promise<ReadonlyMap<string, WatchedLog>>;
}

const WATCHED = v.object({
  label: v.string(),
  host_id: v.string(),
  ...v.omit(LOG_STATUS, ["label", "left", "vkey", "former", "epoch", "peers", "accepted"]).entries,
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
  async run(service: Uses, _input, { grant }) {
    const watching = (await service.watchedLogs()) !== null;
    const statuses = await service.foundLogs();
    const store = (await service.existingWitness())?.store;
    const members = (await service.addressBook())
      .hosts()
      .flatMap(({ label, member }) => (member ? [{ label, host_id: member.host_id }] : []));
    const piecesOf = (status: LogStatus) => evidenceOf(store, status).length;
    const labels = new Map(members.map(({ label, host_id }) => [host_id, label]));
    const hosts = members.flatMap(({ label, host_id }) => {
      // One that has joined just now is looked at soon, where a server runs.
      const status = statuses.get(host_id) ?? { ...newLogStatus(), standing: watching ? "good" : "unseen" };
      const { vkey, former, epoch, left, peers, accepted, ...shown } = status;
      const known = peers.flatMap((id) => labels.get(id) ?? []);
      return { ...shown, label, host_id, peers: known, evidence: piecesOf(status) };
    });
    const left = [...statuses].flatMap(([host_id, status]) => {
      const { label, origin, state, since, reason, left } = status;
      // Who is for some hosts alone is for none that has left.
      if (left === null || labels.has(host_id) || grant.on !== undefined) return [];
      return { label, host_id, origin, state, since, reason, left, evidence: piecesOf(status) };
    });
    return { watching, hosts, left };
  },
});

/** All names that a log has had, the newest last. */
const namesOf = ({ origin, former }: LogStatus): string[] => [
  ...former,
  ...(origin === null ? [] : [origin]),
];

/** The files about a log, under all names that it has had; the newest last. */
const evidenceOf = (store: Store | undefined, status: LogStatus): string[] =>
  namesOf(status).flatMap((one) => store?.evidence(one) ?? []);

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
  async run(service: Uses, { label: wanted }, { grant }) {
    const store = (await service.existingWitness())?.store;
    const logs = await service.foundLogs();
    const isWanted = (label: string, id?: string) => label === wanted || id === wanted;
    const statusOf = ({ member }: Entry) => logs.get(member?.host_id ?? "");
    const hosts = (await service.addressBook()).hosts();
    const entry = hosts.find(({ label, member }) => isWanted(label, member?.host_id));
    const found = entry && statusOf(entry);
    // Another host may have got its label since.
    const left = [...statusesIn(store?.statuses() ?? new Map())].filter(
      ([id, status]) => status.left !== null && isWanted(status.label, id),
    );
    // A peer knows a log by its name alone.
    const others = [
      ...(store?.evidence(wanted) ?? []),
      ...left.flatMap(([, status]) => evidenceOf(store, status)),
    ];
    // Who is for some hosts alone is shown the logs of those alone, by their names too.
    const named = hosts.flatMap((one) => statusOf(one) ?? []).find((one) => namesOf(one).includes(wanted));
    const limited = named ? evidenceOf(store, named) : [];
    // The newest: those before may be of a break that was accepted since.
    const file = [
      ...(grant.on === undefined ? others : limited),
      ...(found ? evidenceOf(store, found) : []),
    ].at(-1);
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
  async run(service: Uses, { label: wanted, reason }, { signal }) {
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
  async run(service: Uses, { label: wanted }) {
    (await watchedHere(service)).forget(wanted);
    return { forgotten: wanted };
  },
});

async function watchedHere(service: Uses) {
  const watched = await service.watchedLogs();
  if (!watched)
    throw conflict("no log of a host is looked at here: `svc serve` does so once a host has joined");
  return watched;
}

export const operations = [listWitnessed, showFork, verifyFork, restoreLog, forgetLog];
