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
  withReasons,
  withRelease,
} from "../src/desk/plans/state/operations/upgrade-first";
import { upgradeHosts } from "../src/desk/plans/upgrade/operations";
import { badInput } from "../src/lib/errors";
import { terminated } from "../src/lib/signals";
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

/** Why a plan is made that changes nothing. */
const UNWATCHED =
  "There is nothing to change: with a plan, this desk notes what these hosts should have, and asks them.";

/** `svc fleet apply`. */
export const applyVerb = view(planFleet, {
  on: false,
  describe: "Give hosts what a file says they should have, as a plan",
  hidden: ["state", "leave_out"],
  positionals: ["file"],
  extra: EXTRA,
  async run(context) {
    const { service, globals, extra } = context;
    const file = await fileAt(service, extra.file);
    await requireRelease(context, file);
    const diff = await compared(context, file);
    const behind = file.release.length > 0 ? heldBack(diff.hosts) : [];
    if (extra.dry_run) return shown(context, file, diff, behind);
    if (behind.length === 0) return applied(context, file, diff, []);
    if (!globals.json) print(globals, diff, () => `${diffText(diff, false)}\n`);
    const upgrade = await upgradeOf(context, file, false);
    if (upgrade.id === null)
      return applied(context, file, diff, withReasons(behind, upgrade.left_out), undefined, true);
    if (extra.plan_only) return planned(context, upgrade, behind);
    return upgraded(context, file, upgrade, upgrade.id, behind);
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

/** Makes the plan that upgrades hosts, or says which it would be for. A host that is off is not waited for: the rest of the hosts would be too. */
function upgradeOf(
  { service, input, extra: { public_key } }: Apply,
  { release }: FleetFile,
  dry_run: boolean,
): Promise<Upgrade> {
  const { on, waves, pause_s, max_failures, expires_s, max_parallel, delivery_timeout_s } = input;
  const limits = { on, waves, pause_s, max_failures, expires_s, max_parallel, delivery_timeout_s };
  return answerHere(service, upgradeHosts, {
    ...limits,
    ...{ files: [...release], public_key, skip: true, dry_run },
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
function upgradeLines({ hosts, version, left_out }: Upgrade, behind: readonly HeldBack[]): string[] {
  const isUpgraded = new Set(hosts.map(({ label }) => label));
  const others = behind.filter(({ label }) => !isUpgraded.has(label));
  const first = `First, ${hostsText(hosts.length)} ${hosts.length === 1 ? "is" : "are"} upgraded to ${version}.`;
  return [...(hosts.length > 0 ? [first] : []), ...heldBackLines(withReasons(others, left_out))];
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

/** Runs the plan of the upgrade, and then gives the rest to the hosts that have the version. @param before the hosts that had not. */
async function upgraded(
  context: Apply,
  file: FleetFile,
  upgrade: Upgrade,
  id: string,
  before: readonly HeldBack[],
): Promise<number> {
  const { service } = context;
  const ending = new AbortController();
  void terminated().then(() => ending.abort());
  const { signal } = ending;
  await run(context, { id, digest: `${upgrade.digest}` });
  const { state } = await answerHere(service, showPlan, { id, only: ["none"] });
  if (state !== "done" || signal.aborted) {
    service.log.warn(
      `the hosts get nothing else before the upgrade is over, the plan ${id}: then the same command goes on with the rest`,
    );
    return 1;
  }
  const diff = await compared(context, file, signal);
  const had = new Set(before.map(({ label }) => label));
  const leftOut = upgrade.left_out.filter(({ label }) => had.has(label));
  return applied(context, file, diff, withReasons(heldBack(diff.hosts), leftOut), signal);
}

/** Makes the plan of all but the version and applies it. @param behind the hosts that get nothing. @param isShown whether the differences were shown. */
async function applied(
  context: Apply,
  { wanted: state }: FleetFile,
  diff: Diff,
  behind: readonly HeldBack[],
  signal?: AbortSignal,
  isShown = false,
): Promise<number> {
  const { service, globals, input, extra, call, show } = context;
  for (const line of heldBackLines(behind)) service.log.warn(line);
  const leave_out = behind.map(({ label }) => label);
  const left = new Set(leave_out);
  const rest = { ...diff, hosts: diff.hosts.filter(({ label }) => !left.has(label)) };
  const code = left.size > 0 ? 1 : 0;
  const text = isShown ? "" : `${diffText(rest, false)}\n`;
  if (rest.hosts.length === 0) {
    print(globals, diff, () => "No host gets the rest.");
    return code;
  }
  const isDone = isApplied(rest);
  if (isDone && diff.watched) {
    print(globals, diff, () => `${text}Nothing to do.`);
    return code;
  }
  const why = isDone ? `${UNWATCHED}\n` : "";
  if (!globals.json && text + why !== "") print(globals, diff, () => `${text}${why}`);
  if (signal?.aborted) return 1;
  const made = await call({ ...input, state, ...(leave_out.length > 0 && { leave_out }) });
  // A desk elsewhere says so in its answer alone.
  if (service.elsewhere)
    for (const line of refusalLines(made.refusing, made.hosts.length)) service.log.warn(line);
  if (!extra.plan_only) return Math.max(code, await run(context, made));
  if (globals.json) return Math.max(code, show(made));
  print(
    globals,
    made,
    () => `Nothing has been sent yet. To apply exactly this:\n  ${applyText(made, globals)}`,
  );
  return code;
}

/** Applies a plan, and waits for it. @returns the exit code. */
const run = ({ service, globals }: Apply, { id, digest }: { readonly id: string; readonly digest: string }) =>
  begin<typeof applyPlan.input, typeof applyPlan.output>(
    {
      service,
      globals,
      input: { id, digest },
      report() {},
      call: (given, caller) => answerHere(service, applyPlan, given, caller),
    },
    id,
  );
