import { homedir, userInfo } from "node:os";
import { resolve } from "node:path";
import * as v from "valibot";
import { UsageError } from "../src/cli/flags";
import { type GlobalFlags, type Group, print, subcommand } from "../src/cli/subcommand";
import { field } from "../src/core/fields";
import { type DaemonPlan, planDaemon } from "../src/daemon/daemon";
import { installDaemon, runThrough, uninstallDaemon } from "../src/daemon/manage";
import { compiled } from "../src/version";

const FIELDS = {
  system: field(v.optional(v.boolean(), false), "For the machine, not for this user"),
  print: field(v.optional(v.boolean(), false), "Show the files and commands, change nothing"),
};

/** @param flags of `svc serve`, for one that is installed: of one that is there already, only the name matters. */
function planFor(system: boolean, { configDir }: GlobalFlags, flags?: readonly string[]): DaemonPlan {
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

function showCommand(
  globals: GlobalFlags,
  { file: { path } }: DaemonPlan,
  line: DaemonPlan["status"],
): number {
  print(globals, { file: { path }, commands: [line] }, () => shown([line]).join("\n"));
  return 0;
}

export default {
  examples: [
    ["$0 service install --print", "Show what would be written and run"],
    ["$0 service install -- --tls-cert c.pem --tls-key k.pem", "With flags of svc serve"],
  ],
  verbs: {
    install: subcommand({
      describe: "Install and start svc serve as a system service",
      input: v.strictObject({
        ...FIELDS,
        flags: field(v.optional(v.array(v.string()), []), "Flags of svc serve, after --"),
      }),
      positionals: ["flags"],
      async run({ system = false, print: isShown, flags = [] }, globals) {
        const [first = "-"] = flags;
        if (!first.startsWith("-"))
          throw new UsageError(`Expected flags of svc serve after --, not ${first}`);
        const plan = planFor(system, globals, flags);
        const { file, install: commands } = plan;
        if (!isShown) await installDaemon(plan);
        else
          print(globals, { file, commands }, () =>
            [`# ${file.path}`, file.content, ...shown(commands)].join("\n"),
          );
        return 0;
      },
      examples: [
        ["$0 service install", "Run svc serve for this user, now and at each log-in"],
        ["$0 service install --print -- --port 80", "Show it, with a flag of svc serve"],
      ],
    }),
    uninstall: subcommand({
      describe: "Stop and remove the service",
      input: v.strictObject(FIELDS),
      async run({ system = false, print: isShown }, globals) {
        const plan = planFor(system, globals);
        const { file, uninstall, forget } = plan;
        if (!isShown) await uninstallDaemon(plan);
        else {
          print(globals, { file: { path: file.path }, commands: [...uninstall, ...forget] }, () =>
            [...shown(uninstall), `# ${file.path} is removed`, ...shown(forget)].join("\n"),
          );
        }
        return 0;
      },
      examples: [["$0 service uninstall", "Its configuration folder stays"]],
    }),
    status: subcommand({
      describe: "Show the state of the service",
      input: v.strictObject(FIELDS),
      async run({ system = false, print: isShown }, globals) {
        const plan = planFor(system, globals);
        if (isShown) return showCommand(globals, plan, plan.status);
        return (await runThrough(plan.status)) === 0 ? 0 : 1;
      },
      examples: [["$0 service status", "As systemctl, launchctl or schtasks report it"]],
    }),
    logs: subcommand({
      describe: "Show the log of the service",
      input: v.strictObject({
        ...FIELDS,
        follow: field(v.optional(v.boolean(), false), "Show new lines as they come"),
      }),
      async run({ system = false, print: isShown, follow = false }, globals) {
        const plan = planFor(system, globals);
        const line = plan.logs(follow);
        if (isShown) return showCommand(globals, plan, line);
        return (await runThrough(line)) === 0 ? 0 : 1;
      },
      examples: [["$0 service logs --follow", "The last hundred lines, and new ones"]],
    }),
  },
} satisfies Group;
