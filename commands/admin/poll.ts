import type * as v from "valibot";
import { command, print, withService } from "../../src/cli/command";
import { watchable, watching } from "../../src/cli/watch";
import { parseInput } from "../../src/core/input";
import type { AddressBook } from "../../src/fleet/address-book";
import { DEFAULT_CONCURRENCY, DEFAULT_TIMEOUT_S, poll as pollOperation } from "../../src/fleet/operations";
import { pollHosts } from "../../src/fleet/poll";
import type { Polled } from "../../src/fleet/polled";
import { selectHosts } from "../../src/fleet/selection";
import { createProgress } from "../../src/lib/progress";
import { table } from "../../src/lib/table";

export const poll = command({
  builder: (argv) =>
    watchable(argv, 5)
      .option("on", { type: "string", describe: "Labels, tag:TAG, all, !… between commas (every host)" })
      .option("concurrency", {
        type: "number",
        default: DEFAULT_CONCURRENCY,
        describe: "How many are asked at once; a slow one stops counting",
      })
      .option("timeout", {
        type: "number",
        default: DEFAULT_TIMEOUT_S,
        describe: "Seconds that a host may take",
      })
      .example("$0 admin poll", "Every host; exit code 1 when one is not healthy")
      .example("$0 admin poll --on tag:lab,!tag:old --watch", "Some of them, as a table that refreshes"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const { on, concurrency, timeout } = flags;
      const asked = parseInput(pollOperation.input, { on, concurrency, timeout_s: timeout });
      const book = await service.addressBook();
      return watching(flags, async ({ signal, clear }) => {
        const results = await pollOnce(book, asked, signal, flags.watch);
        if (signal.aborted) return 0;
        clear();
        print(flags, results, () => pollTable(results));
        return results.every(({ healthy }) => healthy) ? 0 : 1;
      });
    }),
});

async function pollOnce(
  book: AddressBook,
  { on, concurrency, timeout_s }: v.InferOutput<typeof pollOperation.input>,
  signal: AbortSignal,
  quiet: boolean,
): Promise<Polled[]> {
  const all = book.hosts();
  const hosts = on === undefined ? all : selectHosts(all, on);
  const progress = createProgress("hosts polled");
  let done = 0;
  const polled = () => {
    done++;
    if (!quiet) progress.show(done, hosts.length);
  };
  try {
    return await pollHosts(hosts, { concurrency, timeoutMs: timeout_s * 1_000, signal, polled });
  } finally {
    progress.end();
  }
}

function pollTable(results: readonly Polled[]): string {
  if (results.length === 0) return "no hosts: `svc admin add` adds one";
  const healthy = results.filter((result) => result.healthy).length;
  const rows = results.map(({ label, base_url, healthy, latency_ms, sessions, job_count, error }) => [
    label,
    healthy ? "healthy" : "DOWN",
    latency_ms === null ? "" : `${latency_ms} ms`,
    sessions === null ? "" : `${sessions.host.connected_clients}`,
    job_count === null ? "" : `${job_count}`,
    base_url,
    error ?? "",
  ]);
  const head = ["LABEL", "STATE", "LATENCY", "CLIENTS", "JOBS", "ADDRESS", "ERROR"];
  return `${table(head, rows)}\n${healthy} of ${results.length} healthy`;
}
