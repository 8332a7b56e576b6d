/** The receipt of a plan: what the desk did, and the receipts of its hosts, in one file. */
import * as v from "valibot";
import { RemoteError } from "../../../client/carrier";
import type { Caller } from "../../../core/caller";
import { operation } from "../../../core/operation";
import { conflict, Failure, unavailable } from "../../../lib/errors";
import { serverOver } from "../../../lib/per-server";
import { runPool } from "../../../lib/pool";
import { printable } from "../../../lib/sanitize";
import { ownTurn } from "../../../lib/turn";
import type { PlanContents } from "../../../wire/job/plan-digest";
import { type Envelope, envelopeText, MAX_ENVELOPE, payloadOf } from "../../../wire/receipt/dsse";
import {
  PLAN_FILE,
  PLAN_RECEIPT,
  type PlanStatement,
  type PlanTarget,
  type ReceiptSource,
  RUN_PROOF,
  statementOf,
} from "../../../wire/receipt/statement";
import type { AddressBook } from "../../fleet/address-book";
import { kindOfContents, type ShownContent, shownContents } from "../host-contents";
import type { Plan, Target } from "../ledger/rows";
import { identityOf } from "../plan";
import { noPlan, type Plans } from "../plans";
import { EXAMPLE, ONE_PLAN } from "./one-plan";

/** What makes the parts of a receipt, from the audit log of this desk. */
interface PlanReceipts {
  ofPlan(plan: { readonly id: string; readonly created: number }): Promise<ReceiptSource>;
  seal(statement: object): Envelope;
  /** What says why the receipt of a host would spoil that of the plan; null where it does not. @throws `rejected` where the plan has none. */
  refusalsFor(
    predicate: Pick<PlanStatement["predicate"], "plan" | "targets" | "rows" | "witness">,
    contents: PlanContents | undefined,
  ): (receipt: Envelope, target: PlanTarget) => string | null;
}

interface Uses {
  /** Null where no plan was ever made. */
  existingPlans(): Promise<Plans | null>;
  addressBook(): Promise<Pick<AddressBook, "hosts" | "reach">>;
  /** Null when this process keeps no audit log. */
  receipts(): Promise<PlanReceipts | null>;
  /** Null where this desk has witnessed no log. */
  existingWitness(): Promise<{ readonly witness: { readonly vkey: string } } | null>;
}

/**
 * How many hosts are asked at once, and how long each has, in milliseconds. NATS servers share them, since each
 * answer is held in memory until it is verified.
 */
const SLOTS = 16;
const ANSWER_MS = 30_000;

/** The largest receipt of a host, in bytes: thousands of rows. */
const MAX_BYTES = 8 * 1024 * 1024;

/** The most values and names in one: that of 5,000 rows has some 50 for each. */
const MAX_VALUES = 300_000;

/** What the file has room for besides the receipts of hosts, in characters: rows of the desk, and what is said of each host. */
const OWN_CHARS = { rows: 8_000_000, host: 900 };

const LOG_OF = v.object({ predicate: v.object({ log: v.object({ key: v.string() }) }) });

/** The receipt of a host, with the key of its log. */
interface GivenReceipt {
  readonly envelope: Envelope;
  readonly log_key: string;
}

type HostReceipt = GivenReceipt | { readonly missing: string };

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
    await plans.recorded();
    const former = plans.ledger.plannedLabels(plan.seq);
    // As the digest of the plan has them.
    const targets = plans.ledger
      .targets(plan.seq)
      .map((target) => ({ ...target, label: former.get(target.n) ?? target.label }));
    const content = plans.ledger.content(plan.seq);
    const contents = await shownContents(content);
    const witness = (await service.existingWitness())?.witness.vkey ?? null;
    const { rows, heads, ...source } = await receipts.ofPlan(plan);
    const about = { ...source, plan: aboutPlan(plan), witness };
    const shownOf = (target: Target, made?: HostReceipt) => aboutTarget(target, made, contents?.[target.n]);
    // Of a plan that an earlier svc has made, too, this desk knows that all hosts were to run the same.
    const isOne = kindOfContents(content) === "one";
    const bare = { ...about, targets: targets.map((target) => shownOf(target)), rows };
    const refusal = receipts.refusalsFor(bare, plan.spec.contents ?? (isOne ? "one" : undefined));
    const made = await receiptsOf(service, targets, caller, (given, target) =>
      refusal(given.envelope, shownOf(target, given)),
    );
    const statement = statementOf(PLAN_RECEIPT, [{ name: "plan", digest: { sha256: plan.digest } }], {
      ...about,
      targets: targets.map((target, nth) => shownOf(target, made[nth])),
      rows,
      heads,
    });
    const hosts = made.flatMap((one) => ("envelope" in one ? [one.envelope] : []));
    return { kind: "svc plan receipt", version: 1, plan: receipts.seal(statement), hosts } as const;
  },
});

const aboutPlan = ({ id, digest, content_digest, spec, state, maker, token }: Plan) => ({
  id,
  digest,
  content_sha256: content_digest,
  spec: JSON.stringify(spec),
  state,
  made_by: maker,
  applied_by: token,
});

function aboutTarget(
  { label, identity, state, run_id }: Target,
  made: HostReceipt | undefined,
  content: ShownContent | undefined,
): PlanTarget {
  const about = { label, identity, state, run_id };
  // Whoever has the receipt of a host has the digest of what it ran; of others, the values of variables could be guessed by that.
  const shown = (key: string | null) => content && { content: { commitment: content.commitment, key } };
  if (!made || "missing" in made) {
    const missing = made?.missing ?? "it was not asked";
    return { ...about, log_key: null, receipt_sha256: null, missing, ...shown(null) };
  }
  return {
    ...about,
    log_key: made.log_key,
    receipt_sha256: Bun.SHA256.hash(envelopeText(made.envelope), "hex"),
    missing: null,
    ...shown(content?.key ?? null),
  };
}

/** What a host has answered, with the key that it names; undefined where it is none that can be looked at. */
function givenIn(envelope: Envelope): GivenReceipt | undefined {
  try {
    const read = v.safeParse(LOG_OF, payloadOf(envelope, MAX_VALUES));
    return read.success ? { envelope, log_key: read.output.predicate.log.key } : undefined;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** The receipts of hosts, by their place in the plan. */
interface Room {
  put(nth: number, given: GivenReceipt): void;
  /** Undefined where there is none, or no room for it. */
  at(nth: number): GivenReceipt | undefined;
}

/**
 * Keeps receipts of hosts as long as there is room for all; then the largest are left out, so that no host keeps out those of others.
 *
 * @param most in characters.
 */
export function createRoom(most: number): Room {
  const kept = new Map<number, { readonly given: GivenReceipt; readonly size: number }>();
  let left = most;
  return {
    at: (nth) => kept.get(nth)?.given,
    put(nth, given) {
      const size = JSON.stringify(given.envelope).length;
      kept.set(nth, { given, size });
      left -= size;
      while (left < 0) {
        const [largest, { size: freed }] = [...kept].reduce((one, other) =>
          other[1].size > one[1].size ? other : one,
        );
        kept.delete(largest);
        left += freed;
      }
    },
  };
}

/** The receipts of the hosts, in their order, or why there is none. */
async function receiptsOf(
  service: Uses,
  targets: readonly Target[],
  { signal, grant }: Caller,
  refusal: (given: GivenReceipt, target: Target) => string | null,
): Promise<HostReceipt[]> {
  const book = await service.addressBook();
  const byIdentity = new Map(book.hosts().map((host) => [identityOf(host), host]));
  const room = createRoom(Math.max(0, MAX_ENVELOPE - OWN_CHARS.rows - targets.length * OWN_CHARS.host));
  /** @returns why there is none. */
  const ask = async (target: Target, nth: number): Promise<string> => {
    const { identity, run_id } = target;
    if (run_id === null) return "it has run nothing of it, as far as the desk knows";
    const host = byIdentity.get(identity);
    if (!host) return "it is not in the address book any more";
    try {
      const input = { run_id };
      const { name } = grant;
      const server = book.reach(host);
      // Loaded on first use: the modules for dialling are large.
      const { callRemote } = await import("../../../client/remote-call");
      const envelope = await callRemote(server, RUN_PROOF, input, ANSWER_MS, signal, name, MAX_BYTES);
      // Reading one, and verifying it, takes as long as its host likes, within its size: never two in one turn.
      await ownTurn();
      const given = givenIn(envelope);
      if (!given) return "its answer is no receipt";
      await ownTurn();
      const why = refusal(given, target);
      if (why !== null) return printable(`its receipt proves nothing: ${why}`, 300);
      room.put(nth, given);
      return "the file has no room for its receipt, which is large: `svc runs proof` makes it on the host";
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      return printable(error.message, 300);
    }
  };
  const serverOf = ([, { identity }]: [number, Target]) =>
    serverOver(byIdentity.get(identity)?.base_url ?? "");
  const all = [...targets.entries()];
  const servers = new Set(all.map(serverOf)).size;
  const pool = { slots: Math.max(1, Math.floor(SLOTS / Math.max(1, servers))), serverOf };
  const why = await runPool(all, pool, ([nth, target]) => ask(target, nth));
  return why.map((missing, nth) => room.at(nth) ?? { missing });
}
