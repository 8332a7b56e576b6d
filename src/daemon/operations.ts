import { homedir, userInfo } from "node:os";
import * as v from "valibot";
import { field, path } from "../core/fields";
import { operation } from "../core/operation";
import { badInput } from "../lib/errors";
import { compiled } from "../version";
import type { DaemonPlan } from "./daemon";

/** Why no other surface has them. */
const leftOut = {
  http: "it manages the process that would answer",
  script: "it manages the process that would run the script",
};

const WHERE = {
  system: field(v.optional(v.boolean(), false), "For the machine, not for this user"),
  print: field(v.optional(v.boolean(), false), "Show what would be written and run; touch nothing"),
};

/** What was done, or with `print` what would be. */
const OUTCOME = v.object({
  file: v.object({
    path: v.string(),
    /** What is written to it. */
    content: v.exactOptional(v.string()),
    /** How many of the commands run before it is removed. */
    removed_after: v.exactOptional(v.number()),
  }),
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
  async run(_service, { flags, config_dir, system, print }, caller): Promise<Outcome> {
    const [first = "-"] = flags;
    if (!first.startsWith("-")) throw badInput(`Expected flags of svc serve after --, but found ${first}`);
    const binary = compiled ? process.execPath : INSTALLED;
    const plan = await planFor({ system, flags, binary, configDir: config_dir ?? null });
    if (!print) {
      await caller.announce(`service.install ${plan.file.path}`);
      const { installDaemon } = await import("./daemon");
      await installDaemon(plan);
    }
    const { path, content } = plan.file;
    return outcome({ path, content }, plan.install, print ? null : 0);
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
    const plan = await planFor({ system });
    const { file, uninstall, forget } = plan;
    if (!print) {
      await caller.announce(`service.uninstall ${file.path}`);
      const { uninstallDaemon } = await import("./daemon");
      await uninstallDaemon(plan);
    }
    const removed = { path: file.path, removed_after: uninstall.length };
    return outcome(removed, [...uninstall, ...forget], print ? null : 0);
  },
});

const status = operation({
  name: "service.status",
  summary: "Show the daemon's state, as systemctl, launchctl or schtasks print it",
  scope: "admin",
  leftOut,
  input: v.strictObject(WHERE),
  output: OUTCOME,
  async run(_service, { system, print }): Promise<Outcome> {
    const { file, status } = await planFor({ system });
    return runOrShow(file, status, print);
  },
});

const logs = operation({
  name: "service.logs",
  summary: "Show the last hundred lines of the daemon's log",
  scope: "admin",
  leftOut,
  input: v.strictObject({
    follow: field(v.optional(v.boolean(), false), "Continue as lines are added"),
    ...WHERE,
  }),
  output: OUTCOME,
  async run(_service, { system, print, follow }): Promise<Outcome> {
    const { file, logs } = await planFor({ system });
    return runOrShow(file, logs(follow), print);
  },
});

export const daemon = { install, uninstall, status, logs };
export const operations = Object.values(daemon);

/** Where the binary is expected when svc runs from the source tree. */
const INSTALLED = "/usr/local/bin/svc";

/** The plan for a daemon; to manage an installed one, `system` alone matters. */
async function planFor({
  system,
  flags = [],
  binary = INSTALLED,
  configDir = null,
}: {
  readonly system: boolean;
  readonly flags?: readonly string[];
  readonly binary?: string;
  readonly configDir?: string | null;
}): Promise<DaemonPlan> {
  const { planDaemon } = await import("./daemon");
  const { USERDOMAIN: domain } = process.env;
  const { username } = userInfo();
  const userName = domain ? `${domain}\\${username}` : username;
  return planDaemon({
    binary,
    flags,
    system,
    configDir,
    home: homedir(),
    userId: process.getuid?.() ?? 0,
    userName,
  });
}

async function runOrShow(
  { path }: DaemonPlan["file"],
  line: DaemonPlan["status"],
  print: boolean,
): Promise<Outcome> {
  const { runHere } = await import("./daemon");
  return outcome({ path }, [line], print ? null : await runHere(line));
}

const outcome = (
  file: Outcome["file"],
  commands: DaemonPlan["install"],
  exit_code: number | null,
): Outcome => ({ file, commands: commands.map((line) => [...line]), exit_code });
