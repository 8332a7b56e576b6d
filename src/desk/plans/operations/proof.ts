/** The receipt of a plan: what the desk did, and the receipts of its hosts, in one file. */
import * as v from "valibot";
import { RemoteError } from "../../../client/carrier";
import type { Caller } from "../../../core/caller";
import { operation } from "../../../core/operation";
import { conflict, unavailable } from "../../../lib/errors";
import { runPool } from "../../../lib/pool";
import { printable } from "../../../lib/sanitize";
import { type Envelope, envelopeText, payloadOf } from "../../../wire/receipt/dsse";
import {
  PLAN_FILE,
  PLAN_RECEIPT,
  type PlanTarget,
  type ReceiptSource,
  RUN_PROOF,
  statementOf,
} from "../../../wire/receipt/statement";
import type { AddressBook } from "../../fleet/address-book";
import type { Plan, Target } from "../ledger/rows";
import { identityOf } from "../plan";
import { noPlan, type Plans } from "../plans";
import { EXAMPLE, ONE_PLAN } from "./one-plan";

interface Uses {
  /** Null where no plan was ever made. */
  existingPlans(): Promise<Plans | null>;
  addressBook(): Promise<Pick<AddressBook, "hosts" | "reach">>;
  /** Null when this process keeps no audit log. */
  receipts(): Promise<{
    ofPlan(plan: { readonly id: string; readonly created: number }): Promise<ReceiptSource>;
    seal(statement: object): Envelope;
  } | null>;
  /** Null where this desk has witnessed no log. */
  existingWitness(): Promise<{ readonly witness: { readonly vkey: string } } | null>;
}

/** How many hosts are asked at once, and how long each has, in milliseconds. */
const SLOTS = 16;
const ANSWER_MS = 30_000;

/** The largest receipt of a host, in bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

const LOG_OF = v.object({ predicate: v.object({ log: v.object({ key: v.string() }) }) });

type HostReceipt = { readonly envelope: Envelope } | { readonly missing: string };

export const planProof = operation({
  name: "plan.proof",
  summary:
    "Make the receipt of a plan that is over: what the desk did, with the receipts of all hosts, in one file",
  scope: "audit",
  reveals: true,
  answeredBy: "server or here",
  leftOut: { script: "a receipt is for people elsewhere" },
  http: { method: "GET", path: "/plans/{id}/proof" },
  example: EXAMPLE,
  input: v.strictObject(ONE_PLAN),
  output: PLAN_FILE,
  async run(service: Uses, { id }, caller) {
    const plans = await service.existingPlans();
    const plan = plans?.here(id, caller.grant);
    if (!plans || !plan) throw noPlan(id);
    const receipts = await service.receipts();
    if (!receipts) throw unavailable("this svc keeps no audit log (--no-audit)");
    if (plan.ended === null) throw conflict(`the plan ${plan.id} is not over: it is ${plan.state}`);
    const targets = plans.ledger.targets(plan.seq);
    const made = await receiptsOf(service, targets, caller);
    const { host, log, rows, heads } = await receipts.ofPlan(plan);
    const statement = statementOf(PLAN_RECEIPT, [{ name: "plan", digest: { sha256: plan.digest } }], {
      ...{ host, log, plan: aboutPlan(plan) },
      witness: (await service.existingWitness())?.witness.vkey ?? null,
      targets: targets.map((target, nth) => aboutTarget(target, made[nth])),
      ...{ rows, heads },
    });
    const hosts = made.flatMap((one) => ("envelope" in one ? [one.envelope] : []));
    return { kind: "svc plan receipt", version: 1, plan: receipts.seal(statement), hosts } as const;
  },
});

const aboutPlan = ({ id, digest, content_digest, spec, state, maker, token }: Plan) => ({
  ...{ id, digest, content_sha256: content_digest, spec: JSON.stringify(spec), state },
  ...{ made_by: maker, applied_by: token },
});

function aboutTarget({ label, identity, state, run_id }: Target, made: HostReceipt | undefined): PlanTarget {
  const about = { label, identity, state, run_id };
  if (!made || "missing" in made)
    return { ...about, log_key: null, receipt_sha256: null, missing: made?.missing ?? "it was not asked" };
  return {
    ...about,
    log_key: v.parse(LOG_OF, payloadOf(made.envelope)).predicate.log.key,
    receipt_sha256: Bun.SHA256.hash(envelopeText(made.envelope), "hex"),
    missing: null,
  };
}

/** The receipts of the hosts, in their order, or why there is none. */
async function receiptsOf(
  service: Uses,
  targets: readonly Target[],
  { signal, grant }: Caller,
): Promise<HostReceipt[]> {
  const book = await service.addressBook();
  const hosts = book.hosts();
  const byIdentity = new Map(hosts.map((host) => [identityOf(host), host]));
  const pool = { slots: SLOTS, patienceMs: Number.POSITIVE_INFINITY };
  return runPool(targets, pool, async ({ identity, run_id }): Promise<HostReceipt> => {
    if (run_id === null) return { missing: "it has run nothing of it, as far as the desk knows" };
    const host = byIdentity.get(identity);
    if (!host) return { missing: "it is not in the address book any more" };
    try {
      const input = { run_id };
      const { name } = grant;
      const server = book.reach(host);
      // Loaded on first use: the modules for dialling are large.
      const { callRemote } = await import("../../../client/remote-call");
      const envelope = await callRemote(server, RUN_PROOF, input, ANSWER_MS, signal, name, MAX_BYTES);
      return v.is(LOG_OF, payloadOf(envelope)) ? { envelope } : { missing: "its answer is no receipt" };
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      return { missing: printable(error.message, 300) };
    }
  });
}
