/** `svc service`: installs `svc serve` as a service of the system, removes it, and shows its state and log. */
import { resolve } from "node:path";
import type * as v from "valibot";
import type { TypedFlags } from "../src/cli/flags";
import type { Group } from "../src/cli/subcommand";
import { type Context, view } from "../src/cli/view";
import type { InputSchema } from "../src/core/operation";
import { daemon } from "../src/host/daemon/operations";
import { machineHint } from "../src/lib/machine-service";
import { resolveConfigDir } from "../src/lib/paths";

/** How to reach the service of the machine, where there may be one. */
const machineWords = () =>
  machineHint(resolveConfigDir(undefined, {})) || "; --system is for that of the machine";

type Outcome = v.InferOutput<typeof daemon.status.output>;

const linesOf = (commands: Outcome["commands"]) => commands.map((line) => `$ ${line.join(" ")}`);

/** What was run has printed for itself; with `--print`, the plan is shown. */
async function run<I extends InputSchema>(
  context: Context<I, typeof daemon.status.output, Record<never, never>>,
): Promise<number> {
  const outcome = await context.call(context.input);
  if (outcome.exit_code === null) return context.show(outcome);
  return outcome.exit_code === 0 ? 0 : 1;
}

/** The daemon of the machine is root's matter. */
const asRoot = ({ system }: TypedFlags) => system === true;

const text = ({ commands }: Outcome) => linesOf(commands).join("\n");

export default {
  verbs: {
    install: view(daemon.install, {
      describe: "Install and start svc serve as a system service",
      asRoot,
      positionals: ["flags"],
      hidden: ["config_dir"],
      text: ({ file: { written_after = 0, ...file }, besides = [], commands }) =>
        [
          ...linesOf(commands.slice(0, written_after)),
          ...[file, ...besides].flatMap(({ path, content }) => [
            `# ${path}`,
            content ?? "# it is not written: see docs/upgrades.md",
          ]),
          ...linesOf(commands.slice(written_after)),
        ].join("\n"),
      run({ globals, input, ...context }) {
        const { configDir } = globals;
        const given = configDir === undefined ? input : { ...input, config_dir: resolve(configDir) };
        return run({ ...context, globals, input: given });
      },
      examples: [
        ["$0 service install", "Run svc serve for this user, now and at each log-in"],
        ["$0 service install --print -- --port 80", "Show the unit, with a flag of svc serve"],
      ],
    }),
    uninstall: view(daemon.uninstall, {
      asRoot,
      describe: "Stop and remove the service",
      text: ({ file: { path, removed_after }, besides = [], commands }) =>
        [
          ...linesOf(commands.slice(0, removed_after)),
          ...[path, ...besides.map((unit) => unit.path)].map((gone) => `# ${gone} is removed`),
          ...linesOf(commands.slice(removed_after)),
        ].join("\n"),
      run,
      examples: [["$0 service uninstall", "The configuration folder stays"]],
    }),
    status: view(daemon.status, {
      asRoot,
      describe: "Show the state of the service",
      text,
      async run(context) {
        const exitCode = await run(context);
        const system = context.input.system ? " --system" : "";
        if (exitCode !== 0)
          context.service.log.warn(
            `no service runs: \`svc service install${system}\` installs and starts it, \`svc service logs${system}\` shows why it ended${system ? "" : machineWords()}`,
          );
        return exitCode;
      },
      examples: [["$0 service status", "The output of systemctl, launchctl or schtasks"]],
    }),
    logs: view(daemon.logs, {
      asRoot,
      describe: "Show the log of the service",
      text,
      run,
      examples: [["$0 service logs --follow", "The last hundred lines, then new ones"]],
    }),
  },
} satisfies Group;
