import { resolve } from "node:path";
import { command, print, terminated, withService } from "../../src/cli/command";
import { localCaller } from "../../src/core/caller";
import { parseInput } from "../../src/core/input";
import { parseScript, readScript } from "../../src/core/script";
import { DELIVERY_STATUS, type Delivered } from "../../src/fleet/delivered";
import { BROADCAST, broadcastTo } from "../../src/fleet/operations";
import { createResultFile } from "../../src/fleet/result-file";
import { labelsToRetry } from "../../src/fleet/retry";
import { selectHosts } from "../../src/fleet/selection";
import { badInput } from "../../src/lib/errors";
import { readTextFile } from "../../src/lib/files";
import { printable } from "../../src/lib/sanitize";

export const broadcast = command({
  builder: (argv) =>
    argv
      .positional("actions", {
        type: "string",
        demandOption: true,
        describe: "Actions as JSON, a .json file, or - for stdin",
      })
      .nargs("actions", 1) // else yargs takes `-` for the empty text
      .option("on", { type: "string", describe: "Which hosts: labels, tag:TAG, all, !… between commas" })
      .option("retry", { type: "string", describe: "Results of an earlier broadcast: those hosts again" })
      .option("only", {
        type: "string",
        describe: "retry: hosts that ended like this (failed,unreachable,cancelled)",
      })
      .option("max-parallel", { type: "string", default: "64", describe: "Hosts at once: N or N%" })
      .option("max-failures", {
        type: "string",
        default: "100%",
        describe: "Begin no further host once more have failed: N or N%",
      })
      .option("canary", { type: "number", default: 0, describe: "So many first, the rest if all are ok" })
      .option("stop-on-error", {
        type: "boolean",
        default: false,
        describe: "Leave the rest of a host's list",
      })
      .option("delivery-timeout", { type: "number", default: 10, describe: "Seconds to reach a host" })
      .option("timeout", { type: "number", default: 300, describe: "Seconds that its run may take" })
      .option("output", { type: "string", describe: "File for the results, one a line" })
      .example(`$0 admin broadcast '[["AC_screen_size"]]' --on tag:lab`, "One action, some hosts")
      .example("$0 admin broadcast nightly.json --on all --canary 1", "One host first")
      .example("$0 admin broadcast nightly.json --retry results.jsonl", "Those that failed, again"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const all = (await service.addressBook()).hosts();
      const on = flags.on ?? (flags.retry === undefined ? undefined : "all");
      if (on === undefined) throw badInput("on: missing: name the hosts, or say all");
      if (flags.only !== undefined && flags.retry === undefined) {
        throw badInput("only: expected with --retry only");
      }
      const only = flags.only ?? "failed,unreachable,cancelled";
      const again =
        flags.retry === undefined ? undefined : labelsToRetry(readTextFile(flags.retry, "retry"), only);
      if (flags.output && flags.retry && resolve(flags.output) === resolve(flags.retry)) {
        throw badInput("output: expected another file than --retry");
      }
      const input = parseInput(BROADCAST, {
        actions: await actionsOf(flags.actions),
        on,
        max_parallel: share(flags.maxParallel),
        max_failures: share(flags.maxFailures),
        canary: flags.canary,
        stop_on_error: flags.stopOnError,
        delivery_timeout_s: flags.deliveryTimeout,
        execution_timeout_s: flags.timeout,
      });
      if (again?.length === 0) {
        service.log.info(`nothing to do again: no host of ${flags.retry} is ${only}`);
        return 0;
      }
      const selected = selectHosts(all, on);
      const hosts = again ? selected.filter(({ label }) => again.includes(label)) : selected;
      const gone = again?.filter((label) => !all.some((host) => host.label === label)) ?? [];
      if (gone.length > 0) service.log.warn(`not in the address book any more: ${gone.join(", ")}`);
      if (hosts.length === 0) throw badInput("retry: expected hosts that are selected, and there are none");
      const cancel = new AbortController();
      void terminated().then(() => cancel.abort());
      const file = flags.output === undefined ? undefined : createResultFile(flags.output);
      const caller = localCaller(service, "cli", { signal: cancel.signal });
      const width = Math.max(...hosts.map(({ label }) => Bun.stringWidth(label)));
      const results = await broadcastTo(service, hosts, input, caller, (result) => {
        file?.add(result);
        if (!flags.json) print(flags, result, () => resultLine(result, width));
      });
      print(flags, results, () => summary(results));
      file?.close();
      return results.every(({ ok }) => ok) ? 0 : 1;
    }),
});

async function actionsOf(given: string): Promise<unknown> {
  const text = given === "-" ? await Bun.stdin.text() : given;
  const otherwise = "actions: expected JSON, or the path of a .json file";
  return /^\s*[[{]/.test(text) || given === "-" ? parseScript(text, otherwise) : readScript(text);
}

const share = (text: string) => (/^\d+$/.test(text) ? Number(text) : text);

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
  const told = counts.filter(([count]) => count !== 0).map((count) => count.join(" "));
  return `${results.length} ${results.length === 1 ? "host" : "hosts"}: ${told.join(", ")}`;
}
