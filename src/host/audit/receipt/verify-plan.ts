/** Verifying the receipt of a plan: what its desk did, and what each of its hosts did by its own log. */
import { Failure, rejected } from "../../../lib/errors";
import { orFailure } from "../../../lib/or-else";
import { digestOfPlan, type PlanContents } from "../../../wire/job/plan-digest";
import { type Envelope, envelopeText, statementIn } from "../../../wire/receipt/file";
import type { PlanStatement, PlanTarget } from "../../../wire/receipt/statement";
import { parseVerifierKey, type VerifierKey } from "../../../wire/witness/signed-note";
import { claimsOfPlan, lastBegin } from "./plan-claims";
import { isContentShown, requireAlike, requireContents, specIn } from "./plan-content";
import type { ReceiptResult, VerifiedRun } from "./result";
import { inTime, requireTimes, requireYes } from "./times";
import { verifyRun } from "./verify-run";
import { isSame, type ReceiptTrust, sightOf, verifySource } from "./verify-source";

/** What is known of a plan as the receipts of its hosts are looked at. */
interface KnownPlan {
  readonly id: string;
  readonly content_sha256: string;
  /** Undefined where nobody knows. */
  readonly contents: PlanContents | undefined;
  /** The desk as a witness, which has to have seen the logs of its hosts; undefined where it is none. */
  readonly witness: VerifierKey | undefined;
  /** Whether whoever made the receipt has named that witness, and nobody else. */
  readonly isNamed: boolean;
  /** Until when a host may have begun with it, in milliseconds since 1970. */
  readonly until: number;
}

/**
 * What the receipt of a plan shows, with those of its hosts.
 *
 * @throws a `rejected` failure, or `bad_input` for what is no receipt.
 */
export function verifyPlan(
  envelope: Envelope,
  hosts: readonly Envelope[],
  trust: ReceiptTrust,
): Pick<ReceiptResult, "plan" | "runs"> {
  const { subject, predicate }: PlanStatement = statementIn(envelope, "plan");
  const { plan, targets } = predicate;
  const desk = predicate.witness === null ? undefined : parseVerifierKey(predicate.witness, "file");
  const isDesk = (one: VerifierKey) => desk !== undefined && isSame(one, desk);
  const own = { ...trust, witnesses: trust.witnesses.filter((one) => !isDesk(one)) };
  const { before, after } = verifySource(envelope, predicate, own);
  const spec = specIn(plan.spec);
  if (digestOfPlan(plan.content_sha256, spec.limits, targets) !== plan.digest)
    throw rejected("the digest of the plan is not that of its content, its limits and its hosts");
  requireContents(plan, spec, targets);
  const claims = claimsOfPlan(predicate);
  if (!isSame(subject, [{ name: "plan", digest: { sha256: plan.digest } }]))
    throw rejected("its subject is not the plan");
  const sight = sightOf(before, after, own);
  requireTimes(predicate.rows, sight);
  const yeses = claims.decided.flatMap(({ passkey }) =>
    passkey ? [{ id: plan.id, text: passkey.text }] : [],
  );
  for (const yes of yeses) requireYes(yes, predicate.host.id, sight);
  const isNamed = !trust.witnesses.some(isDesk);
  const { id, content_sha256 } = plan;
  const until = lastBegin(spec.limits, claims.decided);
  const known = { id, content_sha256, contents: spec.contents, witness: desk, isNamed, until };
  const runs = verifyHosts(hosts, targets, known);
  if (!isNamed && runs.length === 0)
    throw rejected("the witness of the desk has seen no log of it, as there is no receipt of a host");
  const missing = targets.flatMap(({ label, state, missing: why, receipt_sha256 }) =>
    receipt_sha256 === null ? [{ label, state, why: why ?? "" }] : [],
  );
  return {
    plan: {
      id: plan.id,
      digest: plan.digest,
      state: plan.state,
      hosts: targets.length,
      missing,
      ...sight,
      decided: claims.decided,
      whole: claims.isWhole,
      yes_in_time: inTime(yeses, sight),
    },
    runs,
  };
}

/** What the receipts of the hosts show, each of which has to be there once. @throws a `rejected` failure. */
function verifyHosts(
  hosts: readonly Envelope[],
  targets: readonly PlanTarget[],
  known: KnownPlan,
): VerifiedRun[] {
  const left = new Map(hosts.map((one) => [Bun.SHA256.hash(envelopeText(one), "hex"), one]));
  const runs = targets.flatMap((target) => {
    if (target.receipt_sha256 === null) return [];
    const receipt = left.get(target.receipt_sha256);
    if (!receipt) throw rejected(`the receipt of ${target.label} was left out or changed`);
    left.delete(target.receipt_sha256);
    return [verifyHost(receipt, target, known)];
  });
  if (left.size > 0 || hosts.length > runs.length)
    throw rejected("it has the receipt of a host that the plan did not have, or one twice");
  if (known.contents === undefined) requireAlike(runs.map(({ content_shown }) => content_shown === true));
  return runs;
}

/** What the receipt of a host of a plan shows. @throws a `rejected` failure, or `bad_input` for what is no receipt. */
function verifyHost(receipt: Envelope, target: PlanTarget, known: KnownPlan): VerifiedRun {
  const { label, identity, log_key, run_id } = target;
  if (log_key === null) throw rejected(`the receipt of ${label} was left out or changed`);
  const { witness, isNamed } = known;
  const hostTrust = {
    key: parseVerifierKey(log_key, "file"),
    witnesses: witness ? [witness] : [],
    isNamed,
  };
  const verified = verifyRun(receipt, hostTrust, label);
  const { run, host_id } = verified;
  const isJoined = /^[0-9a-f]{32}$/.test(identity);
  if ((isJoined && identity !== host_id) || run.id !== run_id || run.plan?.id !== known.id)
    throw rejected(`the receipt of ${label} is of another host, run or plan`);
  // A desk signs the jobs of every host that has joined it.
  if (isJoined && !run.plan.signed)
    throw rejected(`${label} ran what its desk had not signed, though it has joined it`);
  if (!(Date.parse(run.started) <= known.until)) throw rejected(`${label} began after the plan had expired`);
  const content_shown = isContentShown(target, run.plan.content_sha256, known, known.contents);
  return { ...verified, content_shown };
}

/** Says why the receipt of a host cannot be part of that of its plan, which would prove nothing with it; null where it can. */
export type RefusalOf = (receipt: Envelope, target: PlanTarget) => string | null;

/**
 * What looks at the receipts of hosts before they are put into that of a plan.
 *
 * @param predicate as the receipt of the plan will have it, but for what its targets say of receipts.
 * @param contents what the desk knows of them, also where the limits of the plan do not say it.
 * @throws a `rejected` failure where what the desk has of the plan would itself prove nothing.
 */
export function refusalsFor(
  predicate: Pick<PlanStatement["predicate"], "plan" | "targets" | "rows" | "witness">,
  contents: PlanContents | undefined,
): RefusalOf {
  const { id, content_sha256, spec } = predicate.plan;
  const witness = predicate.witness === null ? undefined : parseVerifierKey(predicate.witness);
  const until = lastBegin(specIn(spec).limits, claimsOfPlan(predicate).decided);
  const known = { id, content_sha256, contents, witness, isNamed: true, until };
  return (receipt, target) => {
    const found = orFailure(() => verifyHost(receipt, target, known));
    return found instanceof Failure ? found.message : null;
  };
}
