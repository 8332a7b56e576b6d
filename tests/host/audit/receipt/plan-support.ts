/** A plan with its receipt: the desk is also the host at which it ran. */
import { localCaller } from "../../../../src/core/caller";
import { type ReceiptTrust, verifyReceipt } from "../../../../src/host/audit/receipt/verify";
import { hostIdOf } from "../../../../src/trust/identity";
import { digestOfPlan } from "../../../../src/wire/job/plan-digest";
import { type Envelope, envelopeText, sealed } from "../../../../src/wire/receipt/dsse";
import { digestOfTargets } from "../../../../src/wire/receipt/plan-record";
import {
  PLAN_RECEIPT,
  type PlanStatement,
  type PlanTarget,
  statementOf as statement,
} from "../../../../src/wire/receipt/statement";
import { runActions, until } from "../../../support";
import { provenRun, SEEN } from "./support";

export const PLAN = "7d3f0c52-0000-4000-8000-000000000000";
export const CONTENT = "a".repeat(64);
/** Of another content. */
export const OTHER = "e".repeat(64);
export const SPEC = { kind: "plan", on: "all" };

/** What somebody changes in the statement of a plan. */
export type Change = (statement: PlanStatement) => unknown;

/** What is otherwise about a plan and its desk. */
export interface Given {
  /** Of the first host as the plan has it (default: its id). */
  readonly identity?: string;
  /** The digest of what the first host ran, by its log. */
  readonly ran?: string;
  /** Whether it says that its desk has signed that (default: it does). */
  readonly isSigned?: boolean;
  /** What the limits of the plan say of its content. */
  readonly contents?: string;
  /** How long after it was applied it may begin, in seconds. */
  readonly expires_s?: number;
  readonly content_sha256?: string;
  /** What is shown of the content of each host. */
  readonly shown?: ReadonlyArray<NonNullable<PlanTarget["content"]>>;
  /** When the witness has seen the log at the end, in seconds from `SEEN`. */
  readonly seen?: number;
  /** What follows in the row by which it was applied. */
  applied?(about: { readonly digest: string; readonly host: string }): string;
  /** Rows of the desk after that. */
  readonly decided?: readonly string[];
  /** Whether its end is on record. */
  readonly hasEnd?: boolean;
}

/** A plan that ran at one of two hosts, which is the desk itself; and the parts that a desk makes its receipt of. */
export async function provenPlan(given: Given = {}) {
  const { ran = CONTENT, isSigned = true, contents, content_sha256 = CONTENT, decided = [], shown } = given;
  const made = await provenRun({}, { seen: [0, 1] });
  const { service, identity, key, audit, receipts } = made;
  const host_id = hostIdOf(identity.publicKey);
  const base = localCaller(service, "api");
  const before = `plan=${PLAN} job=${PLAN} ${isSigned ? "signed " : ""}content=sha256:${ran} `;
  const caller = { ...base, announce: (subject: string) => base.announce(`${before}${subject}`) };
  const first = { label: "lab-01", identity: given.identity ?? host_id };
  const second = { label: "lab-02", identity: "b".repeat(32) };
  const hosts = [first, second];
  const { expires_s } = given;
  const limit = expires_s !== undefined && { expires_s };
  const spec = { ...SPEC, ...limit, ...(contents !== undefined && { contents }) };
  const digest = digestOfPlan(content_sha256, spec, hosts);
  const row = { event_type: "rest_api", host_id: null, viewer_id: null };
  const after = given.applied?.({ digest, host: host_id }) ?? "";
  const rows = [
    `POST /plans/x/apply -> started plan.apply id=${PLAN} digest=${digest} hosts=2${after}`,
    ...decided.map((text) => `POST /plans/x -> started ${text}`),
  ];
  for (const detail of rows) await audit.append({ ...row, detail });
  const { run_id } = await runActions(service, [["AC_sleep", [0]]], {}, caller);
  await until("the row of its end", async () =>
    (await audit.list({ limit: 1 }))[0]?.detail?.startsWith(`run=${run_id} ended`),
  );
  const common = { state: "ok", run_id: null, log_key: null, receipt_sha256: null, missing: null };
  const ended = [
    { ...common, ...first, run_id },
    { ...common, ...second, state: "unreachable" },
  ];
  const onRecord = { id: PLAN, created: 0 };
  const became = { hosts: ended.length, hostsDigest: digestOfTargets(ended) };
  if (given.hasEnd) await receipts.planEnded({ ...onRecord, state: "done" }, became);
  await made.cosign(SEEN + (given.seen ?? 120));
  const of = async (id: string) => receipts.ofRun((await service.runs()).show(id), false);
  const [envelope, other, source] = [
    await of(run_id),
    await of(made.other.run_id),
    await receipts.ofPlan(onRecord),
  ];
  const log_key: string = JSON.parse(atob(envelope.payload)).predicate.log.key;
  const digestOf = (one: Envelope) => Bun.SHA256.hash(envelopeText(one), "hex");
  const { host, log, ...rest } = source;
  const contentOf = (nth: number) => shown?.[nth] && { content: shown[nth] };
  const [one, two] = ended;
  const good = statement(PLAN_RECEIPT, [{ name: "plan", digest: { sha256: digest } }], {
    ...{ host, log },
    plan: {
      ...{ id: PLAN, digest, content_sha256, spec: JSON.stringify(spec), state: "done" },
      ...{ made_by: null, applied_by: after.includes("token=anna") ? "anna" : null },
    },
    witness: made.witness.vkey as string | null,
    targets: [
      { ...common, ...one, log_key, receipt_sha256: digestOf(envelope), ...contentOf(0) },
      { ...common, ...two, missing: "it is off", ...contentOf(1) },
    ],
    ...rest,
  }) as PlanStatement;
  /** What whoever has the desk could make of it. */
  const fileOf = (change: Change = () => {}, own: Envelope[] = [envelope]) => {
    const changed = structuredClone(good);
    change(changed);
    const plan = sealed(changed, identity, host_id);
    return JSON.stringify({ kind: "svc plan receipt", version: 1, plan, hosts: own });
  };
  const verdict = (change?: Change, own?: Envelope[], trust: ReceiptTrust = made.trust) =>
    verifyReceipt(fileOf(change, own), trust);
  /** Why it is refused; null where it is not. */
  const why = (...asked: Parameters<typeof verdict>) => {
    try {
      return verdict(...asked).reason;
    } catch (error) {
      return `${error instanceof Error ? error.message : error}`;
    }
  };
  return { ...made, key, verdict, why, fileOf, envelope, other, otherRun: made.other.run_id, digestOf };
}

/** Why the receipt of such a plan is refused; null where it is not. */
export async function whyOf(given: Given, change?: Change): Promise<string | null> {
  await using made = await provenPlan(given);
  return made.why(change);
}
