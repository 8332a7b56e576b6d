/**
 * What hosts should have, from a file: how they differ from it, and a plan that makes it so.
 */
import * as v from "valibot";
import type { Caller } from "../../../../core/caller";
import { between, field, flag, inForm, seconds, secret } from "../../../../core/fields";
import { operation } from "../../../../core/operation";
import {
  allows,
  beyond,
  type Grant,
  requireOwnToken,
  type Scope,
  secretScope,
  shareOf,
} from "../../../../core/rights";
import { MAX_TIMEOUT_S } from "../../../../core/run";
import { badInput, conflict, Failure, forbidden } from "../../../../lib/errors";
import { writeContent } from "../../../../wire/job/content";
import { APPLY_STATE, COMPARE } from "../../../../wire/state/messages";
import { type WantedState, wantedIn, writeWanted } from "../../../../wire/state/wanted";
import type { AddressBook } from "../../../fleet/address-book";
import type { CommandNeed, RefusalsOf } from "../../../fleet/rights";
import { LIMITS, specOf } from "../../operations/make";
import { identityOf } from "../../plan";
import type { Plans } from "../../plans";
import { HOST_COMPARED, type HostCompared, withinRoom } from "../compared";
import type { FleetStates } from "../kept";
import { placedOn } from "../placed";
import { type ExistingStates, forgetFleet, listFleet } from "./states";
import { heldBackLines } from "./upgrade-first";
import { behindNow } from "./with-version";

/** The largest answer of a host, in bytes. */
const MAX_BYTES = 2 * 1_048_576;

/** The most differences that an answer lists, in characters of JSON: each host has the same part of them. */
const MAX_LISTED = 16 * 1_048_576;

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "select" | "servers" | "matching" | "reach">>;
  executor(): Promise<{
    check(actions: unknown): Promise<unknown>;
    needsOf(commands: readonly string[], secrets: readonly string[]): CommandNeed[];
  }>;
}

interface DiffUses extends Uses {
  existingStates(): Promise<Pick<ExistingStates, "states"> | null>;
}

interface PlanUses extends Uses {
  plans(): Promise<Pick<Plans, "create" | "remove">>;
  fleetStates(): Promise<FleetStates>;
  refusals: RefusalsOf;
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
): Promise<WantedState> {
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
    /** Whether this desk looks for drift of each of these hosts from this very state: it does once a plan has applied it there. */
    watched: v.boolean(),
  }),
  async run(service: DiffUses, { on, timeout_s, ...given }, caller) {
    const wanted = await stateOf(service, given);
    requireToLearn(wanted, caller.grant);
    const { name } = wanted;
    const { state, sha256 } = writeWanted(wanted);
    const book = await service.addressBook();
    const servers = await book.servers(on);
    const states = (await (await service.existingStates())?.states.current()) ?? [];
    const placed = await placedOn(book, states.find((one) => one.name === name)?.applied ?? []);
    const expected = new Map(Array.from(placed, ([{ label }, sent]) => [label, sent.sha256]));
    const watched = servers.every(({ label }) => expected.get(label) === sha256);
    // Loaded on first use: the modules for dialling are large.
    const { compareHosts } = await import("../ask");
    const asked = servers.map((one) => ({ ...one, input: { state } }));
    const hosts = await compareHosts(asked, COMPARE, asking(caller, timeout_s, servers.length));
    return { name, sha256, hosts, watched };
  },
});

/**
 * Hosts answer the token of this desk, which may do more there than the caller here: whoever compares learns what is there, by guessing too.
 *
 * @throws `forbidden` for what the caller may not learn.
 */
function requireToLearn({ jobs, secrets }: WantedState, grant: Grant): void {
  const require = (scope: Scope, what: string) => {
    if (!allows(grant, scope)) throw forbidden(beyond(grant, `${what} needs ${scope}`));
  };
  require("read", "comparing hosts with a state");
  for (const name of secrets) require(secretScope(name), `asking whether hosts have the secret ${name}`);
  const job = Object.keys(jobs).find((id) => Object.keys(jobs[id]?.variables ?? {}).length > 0);
  if (job !== undefined) require("admin", `comparing variables, which may be secret, of the job ${job}`);
}

/** How hosts are asked for a caller, who learns how far it is. */
function asking({ signal, grant, progress }: Caller, timeoutS: number, total: number) {
  let done = 0;
  const keep = (answer: HostCompared) => {
    const item = withinRoom(answer, MAX_LISTED / total);
    void progress?.({ what: "hosts compared", done: ++done, total, item });
    return item;
  };
  return { timeoutMs: timeoutS * 1_000, maxBytes: MAX_BYTES, signal, client: shareOf(grant), keep };
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
    with_version: flag(
      "For the hosts alone that say now that they have the version of the state, or a newer one; the others are to have the state too, and differ from it until then",
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
    /** With `with_version`, the hosts that are not in the plan, and why. */
    held_back: v.exactOptional(v.array(v.object({ label: v.string(), why: v.string() }))),
  }),
  async run(service: PlanUses, { state: given, prune, timeout_s, with_version, ...limits }, caller) {
    const { grant } = caller;
    requireOwnToken(grant, "a plan");
    const wanted = await stateOf(service, { state: given, prune });
    const { name } = wanted;
    const { state, sha256 } = writeWanted(wanted);
    const book = await service.addressBook();
    const selected = await book.select(limits.on);
    const held_back = with_version
      ? await behindNow(book, selected, wanted, limits.delivery_timeout_s, caller)
      : [];
    const left = new Set(held_back.map(({ label }) => label));
    const hosts = selected.filter(({ label }) => !left.has(label));
    if (hosts.length === 0) throw conflict(`no plan was made: ${heldBackLines(held_back).join("; ")}`);
    const refusing = await service.refusals(hosts, await needsOf(service, wanted), caller);
    const { content, digest: contentDigest } = writeContent({
      actions: [[APPLY_STATE, { name, sha256, items: itemsOf(wanted), state }]],
      commands: [APPLY_STATE],
      stop_on_error: true,
      timeout_s,
      scope: null,
    });
    const spec = specOf(limits, [APPLY_STATE], hosts.length, timeout_s);
    const planned = hosts.map((host) => ({ label: host.label, identity: identityOf(host) }));
    await caller.announce(
      `fleet.plan name=${name} sha256:${sha256} on=${JSON.stringify(limits.on)} hosts=${hosts.length}`,
    );
    const labels = planned.map(({ label }) => label);
    const sent = { sha256, on: limits.on, at: new Date().toISOString(), by: grant.name };
    const plans = await service.plans();
    const { id, digest } = await (await service.fleetStates()).plan(name, sent, {
      create: () => plans.create(content, contentDigest, spec, planned, grant.name),
      remove: plans.remove,
    });
    const answer = { id, digest, name, sha256, hosts: labels, waves: [...spec.waves], refusing };
    return with_version ? { ...answer, held_back } : answer;
  },
});

/** What the parts of a state need of a host: scripts and settings are for `admin` there, as by themselves. */
async function needsOf(service: Uses, { scripts, settings }: WantedState): Promise<CommandNeed[]> {
  const needs = (await service.executor()).needsOf([APPLY_STATE], []);
  const isForAdmin = Object.keys(scripts).length + Object.keys(settings).length > 0;
  return isForAdmin ? needs.map((need) => ({ ...need, scope: "admin" as const })) : needs;
}

/** What is in a state, for who reviews its plan. */
const itemsOf = ({ scripts, jobs, settings, secrets, black_box, version, prune }: WantedState): string[] => [
  ...Object.entries(scripts).map(([name, script]) => `script ${name} (${script.actions.length} actions)`),
  ...Object.keys(jobs).map((id) => `job ${id}`),
  ...Object.keys(settings).map((name) => `setting ${name}`),
  ...secrets.map((name) => `secret ${name}: expected`),
  ...(black_box === undefined ? [] : [`black box ${black_box ? "on" : "off"}`]),
  ...(version === undefined ? [] : [`version ${version}: expected`]),
  ...(prune ? ["what an earlier state has put there besides is removed"] : []),
];

export const operations = [diffFleet, planFleet, listFleet, forgetFleet];
