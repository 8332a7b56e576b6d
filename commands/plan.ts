/** `svc plan`: plans what many hosts do, applies it in waves, and shows what became of it. */
import { resolve } from "node:path";
import { HOST_VARIABLE_FIELDS, HOST_VARIABLE_NAMES, withHostVariables } from "../src/cli/host-variables";
import { writeErr } from "../src/cli/output";
import { RECEIPT_FILE, writeReceipt } from "../src/cli/receipt-file";
import { reportOfPlan } from "../src/cli/report/of-hosts";
import { forHosts, isInline, SCRIPT, withActions } from "../src/cli/script";
import { type Group, print } from "../src/cli/subcommand";
import { answerHere, type Context, view } from "../src/cli/view";
import type { Progress } from "../src/core/caller";
import type { InputSchema, OutputSchema } from "../src/core/operation";
import { withDefaults } from "../src/core/script-head";
import { refusalLines } from "../src/desk/fleet/operations/refusals";
import {
  adoptPlan,
  cancelPlan,
  pausePlan,
  removePlan,
  withLedgerHere,
} from "../src/desk/plans/operations/change";
import { followPlan, isOver } from "../src/desk/plans/operations/follow";
import { listPlans, showPlan } from "../src/desk/plans/operations/look";
import { newPlan } from "../src/desk/plans/operations/make";
import { planProof } from "../src/desk/plans/operations/proof";
import { applyPlan, progressOf, resumePlan, retryPlan } from "../src/desk/plans/operations/run";
import {
  applyText,
  countsText,
  hasFailed,
  hostsOf,
  hostsText,
  lineOf,
  type Plan,
  planText,
  type Review,
  reviewText,
  type Summary,
  stateText,
  whyOf,
} from "../src/desk/plans/operations/text";
import { createProgress } from "../src/lib/progress";
import { findRunningServer } from "../src/lib/running-server";
import { printable } from "../src/lib/sanitize";
import { untilTerminated } from "../src/lib/signals";
import type { Body } from "../src/service/answer";
import type { Service } from "../src/service/service";

const one = { positionals: ["id"], on: false } as const;

const isGood = ({ state, counts, total }: Summary) => state === "done" && counts.ok === total;

/**
 * Shows how a plan goes on: a bar on a terminal, else a line for each wave that begins.
 *
 * @param begun how many waves had begun before.
 */
function createWatcher(json: boolean, begun: number) {
  const bar = createProgress();
  let shown = begun;
  return {
    show({ what, done, total, item }: Progress): void {
      if (json) return;
      bar.show({ what, done, total });
      if (process.stderr.isTTY) return;
      const { wave, waves } = item as Summary;
      if (waves.length === 1) return;
      while (shown < wave) {
        shown++;
        writeErr(`wave ${shown} of ${waves.length}: ${hostsText(hostsOf(waves, shown))}\n`);
      }
    },
    end: bar.end,
  };
}

/** How a plan is waited for. */
interface PlanWait {
  /** Ends the waiting (default: that this process is asked to end). */
  readonly signal?: AbortSignal | undefined;
  /** What goes on with a plan that nobody runs (default: the command itself). */
  readonly again?: string;
}

/** Begins, shows how it goes on until it is over or paused, and then what became of it. */
export async function begin<I extends InputSchema, O extends OutputSchema>(
  {
    service,
    globals,
    call,
    input,
    report,
  }: Pick<Context<I, O, Record<never, never>>, "service" | "globals" | "call" | "input" | "report">,
  id: string,
  waiting: PlanWait = {},
): Promise<number> {
  const { again = "the same command" } = waiting;
  const before = await look(service, id, ["none"]);
  const watcher = createWatcher(globals.json, isOver(before) && before.state !== "paused" ? 0 : before.wave);
  const signal = waiting.signal ?? untilTerminated();
  const isServed = () => service.elsewhere !== undefined || findRunningServer(service.configDir) !== null;
  const inServer = isServed();
  const progress = (step: Progress) => watcher.show(step);
  try {
    let plan = (await call(input, { signal, progress })) as Plan;
    const show = (only?: ["none"]) => look(service, plan.id, only);
    // The answer of a server has some of the hosts.
    if (inServer && isOver(plan)) plan = await show();
    else if (inServer) plan = await followPlan(plan.id, { show, isServed }, { signal, progress });
    watcher.show(progressOf(plan));
    watcher.end();
    print(globals, plan, () => planText(plan));
    report(plan as Body<O>);
    if (plan.state === "paused")
      service.log.warn(`the plan is paused: \`svc plan resume ${plan.id}\` goes on with it`);
    return isGood(plan) ? 0 : 1;
  } catch (error) {
    watcher.end();
    if (!signal.aborted) throw error;
    service.log.warn(
      inServer
        ? `the plan goes on in the server: \`svc plan show ${id} --watch\` follows it, \`svc plan cancel ${id}\` ends it`
        : `nobody runs the plan any more: ${again} goes on with it, and so does \`svc serve\``,
    );
    return 1;
  }
}

const look = async (service: Service, id: string, only?: ["none"]) =>
  (await answerHere(service, showPlan, { id, ...(only && { only }) })) as Review;

export default {
  verbs: {
    new: view(newPlan, {
      on: false,
      hidden: ["actions", "path", "desktop", "variables", "variables_by_host"],
      extra: { script: SCRIPT, ...HOST_VARIABLE_FIELDS },
      names: HOST_VARIABLE_NAMES,
      complete: withHostVariables,
      positionals: ["script"],
      run: ({ service, globals, input, extra: { script }, call, show }) =>
        withActions(script, async (actions, defaults) => {
          // On another machine, it would be a path of that one.
          const path = isInline(script) || service.elsewhere ? {} : { path: resolve(script) };
          const made = await call({ ...withDefaults(forHosts(defaults), input), ...path, actions });
          // A desk elsewhere says so in its answer alone.
          if (service.elsewhere)
            for (const line of refusalLines(made.refusing, made.hosts.length)) service.log.warn(line);
          if (globals.json) return show(made);
          const plan = await look(service, made.id);
          const last = ["", "Nothing has run yet. To run exactly this:", `  ${applyText(made, globals)}`];
          // Who cannot scroll back, or hands it to a program, needs all of them.
          const most = process.stdout.isTTY ? undefined : Number.POSITIVE_INFINITY;
          print(globals, made, () => [reviewText(plan, most), ...last].join("\n"));
          return 0;
        }),
      examples: [
        [
          "$0 plan new update.json --on all --waves 1,10%,100% --pause 60s --max-failures 1% --queue",
          "One host first; keep work for hosts that are off",
        ],
        [
          "$0 plan new seat.json --on all --var site=Berlin --vars-file hosts.csv",
          "Fill in ${site}, and ${seat} of each host",
        ],
        [`$0 plan new '[["AC_screen_size"]]' --on tag:lab`, "All of them at once"],
      ],
    }),
    apply: view(applyPlan, {
      ...one,
      hidden: ["wait"],
      report: (plan) => reportOfPlan(plan, hasFailed),
      run: (context) => begin(context, context.input.id),
      epilogue: "Ctrl-C stops waiting; a server that runs here goes on with the plan.",
      examples: [
        [
          "$0 plan apply 7d3f0c52 --digest 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
          "Run exactly what `svc plan new` showed",
        ],
        [
          "$0 plan apply 7d3f0c52 --digest 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 --report junit.xml",
          "The same in CI: a test case for each host",
        ],
      ],
    }),
    list: view(listPlans, {
      columns: ["PLAN", "STATE", "CREATED", "WAVE", "HOSTS", "COUNTS", "TOKEN", "ON", "COMMANDS"],
      rows: ({ plans }) =>
        plans.map((plan) => [
          plan.id.slice(0, 8),
          stateText(plan),
          plan.created,
          `${plan.wave}/${plan.waves.length}`,
          `${plan.total}`,
          countsText(plan),
          plan.token ?? plan.maker ?? "",
          printable(plan.on, 40),
          printable(plan.commands.join(","), 60),
        ]),
      none: "no plans, or none in such a state: `svc plan new` makes one",
      examples: [
        ["$0 plan list", "The newest first"],
        ["$0 plan list --state running,paused", "Those that are not over"],
      ],
    }),
    show: view(showPlan, {
      positionals: ["id"],
      watch: { interval: 5, types: ["plan.*"] },
      columns: ["HOST", "WAVE", "STATE", "ERROR"],
      rows: ({ targets }) =>
        targets.map((target) => [target.label, `${target.wave}`, target.state, whyOf(target)]),
      text: (plan, { only, limit }) =>
        plan.state === "new" && !only && limit === undefined
          ? [reviewText(plan), "", lineOf(plan)].join("\n")
          : planText(plan, only),
      report: (plan) => reportOfPlan(plan, hasFailed),
      examples: [
        ["$0 plan show 7d3f0c52", "The counts, and the hosts that are not ok"],
        ["$0 plan show 7d3f0c52 --only failed,unknown", "Some of its hosts"],
        ["$0 plan show 7d3f0c52 --report junit.xml", "A test case for each host, for a CI server"],
        ["$0 plan show 7d3f0c52 --watch", "As it goes on"],
      ],
    }),
    proof: view(planProof, {
      ...one,
      extra: { output: RECEIPT_FILE },
      async run({ call, input, extra, globals }) {
        const file = await call(input);
        return writeReceipt(globals, file, extra.output);
      },
      examples: [
        [
          "$0 plan proof 7d3f0c52 --output plan.json",
          "Every host of it, in one file: `svc audit verify-run`",
        ],
      ],
    }),
    pause: view(pausePlan, {
      ...one,
      text: lineOf,
      examples: [["$0 plan pause 7d3f0c52", "What runs at hosts goes on to its end"]],
    }),
    resume: view(resumePlan, {
      ...one,
      hidden: ["wait"],
      report: (plan) => reportOfPlan(plan, hasFailed),
      run: (context) => begin(context, context.input.id),
      examples: [["$0 plan resume 7d3f0c52", "The failures so far do not count any more"]],
    }),
    cancel: view(cancelPlan, {
      ...one,
      text: lineOf,
      examples: [["$0 plan cancel 7d3f0c52", "Nothing more begins"]],
    }),
    adopt: view(adoptPlan, {
      ...one,
      hidden: ["copy"],
      run: ({ service, input, call, show }) =>
        withLedgerHere(service, input, async (copied) => show(await call(copied))),
      text: (plan) => `${lineOf(plan)}\nit goes on while \`svc serve\` runs here`,
      examples: [
        ["$0 plan adopt 7d3f0c52 --ledger backup/plans.db", "Its desk is gone; this one has its hosts"],
      ],
    }),
    remove: view(removePlan, {
      ...one,
      text: ({ removed }) => `removed the plan ${removed}; its runs stay in the history of their hosts`,
      examples: [["$0 plan remove 7d3f0c52", "One that is over, or was never applied"]],
    }),
    retry: view(retryPlan, {
      ...one,
      hidden: ["wait"],
      report: (plan) => reportOfPlan(plan, hasFailed),
      run: (context) => begin(context, context.input.id),
      examples: [["$0 plan retry 7d3f0c52 --state failed,expired", "The same again, on these hosts"]],
    }),
  },
} satisfies Group;
