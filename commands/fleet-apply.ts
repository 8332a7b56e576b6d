/**
 * `svc fleet apply`: gives hosts what a file says they should have. Where the file says where the release of its version is, hosts with an earlier
 * one are upgraded first, by a plan of its own; the others get the rest by a second plan, once the first is over.
 */
import type * as v from "valibot";
import { print } from "../src/cli/subcommand";
import { answerHere, type Context, view } from "../src/cli/view";
import { flag } from "../src/core/fields";
import { refusalLines } from "../src/desk/fleet/operations/refusals";
import { showPlan } from "../src/desk/plans/operations/look";
import { applyPlan } from "../src/desk/plans/operations/run";
import { applyText, hostsText } from "../src/desk/plans/operations/text";
import type { FleetFile } from "../src/desk/plans/state/operations/file";
import { diffFleet, planFleet } from "../src/desk/plans/state/operations/fleet";
import { diffCode, diffText, isApplied } from "../src/desk/plans/state/operations/text";
import {
  type HeldBack,
  heldBack,
  heldBackLines,
  stillBehind,
  withReasons,
  withRelease,
} from "../src/desk/plans/state/operations/upgrade-first";
import { upgradeHosts } from "../src/desk/plans/upgrade/operations";
import { badInput } from "../src/lib/errors";
import { untilTerminated } from "../src/lib/signals";
import { FILE, fileAt } from "./fleet-file";
import { begin } from "./plan";

const EXTRA = {
  ...FILE,
  public_key: upgradeHosts.input.entries.public_key,
  dry_run: flag("Show how hosts differ, and change nothing"),
  plan_only: flag("Make the plan, and print the command that applies it"),
};

type Apply = Context<typeof planFleet.input, typeof planFleet.output, typeof EXTRA>;
type Diff = v.InferOutput<typeof diffFleet.output>;
type Upgrade = v.InferOutput<typeof upgradeHosts.output>;

/** How far it is before the rest. */
interface Before {
  readonly diff: Diff;
  /** What the upgrade has found; absent where none was due. */
  readonly upgrade?: Upgrade;
  /** Aborted once this process is asked to end; absent where that ends it at once. */
  readonly signal?: AbortSignal;
  /** Whether the differences were shown. */
  readonly isShown?: boolean;
}

/** Why a plan is made that changes nothing. */
const UNWATCHED =
  "There is nothing to change: with a plan, this desk notes what these hosts should have, and asks them.";

/** `svc fleet apply`. */
export const applyVerb = view(planFleet, {
  on: false,
  describe: "Give hosts what a file says they should have, as a plan",
  hidden: ["state", "with_version"],
  positionals: ["file"],
  extra: EXTRA,
  async run(context) {
    const { service, globals, extra } = context;
    const file = await fileAt(service, extra.file);
    await requireRelease(context, file);
    const diff = await compared(context, file);
    const behind = behindIn(file, diff);
    if (extra.dry_run) return shown(context, file, diff, behind);
    if (behind.length === 0) return applied(context, file, { diff });
    if (!globals.json) print(globals, diff, () => `${diffText(diff, false)}\n`);
    const upgrade = await upgradeOf(context, file, false);
    if (upgrade.id === null) {
      // One that could not be asked a moment ago may have the version.
      const isStale = stillBehind(behind, upgrade).length < behind.length;
      const now = isStale ? await compared(context, file) : diff;
      return applied(context, file, { diff: now, upgrade, isShown: !isStale });
    }
    if (extra.plan_only) return planned(context, upgrade, behind);
    return upgraded(context, file, upgrade, upgrade.id);
  },
  epilogue:
    "Hosts change only what differs, each at most once, and say so in their audit logs. Secrets are checked, not set. With `release` in the file, hosts with an earlier version are upgraded first; one that is not gets nothing else. Ctrl-C stops waiting; a server that runs here goes on with the plan.",
  examples: [
    ["$0 fleet apply lab.yaml --on tag:lab", "Show how they differ, then make it so"],
    ["$0 fleet apply lab.yaml --on tag:lab --dry-run", "Change nothing"],
    [
      "$0 fleet apply lab.yaml --on tag:lab --prune --waves 1,10%,100%",
      "One host first; remove what the file no longer has",
    ],
  ],
});

/** The hosts that get nothing but the upgrade, where the file says where the release is. */
const behindIn = ({ release }: FleetFile, { hosts }: Diff): HeldBack[] =>
  release.length > 0 ? heldBack(hosts) : [];

/** @throws `bad_input` for a release of another version than the file says, and beside `--desk`; a failure for one that is not signed. */
async function requireRelease(
  { service, extra: { public_key } }: Apply,
  { release, wanted: { version } }: FleetFile,
): Promise<void> {
  if (release.length === 0) return;
  if (service.elsewhere)
    throw badInput(
      "release: hosts are upgraded on the machine of the desk: leave --desk out, or take release out of the file",
    );
  const { files } = await (await service.releases()).offered(release, public_key);
  const found = files[0]?.version;
  if (found !== version)
    throw badInput(`release: expected svc ${version}, as version says, but found ${found}`);
}

async function compared(
  { service, input }: Apply,
  { wanted, release }: FleetFile,
  signal?: AbortSignal,
): Promise<Diff> {
  const { on, prune = false, delivery_timeout_s: timeout_s } = input;
  const asked = {
    state: wanted,
    on,
    prune,
    ...(timeout_s !== undefined && { timeout_s: Math.min(timeout_s, 300) }),
  };
  const diff = await answerHere(service, diffFleet, asked, { ...(signal && { signal }) });
  return release.length > 0 ? { ...diff, hosts: diff.hosts.map(withRelease) } : diff;
}

/**
 * Makes the plan that upgrades hosts, or says which it would be for. A host that is off is not waited for: the rest of the hosts would be too.
 *
 * @throws `conflict` where another plan that is not over upgrades one of them; `bad_input` where the release was replaced by one of another version.
 */
function upgradeOf(
  { service, input, extra: { public_key } }: Apply,
  { release, wanted: { version } }: FleetFile,
  dry_run: boolean,
): Promise<Upgrade> {
  const { on, waves, pause_s, max_failures, expires_s, max_parallel, delivery_timeout_s } = input;
  const limits = { on, waves, pause_s, max_failures, expires_s, max_parallel, delivery_timeout_s };
  return answerHere(service, upgradeHosts, {
    ...limits,
    files: [...release],
    public_key,
    expect_version: version,
    alone: true,
    skip: true,
    dry_run,
  });
}

/** What would be done. */
async function shown(
  context: Apply,
  file: FleetFile,
  diff: Diff,
  behind: readonly HeldBack[],
): Promise<number> {
  const { globals } = context;
  const upgrade = behind.length > 0 ? await upgradeOf(context, file, true) : null;
  const data = file.release.length > 0 ? { ...diff, upgrade } : diff;
  const first = upgrade ? upgradeLines(upgrade, behind) : [];
  print(globals, data, () =>
    [diffText(diff, false), ...first, "Nothing was changed (--dry-run)."].join("\n"),
  );
  return diffCode(diff) === 2 ? 2 : 0;
}

/** Which hosts are upgraded, and which of those that would have to be are not. */
function upgradeLines(upgrade: Upgrade, behind: readonly HeldBack[]): string[] {
  const { hosts, version } = upgrade;
  const isUpgraded = new Set(hosts.map(({ label }) => label));
  const others = stillBehind(behind, upgrade).filter(({ label }) => !isUpgraded.has(label));
  const first = `First, ${hostsText(hosts.length)} ${hosts.length === 1 ? "is" : "are"} upgraded to ${version}.`;
  return [...(hosts.length > 0 ? [first] : []), ...heldBackLines(withReasons(others, upgrade))];
}

/** Shows the plan of the upgrade, which nobody has applied. */
function planned({ globals }: Apply, upgrade: Upgrade, behind: readonly HeldBack[]): number {
  print(globals, { upgrade }, () =>
    [
      ...upgradeLines(upgrade, behind),
      `Nothing has been sent yet. To upgrade exactly these:\n  ${applyText({ id: `${upgrade.id}`, digest: upgrade.digest }, globals)}`,
      "Once that plan is over, the same command makes the plan of the rest.",
    ].join("\n"),
  );
  return 0;
}

/** Runs the plan of the upgrade, and then gives the rest to the hosts that have the version. */
async function upgraded(context: Apply, file: FleetFile, upgrade: Upgrade, id: string): Promise<number> {
  const { service } = context;
  const signal = untilTerminated();
  await run(context, { id, digest: `${upgrade.digest}` }, signal);
  const { state } = await answerHere(service, showPlan, { id, only: ["none"] });
  if (state !== "done") {
    service.log.warn(
      `the hosts get nothing else before the upgrade is over, the plan ${id}: then the same command goes on with the rest`,
    );
    return 1;
  }
  const diff = signal.aborted ? undefined : await comparedUntil(context, file, signal);
  if (!diff || signal.aborted) {
    service.log.warn("the upgrade is over, and no host got the rest: the same command goes on with it");
    return 1;
  }
  return applied(context, file, { diff, upgrade, signal });
}

/** How hosts differ; undefined where asking them was ended. */
async function comparedUntil(
  context: Apply,
  file: FleetFile,
  signal: AbortSignal,
): Promise<Diff | undefined> {
  try {
    return await compared(context, file, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return undefined;
  }
}

/**
 * Makes the plan of all but the version and applies it. With the release in the file, whoever makes the plan asks hosts for their version once
 * more: it is for those that have it by then.
 */
async function applied(
  context: Apply,
  file: FleetFile,
  { diff, upgrade, signal, isShown = false }: Before,
): Promise<number> {
  const { service, globals, input, call } = context;
  const { wanted: state, release } = file;
  const behind = behindIn(file, diff);
  const left = new Set(behind.map(({ label }) => label));
  const rest = { ...diff, hosts: diff.hosts.filter(({ label }) => !left.has(label)) };
  /** @returns the exit code for these hosts. */
  const named = (held: readonly HeldBack[]) => {
    for (const line of heldBackLines(withReasons(held, upgrade))) service.log.warn(line);
    return held.length > 0 ? 1 : 0;
  };
  const text = isShown ? "" : `${diffText(rest, false)}\n`;
  if (rest.hosts.length === 0) {
    print(globals, diff, () => "No host gets the rest.");
    return named(behind);
  }
  const isDone = isApplied(rest);
  if (isDone && diff.watched) {
    print(globals, diff, () => `${text}Nothing to do.`);
    return named(behind);
  }
  const why = isDone ? `${UNWATCHED}\n` : "";
  if (!globals.json && text + why !== "") print(globals, diff, () => `${text}${why}`);
  const made = await call({ ...input, state, ...(release.length > 0 && { with_version: true }) });
  const code = named(made.held_back ?? []);
  // A desk elsewhere says so in its answer alone.
  if (service.elsewhere)
    for (const line of refusalLines(made.refusing, made.hosts.length)) service.log.warn(line);
  return Math.max(code, await begun(context, made, signal));
}

/** Applies the plan of the rest, or shows it. @returns the exit code. */
async function begun(
  context: Apply,
  made: Awaited<ReturnType<Apply["call"]>>,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { service, globals, extra, show } = context;
  if (signal?.aborted) {
    service.log.warn(
      `the plan ${made.id} of the rest is made, and nothing of it has been sent: \`${applyText(made, globals)}\` applies it`,
    );
    return 1;
  }
  if (!extra.plan_only) return run(context, made, signal);
  if (globals.json) return show(made);
  print(
    globals,
    made,
    () => `Nothing has been sent yet. To apply exactly this:\n  ${applyText(made, globals)}`,
  );
  return 0;
}

/** Applies a plan, and waits for it. @returns the exit code. */
const run = (
  { service, globals }: Apply,
  { id, digest }: { readonly id: string; readonly digest: string },
  signal: AbortSignal | undefined,
) =>
  begin<typeof applyPlan.input, typeof applyPlan.output>(
    {
      service,
      globals,
      input: { id, digest },
      report() {},
      call: (given, caller) => answerHere(service, applyPlan, given, caller),
    },
    id,
    // The same command would make another plan.
    { signal, again: `\`${applyText({ id, digest }, globals)}\`` },
  );
