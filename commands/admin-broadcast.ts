/** Running a script on the hosts of a selection: its view. */
import { HOST_VARIABLE_FIELDS, HOST_VARIABLE_NAMES, withHostVariables } from "../src/cli/host-variables";
import { reportOfBroadcast } from "../src/cli/report/of-hosts";
import { forHosts, SCRIPT, withActions } from "../src/cli/script";
import { print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { withDefaults } from "../src/core/script-head";
import {
  broadcastExecute,
  DELIVERY_STATUS,
  type Delivery,
  withFilesHere,
} from "../src/desk/fleet/operations/fleet";
import { badInput } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";

/** A line for each host as it answers, and how many there were of each kind. */
export const broadcastVerb = view(broadcastExecute, {
  hidden: ["actions", "labels", "desktop", "variables", "variables_by_host"],
  extra: { script: SCRIPT, ...HOST_VARIABLE_FIELDS },
  names: HOST_VARIABLE_NAMES,
  positionals: ["script"],
  complete: withHostVariables,
  cancellable: true,
  report: reportOfBroadcast,
  async run({ service, globals, input, extra, call, report }) {
    if (service.elsewhere && (input.output ?? input.retry) !== undefined)
      throw badInput(
        "output, retry: expected without --desk, and without SVC_DESK: they are files of the machine of the desk; --json prints what --output has",
      );
    const results: Delivery[] = [];
    const progress = ({ item }: { readonly item?: unknown }) => {
      const result = item as Delivery;
      // What a host returned may be large: the line has the most of it, and the summary none.
      const { result: _, outcomes: __, ...rest } = result;
      results.push(rest);
      if (!globals.json) print(globals, result, () => resultLine(result));
    };
    try {
      const all = await withActions(extra.script, (actions, defaults) =>
        withFilesHere(service, { ...withDefaults(forHosts(defaults), input), actions }, (asked, done) =>
          call(asked, {
            progress(step) {
              done(step.item as Delivery);
              progress(step);
            },
          }),
        ),
      );
      // A desk elsewhere answers once all hosts have.
      if (service.elsewhere) for (const item of all) progress({ item });
      if (globals.json) print(globals, all, String);
    } finally {
      // Also when they could not be written to `--output`.
      if (!globals.json && results.length > 0) print(globals, results, () => summary(results));
      if (results.length > 0) report(results);
    }
    return results.every(({ ok }) => ok) ? 0 : 1;
  },
  examples: [
    [`$0 admin broadcast '[["AC_screen_size"]]' --on tag:lab`, "One action on selected hosts"],
    ["$0 admin broadcast nightly.json --on all --canary 1", "One host first"],
    ["$0 admin broadcast seat.json --on all --vars-file hosts.csv", "A value of ${seat} for each host"],
    ["$0 admin broadcast nightly.json --retry results.jsonl", "Repeat on the hosts that failed"],
  ],
});

function resultLine({ label, status, duration_ms, error, result }: Delivery): string {
  const returned = error ?? JSON.stringify(Object.values(result ?? {})).slice(1, -1);
  const seconds = `${(duration_ms / 1_000).toFixed(2)} s`.padStart(8);
  return `${status.padEnd(12)}  ${seconds}  ${printable(label, 130)}  ${printable(returned, 120)}`.trimEnd();
}

function summary(results: readonly Delivery[]): string {
  const shown = DELIVERY_STATUS.flatMap((status) => {
    const count = results.filter((one) => one.status === status).length;
    return count === 0 ? [] : [`${count} ${status}`];
  });
  return `${results.length} ${results.length === 1 ? "host" : "hosts"}: ${shown.join(", ")}`;
}
