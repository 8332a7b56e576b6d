import { resolve } from "node:path";
import * as v from "valibot";
import { print, terminated } from "../../src/cli/subcommand";
import { view } from "../../src/cli/view";
import { localCaller } from "../../src/core/caller";
import { field } from "../../src/core/fields";
import { parseInput } from "../../src/core/input";
import { parseScript, readScript } from "../../src/core/script";
import { DELIVERY_STATUS, type Delivered } from "../../src/fleet/delivered";
import { BROADCAST, broadcastExecute, broadcastTo } from "../../src/fleet/operations";
import { createResultFile } from "../../src/fleet/result-file";
import { labelsToRetry } from "../../src/fleet/retry";
import { selectHosts } from "../../src/fleet/selection";
import { badInput } from "../../src/lib/errors";
import { readTextFile } from "../../src/lib/files";
import { printable } from "../../src/lib/sanitize";

export const broadcast = view(broadcastExecute, {
  hidden: ["actions", "on"],
  names: { delivery_timeout_s: "delivery-timeout", execution_timeout_s: "timeout" },
  positionals: ["script"],
  extra: {
    script: field(v.string(), "Actions as JSON, a .json file, or - for stdin"),
    on: field(v.optional(v.string()), "Which hosts: labels, tag:TAG, all, !… between commas"),
    retry: field(v.optional(v.string()), "Results of an earlier broadcast: those hosts again"),
    only: field(
      v.optional(v.string()),
      "With --retry: hosts that ended like this (failed,unreachable,cancelled)",
    ),
    output: field(v.optional(v.string()), "File for the results, one a line"),
  },
  async run({ service, globals, input: given, extra }) {
    const all = (await service.addressBook()).hosts();
    const on = extra.on ?? (extra.retry === undefined ? undefined : "all");
    if (on === undefined) throw badInput("on: missing: name the hosts, or say all");
    if (extra.only !== undefined && extra.retry === undefined) {
      throw badInput("only: expected with --retry only");
    }
    const only = extra.only ?? "failed,unreachable,cancelled";
    const again =
      extra.retry === undefined ? undefined : labelsToRetry(readTextFile(extra.retry, "retry"), only);
    if (extra.output && extra.retry && resolve(extra.output) === resolve(extra.retry)) {
      throw badInput("output: expected another file than --retry");
    }
    const input = parseInput(BROADCAST, { ...given, on, actions: await actionsOf(extra.script) });
    if (again?.length === 0) {
      service.log.info(`nothing to do again: no host of ${extra.retry} is ${only}`);
      return 0;
    }
    const selected = selectHosts(all, on);
    const hosts = again ? selected.filter(({ label }) => again.includes(label)) : selected;
    const gone = again?.filter((label) => !all.some((host) => host.label === label)) ?? [];
    if (gone.length > 0) service.log.warn(`not in the address book any more: ${gone.join(", ")}`);
    if (hosts.length === 0) throw badInput("retry: expected hosts that are selected, and there are none");
    const cancel = new AbortController();
    void terminated().then(() => cancel.abort());
    const file = extra.output === undefined ? undefined : createResultFile(extra.output);
    const caller = localCaller(service, "cli", { signal: cancel.signal });
    const width = Math.max(...hosts.map(({ label }) => Bun.stringWidth(label)));
    const results = await broadcastTo(service, hosts, input, caller, (result) => {
      file?.add(result);
      if (!globals.json) print(globals, result, () => resultLine(result, width));
    });
    print(globals, results, () => summary(results));
    file?.close();
    return results.every(({ ok }) => ok) ? 0 : 1;
  },
  examples: [
    [`$0 admin broadcast '[["AC_screen_size"]]' --on tag:lab`, "One action, some hosts"],
    ["$0 admin broadcast nightly.json --on all --canary 1", "One host first"],
    ["$0 admin broadcast nightly.json --retry results.jsonl", "Those that failed, again"],
  ],
});

async function actionsOf(given: string): Promise<unknown> {
  const text = given === "-" ? await Bun.stdin.text() : given;
  const otherwise = "script: expected JSON, or the path of a .json file";
  return /^\s*[[{]/.test(text) || given === "-" ? parseScript(text, otherwise) : readScript(text);
}

function resultLine({ label, status, duration_ms, error, result }: Delivered, width: number): string {
  const returned = error ?? JSON.stringify(Object.values(result ?? {})).slice(1, -1);
  const name = printable(label, 130);
  const gap = " ".repeat(Math.max(0, width - Bun.stringWidth(name)));
  const seconds = `${(duration_ms / 1_000).toFixed(2)} s`;
  return `${status.padEnd(12)}  ${name}${gap}  ${seconds}  ${printable(returned, 120)}`.trimEnd();
}

function summary(results: readonly Delivered[]): string {
  const counts = DELIVERY_STATUS.map((status) => [
    results.filter((one) => one.status === status).length,
    status,
  ]);
  const shown = counts.filter(([count]) => count !== 0).map((count) => count.join(" "));
  return `${results.length} ${results.length === 1 ? "host" : "hosts"}: ${shown.join(", ")}`;
}
