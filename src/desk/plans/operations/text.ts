/**
 * Plans as a person reads them.
 */
import type * as v from "valibot";
import { printable } from "../../../lib/sanitize";
import { table } from "../../../lib/table";
import { timeText } from "../../../lib/time-text";
import { durationText } from "../../../lib/units";
import { FAILURES } from "../plan";
import type { cancelPlan } from "./change";
import type { showPlan } from "./look";

export type Summary = v.InferOutput<typeof cancelPlan.output>;
export type Review = v.InferOutput<typeof showPlan.output>;
/** What the operations answer that begin a plan. */
export type Plan = Omit<Review, "actions" | "host_variables" | "stop_on_error" | "scope" | "files">;

/** Whether a host in this state has failed, or nothing was done there in time. */
export const hasFailed = (state: string): boolean =>
  state === "expired" || (FAILURES as readonly string[]).includes(state);

const quoted = (text: string) => (/^[\w./~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The command that applies a plan. @param typed the folder and the desk elsewhere, as they were typed. */
export function applyText(
  { id, digest }: { readonly id: string; readonly digest: string | null },
  { configDir, desk }: { readonly configDir?: string | undefined; readonly desk?: string | undefined },
): string {
  const where = [
    ...(desk === undefined ? [] : ["--desk", quoted(desk)]),
    ...(configDir === undefined ? [] : ["--config-dir", quoted(configDir)]),
  ];
  return ["svc plan apply", quoted(id), "--digest", quoted(`${digest}`), ...where].join(" ");
}

/** The most hosts, and the most actions, that are listed for a person. */
const MAX_LISTED = 50;

export const hostsText = (count: number) => `${count} ${count === 1 ? "host" : "hosts"}`;

export const countsText = ({ counts }: Pick<Summary, "counts">) =>
  Object.entries(counts)
    .map(([state, count]) => `${count} ${state}`)
    .join(", ");

/** How many hosts the wave has of its own, counted from 1 on. */
export const hostsOf = (waves: readonly number[], wave: number) =>
  (waves[wave - 1] ?? 0) - (waves[wave - 2] ?? 0);

const waveText = ({ wave, waves, next_wave, state, stalled }: Summary) => {
  if (waves.length === 1 || wave === 0) return "";
  const isDue = next_wave !== null && state === "running" && !stalled;
  return `, wave ${wave} of ${waves.length}${isDue ? ` (the next at ${timeText(next_wave)})` : ""}`;
};

/** Whose a plan is that another desk has announced. */
const ownerText = ({ desk, heard }: NonNullable<Summary["owner"]>) =>
  `desk ${desk}, heard at ${timeText(heard)}`;

/** What a person reads of a plan that no process runs. */
const STALLED = "nobody runs it: `svc serve` goes on with it";

export const stateText = ({ state, kind, stalled, owner }: Summary) => {
  const more = [
    ...(kind === "broadcast" ? [kind] : []),
    ...(owner ? [ownerText(owner)] : []),
    ...(stalled ? ["nobody runs it"] : []),
  ];
  return more.length === 0 ? state : `${state} (${more.join(", ")})`;
};

export const lineOf = (plan: Summary) => {
  const reason = plan.reason === null ? [] : [printable(plan.reason, 200)];
  const owner = plan.owner ? [ownerText(plan.owner)] : [];
  const why = [...owner, ...reason, ...(plan.stalled ? [STALLED] : [])].join("; ");
  const state = why === "" ? plan.state : `${plan.state} (${why})`;
  return `plan ${plan.id}: ${state}${waveText(plan)}; ${hostsText(plan.total)}: ${countsText(plan)}`;
};

/** Which hosts a person is shown: those that did not go well, or that were asked for. */
export function planText(plan: Plan, only?: readonly string[]): string {
  const shown = plan.targets.filter(
    ({ state, waits_for }) =>
      only !== undefined ||
      (state !== "ok" && (state !== "planned" || waits_for !== null) && plan.state !== "new"),
  );
  const rows = shown
    .slice(0, MAX_LISTED)
    .map(({ label, wave, state, attempt, sent, ended, ...why }) => [
      ...[label, `${wave}`, attempt > 1 ? `${state} (attempt ${attempt})` : state],
      ...[ended ?? "", tookText(sent, ended), whyOf(why)],
    ]);
  const more = shown.length - rows.length;
  return [
    ...(rows.length > 0 ? [table(["HOST", "WAVE", "STATE", "ENDED", "TOOK", "ERROR"], rows)] : []),
    ...(more > 0 ? [`and ${more} more: --json lists all`] : []),
    ...screenText(shown),
    lineOf(plan),
  ].join("\n");
}

/** Where what was on the screen of a host is before its run failed: the first stands for all. */
function screenText(targets: Plan["targets"]): string[] {
  const one = targets.find(
    ({ state, run_id, ended }) => /^(failed|timeout)$/.test(state) && run_id !== null && ended !== null,
  );
  if (!one) return [];
  const run = `svc runs show ${one.run_id?.slice(0, 8)} --on ${quoted(one.label)}`;
  return [
    `what ran at a host: \`${run}\`; what was on its screen before, with a black box: \`svc screen at ${quoted(one.label)} ${one.ended}\``,
  ];
}

/** Why a host has not ended well, or has not begun. */
export const whyOf = ({ error, waits_for }: Pick<Plan["targets"][number], "error" | "waits_for">) =>
  error ?? (waits_for === null ? "" : `waits: ${waits_for}`);

const tookText = (sent: string | null, ended: string | null) =>
  sent === null || ended === null ? "" : `${((Date.parse(ended) - Date.parse(sent)) / 1_000).toFixed(1)} s`;

/** The longest list of labels that a table shows whole, in characters. */
const MAX_CELL = 400;

/** The waves as a table; as lines where the labels of one would be cut off. */
function wavesText(rows: readonly string[][]): string {
  if (rows.every(([, , labels = ""]) => labels.length <= MAX_CELL))
    return table(["WAVE", "HOSTS", "LABELS"], rows);
  return rows.map(([wave, hosts, labels]) => `wave ${wave} (${hosts}): ${labels}`).join("\n");
}

/** All that the digest of a plan stands for. @param most how many hosts of a wave are named. */
export function reviewText(plan: Review, most = MAX_LISTED): string {
  const { waves, targets, total, on, digest, files } = plan;
  const rows = waves.map((end, at) => {
    const labels = targets.filter(({ wave }) => wave === at + 1).map(({ label }) => printable(label, 130));
    const more = labels.length - most;
    const named = `${labels.slice(0, most).join(", ")}${more > 0 ? `, … and ${more} more` : ""}`;
    return [`${at + 1}`, `${hostsOf(waves, at + 1)}`, end === 0 ? "" : named];
  });
  return [
    ...(targets.length === total ? [wavesText(rows), ""] : []),
    `${hostsText(total)} (${printable(on, 200)}), each of which runs:`,
    ...(plan.host_variables.length > 0
      ? [`  with ${printable(plan.host_variables.join(", "), 500)} of its own`]
      : []),
    ...(plan.actions ? listText(plan.actions) : [`  ${plan.commands.join(", ")}`]),
    ...files.flatMap(({ name, sha256, bytes, actions }) => [
      `${printable(name, 200)} travels with it (${bytes} bytes, sha256 ${sha256})${actions ? ":" : ""}`,
      ...(actions ? listText(actions) : []),
    ]),
    "",
    ...limitsOf(plan),
    `digest ${digest}`,
  ].join("\n");
}

const STRICT = "after the first failure in a wave smaller than the hosts after it";

function limitsOf(plan: Review): string[] {
  const { pause_s, max_failures, strict_waves, max_parallel, total, queue, waves, stop_on_error, scope } =
    plan;
  const expires =
    plan.expires === null
      ? `${durationText(plan.expires_s)} after it is applied`
      : `at ${timeText(plan.expires)}`;
  return [
    ...(waves.length > 1 ? [`pause between two waves: ${durationText(pause_s)}`] : []),
    `pauses by itself: ${strict_waves ? STRICT : max_failures >= total ? "never" : `after more than ${max_failures} ${max_failures === 1 ? "failure" : "failures"}`}`,
    `hosts that are off: ${queue ? "their work waits until the plan expires" : "unreachable, which is a failure"}`,
    `hosts at once: ${max_parallel ?? "as many as this desk can"}`,
    `expires: ${expires}`,
    `time limits: ${plan.delivery_timeout_s} s to deliver, ${plan.timeout_s} s to run`,
    `at an action that fails: ${stop_on_error === false ? "the next one runs" : stop_on_error === "focus" ? "the next one runs, unless it is for the focus" : "the run ends"}`,
    ...(scope ? [`rights at most: ${scope.join(", ")}`] : []),
  ];
}

/** A list of actions, one a line, those inside of one below it. */
function listText(actions: readonly unknown[]): string[] {
  const lines = actions.flatMap((action) => actionText(action, "  "));
  const more = lines.length - MAX_LISTED;
  return more > 0
    ? [...lines.slice(0, MAX_LISTED), `  and ${more} more lines: \`svc plan show --json\` has all`]
    : lines;
}

const isList = (value: unknown): value is unknown[][] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((one) => Array.isArray(one) && /^AC_/.test(`${one[0]}`));

function actionText(action: unknown, indent: string): string[] {
  const [name, fields = {}] = action as [string, Record<string, unknown>?];
  const entries = Object.entries(fields);
  const plain = Object.fromEntries(entries.filter(([, value]) => !isList(value)));
  const inner = entries.filter(([, value]) => isList(value));
  const text = Object.keys(plain).length > 0 ? ` ${printable(JSON.stringify(plain), 2_000)}` : "";
  return [
    `${indent}${name}${text}`,
    ...inner.flatMap(([field, list]) => [
      `${indent}  ${field}:`,
      ...(list as unknown[]).flatMap((one) => actionText(one, `${indent}    `)),
    ]),
  ];
}
