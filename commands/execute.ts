/** `svc execute`: runs a list of actions from a file or the command line, or checks it. */
import { dirname, relative, resolve } from "node:path";
import type * as v from "valibot";
import { reportOfRun } from "../src/cli/report/of-run";
import { isInline, mustExist, SCRIPT, withActions } from "../src/cli/script";
import {
  DESKTOP_FIELDS,
  outcomeLine,
  runProblems,
  TRACE_FIELD,
  traced,
  VARIABLE_FIELDS,
  withDesktop,
  withVariables,
} from "../src/cli/script-run";
import { type GlobalFlags, oneOf, print } from "../src/cli/subcommand";
import { answerHere, view } from "../src/cli/view";
import { flag } from "../src/core/fields";
import { withDefaults } from "../src/core/script-head";
import {
  checkActionList,
  executeActions,
  executeFile,
  missingFiles,
  variableFaults,
} from "../src/host/runs/operations/execute";
import { configFiles } from "../src/lib/paths";
import { PERMISSION_FIELDS, type Service } from "../src/service/service";

type Report = Omit<v.InferOutput<typeof executeActions.output>, "result">;

/** The flags of the command line alone. */
const OWN = {
  check: flag("Check the script and run nothing"),
  ...TRACE_FIELD,
  ...VARIABLE_FIELDS,
  ...DESKTOP_FIELDS,
  ...PERMISSION_FIELDS,
};

type ExecuteOptions = v.InferOutput<v.ObjectSchema<typeof OWN, undefined>>;

const shared = {
  on: false,
  cancellable: true,
  pages: true,
  kind: "script",
  names: { path: "script" },
  service: ({ allow_shell, allow_audit_clear }: ExecuteOptions) => ({ allow_shell, allow_audit_clear }),
  text: ({ outcomes }: Report) => outcomes.map(outcomeLine).join("\n"),
  good: ({ ok }: Report) => ok,
  problems: runProblems,
} as const;

const attached = ({ trace }: ExecuteOptions) => ({ attachments: trace === undefined ? [] : [trace] });

const inline = view(executeActions, {
  ...shared,
  hidden: ["actions", "trace", "desktop"],
  extra: { script: SCRIPT, ...OWN },
  positionals: ["script"],
  complete: (input, extra) => withDesktop(withVariables(input, extra), extra),
  report: (body, _input, extra) =>
    isInline(extra.script)
      ? reportOfRun(body, "svc execute", attached(extra))
      : reportOfRun(body, extra.script, { script: extra.script, ...attached(extra) }),
  async run({ service, globals, input, extra, call, show, pages }) {
    if (extra.check) return check(service, globals, extra.script, input);
    return withActions(extra.script, async (actions, defaults) => {
      const options = withDefaults(defaults, input);
      return show(
        await traced(service, { file: extra.trace, pages }, (trace) => call({ ...options, actions, trace })),
      );
    });
  },
});

const file = view(executeFile, {
  ...shared,
  hidden: ["trace", "desktop"],
  extra: OWN,
  positionals: ["path"],
  complete: (input, extra) => withDesktop(withVariables(input, extra), extra),
  // As CI servers name a file: from where they run.
  report: (body, { path }, extra) =>
    reportOfRun(body, relative(process.cwd(), path), {
      script: relative(process.cwd(), path),
      ...attached(extra),
    }),
  async run({ service, globals, input, extra, call, show, pages }) {
    mustExist(input.path);
    if (extra.check) return check(service, globals, input.path, input);
    return show(await traced(service, { file: extra.trace, pages }, (trace) => call({ ...input, trace })));
  },
});

async function check(
  service: Service,
  globals: GlobalFlags,
  script: string,
  { variables = {} }: { readonly variables?: Readonly<Record<string, unknown>> | undefined },
): Promise<number> {
  const folder = isInline(script) ? process.cwd() : dirname(resolve(script));
  const [body, missing, set] = await withActions(script, async (actions, defaults) => {
    const path = isInline(script) ? {} : { path: resolve(script) };
    const checked = await answerHere(service, checkActionList, { actions, ...path });
    const list = await (await service.executor()).check(actions);
    const files = missingFiles(list.actions, [folder, configFiles(service.configDir).images]);
    return [checked, files, Object.keys(defaults.variables ?? {})] as const;
  });
  const unset = body.variables.unset.filter((name) => !set.includes(name));

  for (const fault of missing) service.log.warn(fault);
  for (const fault of variableFaults({ ...body.variables, unset }, Object.keys(variables), "--var"))
    service.log.warn(fault);
  print(globals, body, () => `no errors; actions: ${body.count}; nothing has run`);
  return 0;
}

export default oneOf(
  [
    [`$0 execute '[["AC_rest_api_status"]]'`, "Run one action"],
    ["$0 execute nightly.json --json", "Run a script, print its outcomes as JSON"],
    ["$0 execute nightly.json --check", "Check it; exit code 2 when something is wrong"],
    ["$0 execute order.json --var customer=ACME --var count=3", "Fill in ${customer} and ${count}"],
    ["$0 execute nightly.json --trace run.zip", "See each step of it with `svc trace show run.zip`"],
    [
      "$0 execute order.json --desktop new --size 1280x800",
      "On a screen of its own, which ends with the run",
    ],
    ["$0 execute order.json --report junit.xml", "A test case for each assertion, for a CI server"],
    ["$0 execute - < actions.json", "Read stdin: the process list shows no actions"],
  ],
  [file, inline],
  // A desk elsewhere gets what the file has: its path is one of this machine.
  ({ script }, { desk }) =>
    desk !== undefined || (Array.isArray(script) && isInline(script[0] ?? "")) ? inline : file,
);
