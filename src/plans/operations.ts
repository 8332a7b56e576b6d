/**
 * Plans: decided first, shown with all that they will do, and applied by their digest.
 */
import { isAbsolute } from "node:path";
import * as v from "valibot";
import type { Caller } from "../core/caller";
import { between, field, flag, path, REMOTE_LIST, seconds, whole } from "../core/fields";
import { operation } from "../core/operation";
import { allows, beyond, type Grant, requireOwnToken, SCOPES } from "../core/rights";
import { MAX_TIMEOUT_S, STOP_ON_ERROR } from "../core/run";
import type { AddressBook } from "../fleet/address-book";
import { sleep } from "../lib/deadline";
import { badInput, forbidden } from "../lib/errors";
import { printable } from "../lib/sanitize";
import { type Content, readContent, type Travelling, writeContent } from "./job/content";
import type { Plan } from "./ledger";
import type { OtherPlan, OtherPlans } from "./others";
import {
  countOf,
  MAX_EXPIRES_S,
  PLAN_STATES,
  RETRIABLE,
  RETRIED,
  SHARE,
  type Spec,
  TARGET_STATES,
  wavesOf,
} from "./plan";
import { identityOf, noPlan, type Plans } from "./plans";
import { PLAN_REVIEW, PLAN_SUMMARY, PLAN_VIEW, reviewOf, summaryOf, viewOf } from "./view";

interface Uses {
  plans(): Promise<Plans>;
}

interface LookUses {
  /** Null where no plan was ever made. */
  existingPlans(): Promise<Plans | null>;
  /** Those of other desks. */
  otherPlans(): Promise<Pick<OtherPlans, "list" | "find">>;
}

interface NewUses extends Uses {
  addressBook(): Promise<Pick<AddressBook, "select">>;
  executor(): Promise<{
    /**
     * @param from the path of the list: the files that it refers to from there travel with it.
     * @throws a `bad_input` failure that lists everything wrong with the actions.
     */
    checkTravelling(actions: unknown, from: string): Promise<CheckedList>;
    /** @throws a `forbidden` failure when the caller may not use all of the commands. */
    permit(commands: readonly string[], grant: Grant, who?: string): void;
  }>;
}

interface ShowUses extends LookUses {
  /** `shown`: a list as it was written, without its secrets. @throws where it is wrong. */
  executor(): Promise<{ shown(list: unknown): unknown[] }>;
}

export interface ApplyUses extends Uses, Pick<NewUses, "executor"> {}

interface CheckedList {
  /** Of the list, and of the scripts that travel with it. */
  readonly commands: readonly string[];
  readonly described: string;
  readonly travelling: Travelling | undefined;
}

const SHARE_TEXT = v.pipe(v.string(), v.regex(SHARE, "a number, or a share such as 10%"));
/** A number of hosts, or a share of them. */
export const A_SHARE = v.union([whole(0, 100_000), SHARE_TEXT]);

const timeout = (most: number) => seconds(between(0.01, most));

const ID = field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(64)), "The plan: its id, or how the id begins");
const ONE_PLAN = { id: ID };
const example = { id: "7d3f0c52" };

/** Which hosts a plan is for, and within which limits. */
export const LIMITS = {
  on: field(
    v.pipe(v.string(), v.nonEmpty(), v.maxLength(300_000)),
    "Hosts: labels, tag:TAG or all, separated by commas; ! excludes",
  ),
  waves: field(
    v.optional(v.pipe(v.array(A_SHARE), v.maxLength(100)), ["100%"]),
    "How many hosts have begun with each wave: numbers, or shares such as 10%; the last wave ends with all",
  ),
  pause_s: field(v.optional(seconds(between(0, MAX_EXPIRES_S)), 0), "Pause between two waves"),
  max_failures: field(
    v.optional(A_SHARE, "100%"),
    "Pause the plan after more failures than this: a number, or a share such as 1%",
  ),
  queue: flag("Keep the work of hosts that are not there until they are, or the plan expires"),
  expires_s: field(
    v.optional(seconds(between(1, MAX_EXPIRES_S)), 86_400),
    "How long after it is applied anything of it may begin",
  ),
  max_parallel: field(
    v.optional(A_SHARE),
    "Hosts that run at once: a number, or a share such as 25% (default: as many as this desk can)",
  ),
};

export const newPlan = operation({
  name: "plan.new",
  summary: "Make a plan: a list of actions for hosts of the address book, which runs when it is applied",
  scope: "operate",
  changes: "announces",
  command: "AC_plan_new",
  http: { method: "POST", path: "/plans/new" },
  example: { actions: [["AC_screen_size"]], on: "tag:lab", waves: ["1", "10%", "100%"], queue: true },
  input: v.strictObject({
    actions: field(REMOTE_LIST, "Action list, as for POST /execute"),
    ...LIMITS,
    stop_on_error: field(
      STOP_ON_ERROR,
      "On each host, stop at the first action that fails; `focus`: that fails to find or focus a window",
    ),
    delivery_timeout_s: field(
      v.optional(timeout(3_600), 10),
      "Time limit to deliver the list to a host, in seconds",
    ),
    timeout_s: field(v.optional(timeout(MAX_TIMEOUT_S), 300), "Time limit for the run on a host, in seconds"),
    path: field(
      v.optional(path(v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096)))),
      "Path of the list on this desk: scripts and pictures that it refers to from there travel with the plan (needs `admin`; in a script default: its own path)",
    ),
  }),
  output: v.object({
    id: v.string(),
    /** Stands for all that the plan does: `plan.apply` takes it. */
    digest: v.string(),
    /** The labels of the hosts, in the order in which they begin. */
    hosts: v.array(v.string()),
    waves: v.array(v.number()),
    commands: v.array(v.string()),
  }),
  async run(service: NewUses, input, caller) {
    const { grant } = caller;
    requireOwnToken(grant, "a plan");
    const { actions, on, stop_on_error, timeout_s } = input;
    const hosts = (await service.addressBook()).select(on);
    const executor = await service.executor();
    const from = pathOf(input.path, caller);
    const { commands, described, travelling } = await executor.checkTravelling(actions, from);
    executor.permit(commands, grant);
    const total = hosts.length;
    const spec = specOf(input, commands, total, timeout_s);
    // The token of a host may allow more than that of the caller.
    const scope = allows(grant, "admin") ? null : SCOPES.filter((one) => allows(grant, one));
    const { content, digest: content_digest } = writeContent({
      actions,
      commands: spec.commands,
      stop_on_error,
      timeout_s,
      scope,
      travelling,
    });
    const files = travelling ? `files=${travelling.files.size} ` : "";
    await caller.announce(`plan.new on=${JSON.stringify(on)} hosts=${total} ${files}${described}`);
    const planned = hosts.map((host) => ({ label: host.label, identity: identityOf(host) }));
    const { id, digest } = (await service.plans()).create(content, content_digest, spec, planned, grant.name);
    const labels = planned.map(({ label }) => label);
    return { id, digest, hosts: labels, waves: [...spec.waves], commands: [...spec.commands] };
  },
});

/** What {@link LIMITS} and a time limit to deliver are, checked. */
type Limits = v.InferOutput<v.StrictObjectSchema<typeof LIMITS, undefined>> & {
  readonly delivery_timeout_s: number;
};

/**
 * The spec of a plan for `total` hosts.
 *
 * @throws `bad_input` for waves that do not grow.
 */
export function specOf(
  { on, waves, max_failures, max_parallel, pause_s, queue, expires_s, delivery_timeout_s }: Limits,
  commands: readonly string[],
  total: number,
  timeout_s: number,
): Spec {
  return {
    kind: "plan",
    ...{ on, commands: [...new Set(commands)], waves: wavesOf(waves.map(String), total), pause_s },
    max_failures: countOf(max_failures, total),
    ...{ queue, expires_s },
    max_parallel: max_parallel === undefined ? null : Math.max(1, countOf(max_parallel, total)),
    ...{ delivery_timeout_s, timeout_s },
  };
}

/** Where the list is; empty where it is in no file. @throws `forbidden` for a caller that may not name files of this desk. */
function pathOf(given: string | undefined, { grant, run }: Caller): string {
  const mayName = allows(grant, "admin");
  if (given === undefined) return run && mayName && isAbsolute(run.script) ? run.script : "";
  if (!mayName) throw forbidden(beyond(grant, "path, a file on this desk, needs admin"));
  if (!isAbsolute(given)) throw badInput("path: expected an absolute path");
  return given;
}

/** The summary of a plan of another desk. */
const summaryIn = (plan: OtherPlan) => v.parse(PLAN_SUMMARY, plan);

const WAIT = flag("Answer when the plan is over or paused, not when it has begun");

/** What runs from now on, and is waited for where the caller asks or the process ends with its answer. */
async function goOn(plans: Plans, plan: Plan, wait: boolean, { grant, signal, progress }: Caller) {
  plans.runner.run(plan.seq);
  await plans.runner.wake();
  if (wait || !plans.goesOn()) {
    for (;;) {
      const now = plans.ledger.plan(plan.seq);
      progress?.({ ...progressOf(plans, now), item: summaryOf(plans, now) });
      if (now.ended !== null || now.state === "paused") break;
      // The process that ran it may have died.
      plans.runner.run(plan.seq);
      await Promise.race([plans.runner.over(plan.seq), sleep(POLL_MS, signal)]);
      if (!plans.runner.has(plan.seq)) await sleep(SHORT_MS, signal);
    }
  }
  return viewOf(plans, plan.seq, grant);
}

/** How often who waits looks, in milliseconds. */
const POLL_MS = 500;
const SHORT_MS = 20;

function progressOf({ ledger }: Plans, { seq, hosts, wave, spec }: Plan) {
  const { planned = 0, waiting = 0, sent = 0, running = 0 } = ledger.counts(seq);
  const what = `hosts have ended (wave ${Math.min(wave + 1, spec.waves.length)} of ${spec.waves.length})`;
  return { what, done: hosts - planned - waiting - sent - running, total: hosts };
}

/** A plan that the caller may have run. @throws `forbidden`, `not_found`. */
export async function permitted(service: ApplyUses, id: string, { grant }: Caller) {
  requireOwnToken(grant, "a plan");
  const plans = await service.plans();
  const plan = plans.find(id, grant);
  (await service.executor()).permit(plan.spec.commands, grant);
  if (plan.spec.kind === "plan") requireRights(readContent(plans.ledger.content(plan.seq)), grant);
  return { plans, plan };
}

/** Whoever has a plan run may do all that it may. @throws `forbidden`: its token allowed more when it made the plan. */
function requireRights({ scope }: Pick<Content, "scope">, grant: Grant): void {
  const missing = (scope ?? (["admin"] as const)).filter((one) => !allows(grant, one));
  if (missing.length > 0)
    throw forbidden(beyond(grant, `the plan was made with more: it runs with ${missing.join(", ")}`));
}

export const applyPlan = operation({
  name: "plan.apply",
  summary: "Run a plan: exactly what its digest stands for",
  scope: "operate",
  changes: "announces",
  command: "AC_plan_apply",
  answeredBy: "server or here",
  http: { method: "POST", path: "/plans/{id}/apply" },
  example: { ...example, digest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" },
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
    await caller.announce(`plan.apply id=${plan.id} digest=${printable(sent, 80)} hosts=${plan.hosts}`);
    return goOn(plans, plans.apply(plan, sent, grant.name), wait, caller);
  },
});

export const adoptPlan = operation({
  name: "plan.adopt",
  summary: "Take over a plan of another desk that is gone, from a copy of its ledger",
  scope: "admin",
  changes: "announces",
  leftOut: {
    http: "the ledger is a file on the machine of the desk",
    script: "that the other desk is gone is decided by a person",
  },
  input: v.strictObject({
    id: ID,
    ledger: field(
      path(v.pipe(v.string(), v.maxLength(4_096))),
      "plans.db of the other desk, or a backup of it",
    ),
    force: flag("Also where the other desk was heard within the last minute"),
  }),
  output: PLAN_VIEW,
  async run(service: Uses, { id, ledger, force }, caller) {
    const plans = await service.plans();
    await caller.announce(
      `plan.adopt id=${printable(id, 64)} ledger=${printable(JSON.stringify(ledger), 300)}`,
    );
    const { seq } = await plans.adopt(ledger, id, caller.grant, force);
    return viewOf(plans, seq, caller.grant);
  },
});

export const listPlans = operation({
  name: "plan.list",
  summary: "List the plans: those of this desk, and what other desks of the same hosts say of theirs",
  scope: "operate",
  command: "AC_plan_list",
  http: { method: "GET", path: "/plans" },
  input: v.strictObject({
    state: field(v.optional(v.array(v.picklist(PLAN_STATES))), "List the plans in these states alone"),
    limit: field(v.optional(whole(1, 10_000)), "List at most so many plans (default: all)"),
  }),
  output: v.object({ plans: v.array(PLAN_SUMMARY) }),
  async run(service: LookUses, { state: states, limit }, { grant }) {
    const plans = await service.existingPlans();
    const isAsked = ({ state }: Pick<Plan, "state">) => states?.includes(state) ?? true;
    const all = plans?.list(grant) ?? [];
    const own = plans
      ? all
          .filter(isAsked)
          .slice(0, limit)
          .map((plan) => summaryOf(plans, plan))
      : [];
    // One that was taken over is of this desk.
    const known = new Set(all.map(({ id }) => id));
    const others = (await service.otherPlans()).list(grant).filter(({ id }) => !known.has(id));
    return { plans: [...own, ...others.filter(isAsked).map(summaryIn)].slice(0, limit) };
  },
});

export const showPlan = operation({
  name: "plan.show",
  summary: "Show a plan: what its digest stands for, and what became of it at each host",
  scope: "operate",
  command: "AC_plan_show",
  http: { method: "GET", path: "/plans/{id}" },
  example,
  input: v.strictObject({
    id: ID,
    only: field(
      v.optional(v.array(v.picklist([...TARGET_STATES, "none"]))),
      "List the hosts in these states alone (`none`: no hosts)",
    ),
    limit: field(v.optional(whole(1, 100_000)), "List at most so many hosts (default: all)"),
  }),
  output: PLAN_REVIEW,
  async run(service: ShowUses, { id, only, limit }, { grant }) {
    const plans = await service.existingPlans();
    const states = only?.filter((state) => state !== "none");
    const plan = plans?.here(id, grant);
    if (!plans || !plan) {
      const other = (await service.otherPlans()).find(id, grant);
      if (other) return { ...other, actions: null, stop_on_error: null, scope: null, files: [] };
      throw noPlan(id);
    }
    const { seq } = plan;
    const executor = await service.executor();
    const review = reviewOf(plans.ledger.content(seq), (list) => executor.shown(list));
    return { ...viewOf(plans, seq, grant, states, limit), ...review };
  },
});

/** What the operations share that change a plan. */
const CHANGE = {
  scope: "operate",
  changes: true,
  answeredBy: "server or here",
  example,
  output: PLAN_SUMMARY,
} as const;

export const pausePlan = operation({
  ...CHANGE,
  name: "plan.pause",
  summary: "Begin at no further host of a plan until it is resumed",
  command: "AC_plan_pause",
  http: { method: "POST", path: "/plans/{id}/pause" },
  input: v.strictObject(ONE_PLAN),
  async run(service: Uses, { id }, { grant }) {
    const plans = await service.plans();
    const reason = `by ${grant.name ?? "the owner"}`;
    const plan = plans.pause(plans.find(id, grant), reason);
    await plans.runner.wake();
    return summaryOf(plans, plan);
  },
});

export const cancelPlan = operation({
  ...CHANGE,
  name: "plan.cancel",
  summary: "Cancel a plan: nothing more begins, and hosts are asked to end what runs",
  command: "AC_plan_cancel",
  http: { method: "POST", path: "/plans/{id}/cancel" },
  input: v.strictObject(ONE_PLAN),
  async run(service: Uses, { id }, { grant }) {
    const plans = await service.plans();
    const { seq } = plans.find(id, grant);
    plans.ledger.cancel(seq, `by ${grant.name ?? "the owner"}`, Date.now());
    await plans.runner.wake();
    return summaryOf(plans, plans.ledger.plan(seq));
  },
});

export const resumePlan = operation({
  ...CHANGE,
  name: "plan.resume",
  summary: "Go on with a plan that is paused; the failures so far do not count any more",
  command: "AC_plan_resume",
  http: { method: "POST", path: "/plans/{id}/resume" },
  input: v.strictObject({ ...ONE_PLAN, wait: WAIT }),
  output: PLAN_VIEW,
  async run(service: ApplyUses, { id, wait }, caller) {
    const { plans, plan } = await permitted(service, id, caller);
    return goOn(plans, await plans.resume(plan, caller.grant), wait, caller);
  },
});

export const retryPlan = operation({
  ...CHANGE,
  name: "plan.retry",
  summary: "Run a plan again on the hosts where it ended in one of these states",
  command: "AC_plan_retry",
  http: { method: "POST", path: "/plans/{id}/retry" },
  input: v.strictObject({
    ...ONE_PLAN,
    state: field(
      v.optional(v.array(v.picklist(RETRIABLE))),
      `The states to repeat (default: ${RETRIED.join(", ")}, but not where it had begun before it was cancelled, or was interrupted); at hosts that are \`timeout\` or \`unknown\` it may have run`,
    ),
    wait: WAIT,
  }),
  output: PLAN_VIEW,
  async run(service: ApplyUses, { id, state, wait }, caller) {
    const { plans, plan } = await permitted(service, id, caller);
    return goOn(plans, await plans.retry(plan, state, caller.grant), wait, caller);
  },
});

export const removePlan = operation({
  ...CHANGE,
  name: "plan.remove",
  summary: "Forget a plan that is over, or was never applied; its runs stay in the history of their hosts",
  command: "AC_plan_remove",
  http: { method: "POST", path: "/plans/{id}/remove" },
  input: v.strictObject(ONE_PLAN),
  output: v.object({ removed: v.string() }),
  async run(service: Uses, { id }, { grant }) {
    const plans = await service.plans();
    const plan = plans.find(id, grant);
    plans.remove(plan);
    return { removed: plan.id };
  },
});

/** Those that have a plan run; each is for {@link permitted} callers alone. */
export const RUNNING: readonly string[] = [applyPlan.name, resumePlan.name, retryPlan.name];

export const operations = [
  newPlan,
  applyPlan,
  listPlans,
  showPlan,
  pausePlan,
  resumePlan,
  cancelPlan,
  retryPlan,
  removePlan,
  adoptPlan,
];
