/**
 * What hosts should have, from a file: how they differ from it, a plan that makes it so, and the states that were applied.
 */
import * as v from "valibot";
import type { Caller } from "../../../../core/caller";
import { between, field, flag, inForm, NO_INPUT, seconds, secret } from "../../../../core/fields";
import { operation } from "../../../../core/operation";
import { NAME_TEXT, requireOwnToken, shareOf } from "../../../../core/rights";
import { MAX_TIMEOUT_S } from "../../../../core/run";
import { badInput, Failure } from "../../../../lib/errors";
import { writeContent } from "../../../../wire/job/content";
import { APPLY_STATE, COMPARE } from "../../../../wire/state/messages";
import { type Wanted, wantedIn, writeWanted } from "../../../../wire/state/wanted";
import type { AddressBook } from "../../../fleet/address-book";
import type { CommandNeed, RefusalsOf } from "../../../fleet/rights";
import { LIMITS, specOf } from "../../operations/make";
import { identityOf } from "../../plan";
import type { Plans } from "../../plans";
import { HOST_COMPARED } from "../compared";
import type { DriftFound, DriftLooks } from "../drift";
import type { FleetState, FleetStates, PlanFate } from "../kept";

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "select" | "servers">>;
  executor(): Promise<{
    check(actions: unknown): Promise<unknown>;
    needsOf(commands: readonly string[], secrets: readonly string[]): CommandNeed[];
  }>;
}

interface PlanUses extends Uses {
  plans(): Promise<Plans>;
  fleetStates(): Promise<FleetStates>;
  refusals: RefusalsOf;
}

/** The states of a desk, what became of their plans, and what was found about drift. */
export interface ExistingStates {
  readonly states: FleetStates;
  readonly looks: DriftLooks;
  fateOf(): Promise<(plan: string) => PlanFate>;
}

interface ListUses {
  addressBook(): Promise<Pick<AddressBook, "hosts">>;
  /** Null where no state was ever applied. */
  existingStates(): Promise<ExistingStates | null>;
}

/** The state of a file, for the API document. */
const FORM = v.looseObject({
  name: v.string(),
  prune: v.optional(v.boolean()),
  scripts: v.optional(v.record(v.string(), v.looseObject({ actions: v.array(v.unknown()) }))),
  jobs: v.optional(v.record(v.string(), v.looseObject({}))),
  settings: v.optional(v.record(v.string(), v.array(v.string()))),
  secrets: v.optional(v.array(v.string())),
  black_box: v.optional(v.boolean()),
  version: v.optional(v.string()),
});

const STATE = {
  state: field(
    secret(inForm(FORM)),
    "What hosts should have: {name, prune, scripts, jobs, settings, secrets, black_box, version}",
  ),
  prune: flag("Remove what an earlier state of the name has put there, and this one does not have"),
};

/** The state as it was sent, checked. @throws `bad_input` that names the place. */
async function stateOf(
  service: Uses,
  { state, prune }: { readonly state: unknown; readonly prune: boolean },
): Promise<Wanted> {
  const wanted = wantedIn(state);
  const executor = await service.executor();
  for (const [name, { actions }] of Object.entries(wanted.scripts)) {
    try {
      await executor.check(actions);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "bad_input") throw error;
      throw badInput(`state: scripts.${name}: ${error.message}`);
    }
  }
  return prune ? { ...wanted, prune } : wanted;
}

export const diffFleet = operation({
  name: "fleet.diff",
  onHosts: true,
  summary: "Show how hosts differ from what a file says they should have; nothing is changed",
  scope: "operate",
  answeredBy: "server or here",
  leftOut: { script: "a person, or CI, looks at it" },
  http: { method: "POST", path: "/fleet/diff", repeatable: true },
  input: v.strictObject({
    ...STATE,
    on: LIMITS.on,
    timeout_s: field(v.optional(seconds(between(0.01, 300)), 10), "Time limit for each host, in seconds"),
  }),
  output: v.object({
    name: v.string(),
    /** Of the state, as `fleet.plan` sends it. */
    sha256: v.string(),
    hosts: v.array(HOST_COMPARED),
  }),
  async run(service: Uses, { on, timeout_s, ...given }, caller) {
    const wanted = await stateOf(service, given);
    const { state, sha256 } = writeWanted(wanted);
    const servers = (await service.addressBook()).servers(on);
    // Loaded on first use: the modules for dialling are large.
    const { compareHosts } = await import("../ask");
    const hosts = await compareHosts(servers, COMPARE, { state }, asking(caller, timeout_s, servers.length));
    return { name: wanted.name, sha256, hosts };
  },
});

/** How hosts are asked for a caller, who learns how far it is. */
function asking({ signal, grant, progress }: Caller, timeoutS: number, total: number) {
  let done = 0;
  const asked = (item: unknown) => void progress?.({ what: "hosts compared", done: ++done, total, item });
  return { timeoutMs: timeoutS * 1_000, signal, client: shareOf(grant), asked };
}

export const planFleet = operation({
  name: "fleet.plan",
  subcommand: "fleet apply",
  summary: "Make a plan that gives hosts what a file says they should have; `svc fleet apply` runs it too",
  scope: "admin",
  answeredBy: "owner",
  serverInRuns: true,
  changes: "announces",
  leftOut: { script: "what hosts should have is in a file that people look at" },
  http: { method: "POST", path: "/fleet/plan" },
  input: v.strictObject({
    ...STATE,
    ...LIMITS,
    delivery_timeout_s: field(
      v.optional(seconds(between(0.01, 3_600)), 10),
      "Time limit to deliver the state to a host, in seconds",
    ),
    timeout_s: field(
      v.optional(seconds(between(1, MAX_TIMEOUT_S)), 300),
      "Time limit to apply it on a host, in seconds",
    ),
  }),
  output: v.object({
    id: v.string(),
    /** Stands for all that the plan does: `plan.apply` takes it. */
    digest: v.string(),
    name: v.string(),
    sha256: v.string(),
    /** The labels of the hosts, in the order in which they begin. */
    hosts: v.array(v.string()),
    waves: v.array(v.number()),
    /** The hosts that will refuse it as they are now, and why. */
    refusing: v.array(v.object({ label: v.string(), why: v.string() })),
  }),
  async run(service: PlanUses, { state: given, prune, timeout_s, ...limits }, caller) {
    const { grant } = caller;
    requireOwnToken(grant, "a plan");
    const wanted = await stateOf(service, { state: given, prune });
    const { name } = wanted;
    const { state, sha256 } = writeWanted(wanted);
    const hosts = (await service.addressBook()).select(limits.on);
    const refusing = await service.refusals(hosts, await needsOf(service, wanted), caller);
    const { content, digest: contentDigest } = writeContent({
      actions: [[APPLY_STATE, { name, sha256, items: itemsOf(wanted), state }]],
      commands: [APPLY_STATE],
      ...{ stop_on_error: true, timeout_s, scope: null },
    });
    const spec = specOf(limits, [APPLY_STATE], hosts.length, timeout_s);
    const planned = hosts.map((host) => ({ label: host.label, identity: identityOf(host) }));
    await caller.announce(
      `fleet.plan name=${name} sha256:${sha256} on=${JSON.stringify(limits.on)} hosts=${hosts.length}`,
    );
    const { id, digest } = (await service.plans()).create(content, contentDigest, spec, planned, grant.name);
    const at = new Date().toISOString();
    await (await service.fleetStates()).plan(name, { sha256, on: limits.on, plan: id, at, by: grant.name });
    const labels = planned.map(({ label }) => label);
    return { id, digest, name, sha256, hosts: labels, waves: [...spec.waves], refusing };
  },
});

/** What the parts of a state need of a host: scripts and settings are for `admin` there, as by themselves. */
async function needsOf(service: Uses, { scripts, settings }: Wanted): Promise<CommandNeed[]> {
  const needs = (await service.executor()).needsOf([APPLY_STATE], []);
  const isForAdmin = Object.keys(scripts).length + Object.keys(settings).length > 0;
  return isForAdmin ? needs.map((need) => ({ ...need, scope: "admin" as const })) : needs;
}

/** What is in a state, for who reviews its plan. */
const itemsOf = ({ scripts, jobs, settings, secrets, black_box, version, prune }: Wanted): string[] => [
  ...Object.entries(scripts).map(([name, script]) => `script ${name} (${script.actions.length} actions)`),
  ...Object.keys(jobs).map((id) => `job ${id}`),
  ...Object.keys(settings).map((name) => `setting ${name}`),
  ...secrets.map((name) => `secret ${name}: expected`),
  ...(black_box === undefined ? [] : [`black box: expected ${black_box ? "on" : "off"}`]),
  ...(version === undefined ? [] : [`version ${version}: expected`]),
  ...(prune ? ["what an earlier state has put there besides is removed"] : []),
];

const LISTED = v.object({
  name: v.string(),
  /** Of the state that was applied last; null where none was. */
  sha256: v.nullable(v.string()),
  /** The selection of its hosts, and the plan that took it there. */
  on: v.string(),
  plan: v.string(),
  /** When that plan was made, ISO 8601, and by which token; null for the owner of the desk. */
  at: v.string(),
  by: v.nullable(v.string()),
  /** A plan for a newer one that is not applied yet; null for none. */
  planned: v.nullable(v.string()),
  /** When hosts were asked last, ISO 8601; null before the first time. */
  looked: v.nullable(v.string()),
  /** How many hosts are as they should be, differ, or gave no answer, when they were asked last. */
  same: v.number(),
  drift: v.number(),
  unknown: v.number(),
  /** The hosts that differ, with how many differences each has; the first 1,000. */
  drifted: v.array(v.object({ label: v.string(), differences: v.number() })),
});

/** The most hosts that differ which an answer lists. */
const MAX_DRIFTED = 1_000;

export const listFleet = operation({
  name: "fleet.list",
  summary: "List the states that were applied to hosts, and how many hosts differ from each",
  scope: "read",
  answeredBy: "server or here",
  leftOut: { script: "a script has no use for the list" },
  http: { method: "GET", path: "/fleet/states" },
  input: NO_INPUT,
  output: v.object({ states: v.array(LISTED) }),
  async run(service: ListUses) {
    const made = await service.existingStates();
    const found = made?.looks.found();
    // Who may act on some hosts alone sees no others.
    const labels = new Set((await service.addressBook()).hosts().map(({ label }) => label));
    const all: FleetState[] = [];
    if (made) {
      const [fateOf, { settled }] = await Promise.all([made.fateOf(), import("../kept")]);
      all.push(...made.states.list().map((one) => settled(one, fateOf)));
    }
    const states = all.flatMap(({ name, applied, planned }) => {
      const shown = applied ?? planned;
      if (!shown) return [];
      const { on, plan, at, by } = shown;
      return {
        ...{ name, sha256: applied?.sha256 ?? null, on, plan, at, by },
        planned: planned?.plan ?? null,
        ...countsOf(found?.get(name), labels),
      };
    });
    return { states };
  },
});

function countsOf(found: DriftFound | undefined, labels: ReadonlySet<string>) {
  const hosts = found?.hosts.filter(({ label }) => labels.has(label)) ?? [];
  const count = (...states: ReadonlyArray<DriftFound["hosts"][number]["state"]>) =>
    hosts.filter(({ state }) => states.includes(state)).length;
  const drifted = hosts.filter(({ state }) => state === "drift");
  return {
    looked: found?.at ?? null,
    ...{ same: count("same"), drift: count("drift"), unknown: count("refused", "unreachable") },
    drifted: drifted.slice(0, MAX_DRIFTED).map(({ label, differences }) => ({
      label,
      differences: differences.filter(({ drift }) => drift).length,
    })),
  };
}

export const forgetFleet = operation({
  name: "fleet.forget",
  summary: "Forget a state: hosts keep what they have, and are asked about it no more",
  scope: "admin",
  answeredBy: "owner",
  changes: true,
  leftOut: { script: "a person decides about it" },
  http: { method: "POST", path: "/fleet/forget" },
  input: v.strictObject({ name: field(NAME_TEXT, "The name of the state") }),
  output: v.object({ forgotten: v.string() }),
  async run(service: Pick<PlanUses, "fleetStates">, { name }) {
    await (await service.fleetStates()).forget(name);
    return { forgotten: name };
  },
});

export const operations = [diffFleet, planFleet, listFleet, forgetFleet];
