/**
 * Plans: decided first, shown with all that they will do, and applied by their digest. This makes them; `operations/` has what is done
 * with one.
 */
import { isAbsolute } from "node:path";
import * as v from "valibot";
import { type Caller, requesterOf } from "../../../core/caller";
import { ON_DESKTOP } from "../../../core/desktop-request";
import { between, field, flag, path, REMOTE_LIST, seconds, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { beyond, isAdminHere, limitsOf, requireOwnToken } from "../../../core/rights";
import { badInput, forbidden } from "../../../lib/errors";
import type { Requester } from "../../../lib/slots";
import { type TravellingFiles, writeContent } from "../../../wire/job/content";
import { RUN_ON_HOST } from "../../../wire/job/delivery";
import { unknownLabels, VARIABLES_FOR_HOSTS, variablesFor } from "../../../wire/job/variables";
import type { AddressBook } from "../../fleet/address-book";
import type { CommandNeed, RefusalsOf } from "../../fleet/rights";
import { writePlanContents } from "../host-contents";
import { countOf, identityOf, MAX_EXPIRES_S, SHARE, type Spec, wavesOf } from "../plan";
import { adoptPlan, cancelPlan, pausePlan, removePlan } from "./change";
import { listPlans, showPlan } from "./look";
import type { Permits, Uses } from "./one-plan";
import { planProof } from "./proof";
import { applyPlan, resumePlan, retryPlan } from "./run";

interface NewUses extends Uses {
  addressBook(): Promise<Pick<AddressBook, "hosts" | "select">>;
  /** The hosts that will refuse one of these commands as they are now. */
  refusals: RefusalsOf;
  executor(): Promise<NewExecutor>;
}

interface NewExecutor extends Permits {
  /** What these commands and secrets need of the host on which they run. */
  needsOf(commands: readonly string[], secrets: readonly string[]): CommandNeed[];
  /**
   * @param from the path of the list: the files that it refers to from there travel with it.
   * @throws a `bad_input` failure that lists everything wrong with the actions.
   */
  checkTravelling(actions: unknown, from: string, requester: Requester): Promise<CheckedList>;
}

interface CheckedList {
  /** Of the list, and of the scripts that travel with it. */
  readonly commands: readonly string[];
  /** The names of the secrets that each host has. */
  readonly secrets: readonly string[];
  readonly described: string;
  readonly travelling: TravellingFiles | undefined;
}

const SHARE_TEXT = v.pipe(v.string(), v.regex(SHARE, "a number, or a share such as 10%"));
/** A number of hosts, or a share of them. */
export const A_SHARE = v.union([whole(0, 100_000), SHARE_TEXT]);

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
    v.optional(A_SHARE),
    "Pause the plan after more failures than this: a number, or a share such as 1% (default: 0 in a wave smaller than the hosts after it, else no limit)",
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
  onHosts: true,
  summary: "Make a plan: a list of actions for hosts of the address book, which runs when it is applied",
  answeredBy: "owner",
  serverInRuns: true,
  scope: "operate",
  changes: "announces",
  command: "AC_plan_new",
  http: { method: "POST", path: "/plans/new" },
  example: { actions: [["AC_screen_size"]], on: "tag:lab", waves: ["1", "10%", "100%"], queue: true },
  input: v.strictObject({
    actions: field(REMOTE_LIST, "Action list, as for POST /execute"),
    ...LIMITS,
    ...RUN_ON_HOST,
    path: field(
      v.optional(path(v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096)))),
      "Path of the list on this desk: scripts and pictures that it refers to from there travel with the plan (needs `admin`; in a script default: its own path)",
    ),
    ...VARIABLES_FOR_HOSTS,
    desktop: ON_DESKTOP,
  }),
  output: v.object({
    id: v.string(),
    /** Stands for all that the plan does: `plan.apply` takes it. */
    digest: v.string(),
    /** The labels of the hosts, in the order in which they begin. */
    hosts: v.array(v.string()),
    waves: v.array(v.number()),
    commands: v.array(v.string()),
    /** The hosts that will refuse it as they are now, and why. */
    refusing: v.array(v.object({ label: v.string(), why: v.string() })),
  }),
  async run(service: NewUses, input, caller) {
    const { grant } = caller;
    requireOwnToken(grant, "a plan");
    const { actions, on, stop_on_error, desktop, timeout_s } = input;
    const book = await service.addressBook();
    const hosts = await book.select(on);
    const before = variablesFor(labelsOf(hosts), input);
    const executor = await service.executor();
    const from = pathOf(input.path, caller);
    const checked = await executor.checkTravelling(actions, from, requesterOf(caller));
    const { described, travelling } = checked;
    const isSet = before.common.length + before.names.length > 0;
    const commands = isSet ? [...checked.commands, "AC_set_var"] : checked.commands;
    executor.permit(commands, grant, checked.secrets);
    await executor.permitElsewhere(actions, grant);
    const total = hosts.length;
    const refusing = await service.refusals(hosts, executor.needsOf(commands, checked.secrets), caller);
    const spec = specOf(input, commands, total, timeout_s);
    // The token of a host may allow more than that of the caller.
    const scope = limitsOf(grant, checked.secrets.length > 0);
    const common = writeContent({
      actions: [...before.common, ...actions],
      commands: spec.commands,
      stop_on_error,
      desktop,
      timeout_s,
      scope,
      travelling,
    });
    const { content, digest: content_digest } = before.own
      ? await writePlanContents(common.content, before.own, before.names)
      : common;
    const unknown = unknownLabels(input, labelsOf(book.hosts()));
    if (unknown) caller.warn?.(unknown);
    const files = travelling ? `files=${travelling.files.size} ` : "";
    await caller.announce(`plan.new on=${JSON.stringify(on)} hosts=${total} ${files}${described}`);
    const planned = hosts.map((host) => ({ label: host.label, identity: identityOf(host) }));
    const plans = await service.plans();
    const { id, digest } = await plans.create(content, content_digest, spec, planned, grant.name);
    const labels = planned.map(({ label }) => label);
    return { id, digest, hosts: labels, waves: [...spec.waves], commands: [...spec.commands], refusing };
  },
});

const labelsOf = (hosts: ReadonlyArray<{ readonly label: string }>) => hosts.map(({ label }) => label);

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
  const ends = wavesOf(waves.map(String), total);
  return {
    kind: "plan",
    on,
    commands: [...new Set(commands)],
    waves: ends,
    pause_s,
    max_failures: countOf(max_failures ?? "100%", total),
    ...(max_failures === undefined && ends.length > 1 && { strict_waves: true }),
    queue,
    expires_s,
    max_parallel: max_parallel === undefined ? null : Math.max(1, countOf(max_parallel, total)),
    delivery_timeout_s,
    timeout_s,
  };
}

/** The path of a list that an action makes a plan of, where it has none: that of its script, for a caller that may name files of this desk. */
export const pathInRun = ({ grant, run }: Pick<Caller, "grant" | "run">): string | undefined =>
  run && isAdminHere(grant) && isAbsolute(run.script) ? run.script : undefined;

/** Where the list is; empty where it is in no file. @throws `forbidden` for a caller that may not name files of this desk. */
function pathOf(given: string | undefined, caller: Caller): string {
  const { grant } = caller;
  if (given === undefined) return pathInRun(caller) ?? "";
  if (!isAdminHere(grant)) throw forbidden(beyond(grant, "path, a file on this desk, needs admin"));
  if (!isAbsolute(given)) throw badInput("path: expected an absolute path");
  return given;
}

export const operations = [
  newPlan,
  applyPlan,
  listPlans,
  showPlan,
  planProof,
  pausePlan,
  resumePlan,
  cancelPlan,
  retryPlan,
  removePlan,
  adoptPlan,
];
