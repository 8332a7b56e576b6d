import * as v from "valibot";
import { field, flag, path } from "../../core/fields";
import { operation } from "../../core/operation";
import { badInput } from "../../lib/errors";
import type { DaemonPlan } from "./daemon";

/** Why no other surface has them. */
const leftOut = {
  http: "it manages the process that would answer",
  script: "it manages the process that would run the script",
};

const WHERE = {
  system: flag("For the machine instead of this user"),
  print: flag("Show what would be written and run; change nothing"),
};

/** What was done, or with `print` what would be. */
const OUTCOME = v.object({
  file: v.object({
    path: v.string(),
    content: v.exactOptional(v.string()),
    /** How many of the commands run before it is written. */
    written_after: v.exactOptional(v.number()),
    /** How many of the commands run before it is removed. */
    removed_after: v.exactOptional(v.number()),
  }),
  /** Units besides it, on Linux. */
  besides: v.exactOptional(v.array(v.object({ path: v.string(), content: v.nullable(v.string()) }))),
  /** The programs, each with its arguments, in the order in which they run. */
  commands: v.array(v.array(v.string())),
  /** Of the last program; null with `print`. */
  exit_code: v.nullable(v.number()),
});

type Outcome = v.InferOutput<typeof OUTCOME>;

const FLAG = v.pipe(v.string(), v.maxLength(4_096));

const install = operation({
  name: "service.install",
  summary: "Install `svc serve` as a daemon: write it, enable it and start it",
  scope: "admin",
  changes: "announces",
  leftOut,
  input: v.strictObject({
    flags: field(v.optional(v.pipe(v.array(FLAG), v.maxLength(200)), []), "Flags of svc serve, after --"),
    config_dir: field(v.optional(path(FLAG)), "Folder that the daemon keeps its state in"),
    ...WHERE,
  }),
  output: OUTCOME,
  async run(_service, { flags, config_dir = null, system, print }, caller): Promise<Outcome> {
    const [first = "-"] = flags;
    if (!first.startsWith("-")) throw badInput(`Expected flags of svc serve after --, but found ${first}`);
    const { installDaemon, planHere, requireOwnUnit } = await import("./daemon");
    requireOwnUnit(system, "`sudo systemctl edit svc` changes its flags");
    const plan = planHere(system, { flags, configDir: config_dir });
    const { path, content } = plan.file;
    const { before = [] } = plan;
    const file = { path, content, written_after: before.length };
    const outcome = { file, ...besidesOf(plan), commands: [...before, ...plan.install] };
    if (print) return { ...outcome, exit_code: null };
    await caller.announce(`service.install ${path}`);
    await installDaemon(plan);
    return { ...outcome, exit_code: 0 };
  },
});

const uninstall = operation({
  name: "service.uninstall",
  summary: "Stop the daemon and remove it; its folder stays",
  scope: "admin",
  changes: "announces",
  leftOut,
  input: v.strictObject(WHERE),
  output: OUTCOME,
  async run(_service, { system, print }, caller): Promise<Outcome> {
    const { planHere, requireOwnUnit, uninstallDaemon } = await import("./daemon");
    requireOwnUnit(system, "remove the package, or `sudo systemctl disable --now svc` stops it");
    const plan = planHere(system);
    const { path } = plan.file;
    const commands = [...plan.uninstall, ...plan.forget];
    const gone = (plan.besides ?? []).map((unit) => ({ ...unit, content: null }));
    const file = { path, removed_after: plan.uninstall.length };
    const outcome = { file, ...besidesOf({ besides: gone }), commands };
    if (print) return { ...outcome, exit_code: null };
    await caller.announce(`service.uninstall ${path}`);
    await uninstallDaemon(plan);
    return { ...outcome, exit_code: 0 };
  },
});

const status = operation({
  name: "service.status",
  summary: "Show the daemon's state, as systemctl, launchctl or schtasks print it",
  scope: "admin",
  leftOut,
  input: v.strictObject(WHERE),
  output: OUTCOME,
  run: (_service, { system, print }) => runHere(system, print, (plan) => plan.status),
});

const logs = operation({
  name: "service.logs",
  summary: "Show the last hundred lines of the daemon's log",
  scope: "admin",
  leftOut,
  input: v.strictObject({
    follow: flag("Keep printing new lines"),
    ...WHERE,
  }),
  output: OUTCOME,
  run: (_service, { system, print, follow }) => runHere(system, print, (plan) => plan.logs(follow)),
});

export const daemon = { install, uninstall, status, logs };
export const operations = Object.values(daemon);

/** The units besides the file that are written or removed. */
const besidesOf = ({ besides = [] }: Pick<DaemonPlan, "besides">) =>
  besides.length > 0 ? { besides: [...besides] } : {};

/** Runs one of the platform's programs on this terminal, or says which one with `print`. */
async function runHere(
  system: boolean,
  print: boolean,
  lineOf: (plan: DaemonPlan) => string[],
): Promise<Outcome> {
  const { planHere, runThrough } = await import("./daemon");
  const plan = planHere(system);
  const line = lineOf(plan);
  const exit_code = print ? null : await runThrough(line);
  return { file: { path: plan.file.path }, commands: [line], exit_code };
}
