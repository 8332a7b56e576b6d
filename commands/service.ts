import { homedir, userInfo } from "node:os";
import { resolve } from "node:path";
import type { Argv } from "yargs";
import { type CommandGroup, command, type GlobalFlags, print } from "../src/cli/command";
import { UsageError } from "../src/cli/flags";
import { type DaemonPlan, planDaemon } from "../src/daemon/daemon";
import { installDaemon, runThrough, uninstallDaemon } from "../src/daemon/manage";
import { compiled } from "../src/version";

const withScope = (argv: Argv<GlobalFlags>) =>
  argv
    .option("system", {
      type: "boolean",
      default: false,
      describe: "For the machine, not for this user",
    })
    .option("print", {
      type: "boolean",
      default: false,
      describe: "Show what it comes to, touch nothing",
    });

type Flags = {
  readonly system: boolean;
  readonly print: boolean;
  readonly json: boolean;
  readonly configDir?: string | undefined;
};

/** @param flags of `svc serve`, for one that is to be installed: of what is there already, only the name matters. */
function planFor({ system, configDir }: Flags, flags?: readonly string[]): DaemonPlan {
  const { USERDOMAIN: domain } = process.env;
  const { username } = userInfo();
  return planDaemon({
    binary: compiled && flags ? process.execPath : "/usr/local/bin/svc",
    flags: flags ?? [],
    system,
    configDir: flags && configDir !== undefined ? resolve(configDir) : null,
    home: homedir(),
    userId: process.getuid?.() ?? 0,
    userName: domain ? `${domain}\\${username}` : username,
  });
}

const shown = (commands: DaemonPlan["install"]) => commands.map((line) => `$ ${line.join(" ")}`);

function showCommand(flags: Flags, { file: { path } }: DaemonPlan, line: DaemonPlan["status"]): void {
  print(flags, { file: { path }, commands: [line] }, () => shown([line]).join("\n"));
}

const install = command({
  builder: (argv) =>
    withScope(argv)
      .positional("flags", { type: "string", array: true, default: [], describe: "Of svc serve" })
      .usage("$0 service install [-- flags of svc serve]")
      .example("$0 service install", "Run svc serve for this user, now and at each log-in")
      .example("$0 service install --print -- --port 80", "Show it, with a flag of svc serve"),
  async handler(flags) {
    const [first = "-"] = flags.flags;
    if (!first.startsWith("-")) throw new UsageError(`Expected flags of svc serve after --, not ${first}`);
    const plan = planFor(flags, flags.flags);
    const { file, install: commands } = plan;
    if (!flags.print) await installDaemon(plan);
    else
      print(flags, { file, commands }, () => [`# ${file.path}`, file.content, ...shown(commands)].join("\n"));
    return 0;
  },
});

const uninstall = command({
  builder: (argv) =>
    withScope(argv).example("$0 service uninstall", "Stop it and forget it; its folder stays"),
  async handler(flags) {
    const plan = planFor(flags);
    const { file, uninstall, forget } = plan;
    if (!flags.print) await uninstallDaemon(plan);
    else {
      print(flags, { file: { path: file.path }, commands: [...uninstall, ...forget] }, () =>
        [...shown(uninstall), `# ${file.path} is removed`, ...shown(forget)].join("\n"),
      );
    }
    return 0;
  },
});

const status = command({
  builder: (argv) =>
    withScope(argv).example("$0 service status", "As systemctl, launchctl or schtasks tell it"),
  async handler(flags) {
    const plan = planFor(flags);
    if (!flags.print) return (await runThrough(plan.status)) === 0 ? 0 : 1;
    showCommand(flags, plan, plan.status);
    return 0;
  },
});

const logs = command({
  builder: (argv) =>
    withScope(argv)
      .option("follow", { type: "boolean", default: false, describe: "Go on as more comes" })
      .example("$0 service logs --follow", "The last hundred lines, and what comes"),
  async handler(flags) {
    const plan = planFor(flags);
    const line = plan.logs(flags.follow);
    if (!flags.print) return (await runThrough(line)) === 0 ? 0 : 1;
    showCommand(flags, plan, line);
    return 0;
  },
});

export default {
  examples: [
    ["$0 service install --print", "Show what would be written and run"],
    ["$0 service install -- --tls-cert c.pem --tls-key k.pem", "With flags of svc serve"],
  ],
  group: {
    "install [flags..]": { describe: "Write it, enable it and start it", ...install },
    uninstall: { describe: "Stop it and remove it", ...uninstall },
    status: { describe: "Tell how it is", ...status },
    logs: { describe: "Show what it logged", ...logs },
  },
} satisfies CommandGroup;
