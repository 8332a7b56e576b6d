/**
 * Witnessing audit logs: what a witness serves, and what a host takes from its desk.
 */
import * as v from "valibot";
import { field, NO_INPUT } from "../../core/fields";
import { operation } from "../../core/operation";
import { badInput, notFound } from "../../lib/errors";
import { requireSigned } from "../../wire/join/signed-by-desk";
import { answerResponse, parseSubmission } from "../../wire/witness/add-checkpoint";
import { ASSIGNMENT, assignmentMessage, type Membership } from "../../wire/witness/messages";
import type { OpenWitness } from "../../wire/witness/witness";
import { addCosignatures } from "./add-cosignatures";
import { recordRestore } from "./record-restore";

interface Uses {
  /** Null where this host witnesses nothing: looking makes no file. */
  existingWitness(): Promise<OpenWitness | null>;
  witness(): Promise<OpenWitness>;
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
    requireSigned(await service.membership(), signature, (membership) =>
      assignmentMessage(membership, assignment),
    );
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

export const operations = [addCheckpoint, showCheckpoint, showKey, assign, addCosignatures, recordRestore];
