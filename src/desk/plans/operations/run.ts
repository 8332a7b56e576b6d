/**
 * The operations that have a plan run: apply, resume, retry. Each is for {@link permitted} callers alone.
 */
import * as v from "valibot";
import type { Caller, Progress } from "../../../core/caller";
import { field, flag } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { allows, beyond, type Grant, requireOwnToken } from "../../../core/rights";
import { sleep } from "../../../lib/deadline";
import { conflict, forbidden } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import { inSlices } from "../../../lib/turn";
import type { Passkeys } from "../../../trust/passkeys/passkeys";
import { type Content, readContent } from "../../../wire/job/content";
import type { AddressBook } from "../../fleet/address-book";
import { commonContent } from "../host-contents";
import type { Plan } from "../ledger/rows";
import { identityOf, RETRIABLE, RETRIED } from "../plan";
import type { Plans } from "../plans";
import { type PLAN_SUMMARY, PLAN_VIEW, summaryOf, viewOf } from "../view";
import { CHANGE, decided, EXAMPLE, ID, ONE_PLAN, type Permits, type Uses } from "./one-plan";

interface ApplyUses extends RunUses {
  passkeys(): Promise<Pick<Passkeys, "sign">>;
}

/** What running a plan uses of the service. */
interface RunUses extends Uses {
  executor(): Promise<Permits>;
  addressBook(): Promise<Pick<AddressBook, "hosts">>;
}

/** How often who waits looks, in milliseconds. */
const POLL_MS = 500;
const SHORT_MS = 20;

/** The most hosts of a plan that has only begun in its answer; and how many are looked at before others have their turn. */
const LISTED = 1_000;
const PIECE = 1_000;

const WAIT = flag(
  "Answer when the plan is over or paused, not when it has begun; in a list of actions, fail where a host is not ok",
);

/** A plan that the caller may have run. @throws `forbidden`, `not_found`. */
async function permitted(service: RunUses, id: string, { grant }: Caller) {
  requireOwnToken(grant, "a plan");
  const plans = await service.plans();
  const plan = plans.find(id, grant);
  if (grant.on !== undefined) await requireHosts(service, plans, plan);
  const executor = await service.executor();
  executor.permit(plan.spec.commands, grant);
  if (plan.spec.kind === "plan") {
    const content = readContent(commonContent(plans.ledger.content(plan.seq)).content);
    requireRights(content, grant);
    // Who made it may have had all.
    await executor.permitElsewhere(content.actions, grant);
  }
  return { plans, plan };
}

/** @throws `forbidden` for a plan with a host that is not in the address book of the caller: it was allowed more when it made the plan. */
async function requireHosts(service: RunUses, { ledger }: Plans, { seq, hosts }: Plan): Promise<void> {
  const known = new Set((await service.addressBook()).hosts().map(identityOf));
  let at = 0;
  await inSlices(() => {
    for (const { label, identity } of ledger.between(seq, at, at + PIECE))
      if (!known.has(identity))
        throw forbidden(`the plan is for ${printable(label, 130)} too, on which you may not act`);
    at += PIECE;
    return at >= hosts;
  });
}

/** Whoever has a plan run may do all that it may. @throws `forbidden`: its token allowed more when it made the plan. */
function requireRights({ scope }: Pick<Content, "scope">, grant: Grant): void {
  const missing = (scope ?? (["admin"] as const)).filter((one) => !allows(grant, one));
  if (missing.length > 0)
    throw forbidden(beyond(grant, `the plan was made with more: it runs with ${missing.join(", ")}`));
}

/**
 * What runs from now on, and is waited for where the caller asks or the process ends with its answer. Then the answer has each host; of a plan
 * that has only begun, it has {@link LISTED} of them at most.
 */
async function goOn(plans: Plans, plan: Plan, wait: boolean, caller: Caller) {
  plans.runner.run(plan.seq);
  await plans.runner.wake();
  if (!wait && plans.goesOn()) return viewOf(plans, plan.seq, caller.grant, undefined, LISTED);
  await settled(plans, plan.seq, caller);
  // A job or a script reads no table: it fails as the plan does.
  if (caller.run) requireGood(summaryOf(plans, plans.ledger.plan(plan.seq)));
  return viewOf(plans, plan.seq, caller.grant);
}

/** Resolves when the plan is over or paused; says how it goes on meanwhile, and runs it where nobody does. @throws `cancelled` with the signal. */
async function settled(plans: Plans, seq: number, { signal, progress }: Caller) {
  const { runner, ledger } = plans;
  for (;;) {
    const now = ledger.plan(seq);
    progress?.(progressOf(summaryOf(plans, now)));
    if (now.ended !== null || now.state === "paused") return;
    // The process that ran it may have died.
    runner.run(seq);
    await Promise.race([runner.over(seq), sleep(POLL_MS, signal)]);
    if (!runner.has(seq)) await sleep(SHORT_MS, signal);
  }
}

/** @throws `conflict` for a plan that is paused, or of which a host is not ok: it says how many are in which state. */
export function requireGood({ id, state, reason, counts, total }: v.InferInput<typeof PLAN_SUMMARY>): void {
  if (state === "done" && counts.ok === total) return;
  const each = Object.entries(counts).flatMap(([one, hosts]) => (hosts ? [`${hosts} ${one}`] : []));
  throw conflict(`the plan ${id} is ${state}${reason === null ? "" : ` (${reason})`}: ${each.join(", ")}`);
}

/** How far a plan is, as its summary says. */
export function progressOf(item: v.InferInput<typeof PLAN_SUMMARY>): Progress {
  const { planned = 0, waiting = 0, sent = 0, running = 0 } = item.counts;
  const what = `hosts have ended (wave ${item.wave} of ${item.waves.length})`;
  return { what, done: item.total - planned - waiting - sent - running, total: item.total, item };
}

export const applyPlan = operation({
  name: "plan.apply",
  onHosts: true,
  summary: "Run a plan: exactly what its digest stands for",
  scope: "operate",
  changes: "announces",
  command: "AC_plan_apply",
  answeredBy: "server or here",
  serverInRuns: true,
  http: { method: "POST", path: "/plans/{id}/apply" },
  example: { ...EXAMPLE, digest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" },
  input: v.strictObject({
    id: ID,
    digest: field(
      v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)),
      "The digest of the plan, as it was shown",
    ),
    wait: WAIT,
  }),
  output: PLAN_VIEW,
  async run(service: ApplyUses, { id, digest, wait }, caller) {
    const { grant } = caller;
    const { plans, plan } = await permitted(service, id, caller);
    const sent = digest.trim().toLowerCase();
    const terms = { id: plan.id, digest: sent, hosts: plan.hosts, on: printable(plan.spec.on, 2_000) };
    const wanted = { what: "plan.apply", terms, words: `applying ${plan.id}` };
    const signed = await (await service.passkeys()).sign({ plan: plan.hosts }, wanted, caller);
    await caller.announce(
      `plan.apply id=${plan.id} digest=${printable(sent, 80)} hosts=${plan.hosts}${signed}`,
    );
    return goOn(plans, plans.apply(plan, sent, grant.name), wait, caller);
  },
});

export const resumePlan = operation({
  ...CHANGE,
  name: "plan.resume",
  answeredBy: "server or here",
  summary: "Go on with a plan that is paused; the failures so far do not count any more",
  command: "AC_plan_resume",
  http: { method: "POST", path: "/plans/{id}/resume" },
  input: v.strictObject({ ...ONE_PLAN, wait: WAIT }),
  output: PLAN_VIEW,
  async run(service: RunUses, { id, wait }, caller) {
    const { plans, plan } = await permitted(service, id, caller);
    const resume = () => plans.resume(plan, caller.grant);
    return goOn(plans, await decided(caller, `plan.resume id=${plan.id}`, resume), wait, caller);
  },
});

export const retryPlan = operation({
  ...CHANGE,
  name: "plan.retry",
  answeredBy: "server or here",
  summary: "Run a plan again on the hosts where it ended in one of these states",
  command: "AC_plan_retry",
  http: { method: "POST", path: "/plans/{id}/retry" },
  input: v.strictObject({
    ...ONE_PLAN,
    state: field(
      v.optional(v.array(v.picklist(RETRIABLE))),
      `The states to repeat (default: ${RETRIED.join(", ")}, but not where it had begun before it was cancelled); at hosts that are \`timeout\` or \`unknown\` it may have run, or was cut off in the middle`,
    ),
    wait: WAIT,
  }),
  output: PLAN_VIEW,
  async run(service: RunUses, { id, state, wait }, caller) {
    const { plans, plan } = await permitted(service, id, caller);
    const subject = `plan.retry id=${plan.id} state=${state?.join(",") || "default"}`;
    const retry = () => plans.retry(plan, state, caller.grant);
    return goOn(plans, await decided(caller, subject, retry), wait, caller);
  },
});
