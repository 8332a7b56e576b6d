import { setTimeout as delay } from "node:timers/promises";
import type { AddressBook } from "../../src/admin/book";
import { DEFAULT_CONCURRENCY, DEFAULT_TIMEOUT_S } from "../../src/admin/operations";
import { pollHosts } from "../../src/admin/poll";
import type { Polled } from "../../src/admin/polled";
import { selectHosts } from "../../src/admin/selection";
import { command, print, terminated, withService } from "../../src/cli";
import { badInput } from "../../src/lib/errors";
import { createProgress } from "../../src/lib/progress";
import { table } from "../../src/lib/table";

export const poll = command({
  builder: (argv) =>
    argv
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
      .option("watch", { type: "boolean", default: false, describe: "Poll again and again, until Ctrl-C" })
      .option("interval", { type: "number", default: 5, describe: "watch: seconds between polls" })
      .example("$0 admin poll", "Every host; exit code 1 when one is not healthy")
      .example("$0 admin poll --on tag:lab,!tag:old --watch", "Some of them, as a table that refreshes"),
  handler: (flags) =>
    withService(flags, async (service) => {
      if (!(flags.interval >= 0.1 && flags.interval <= 86_400)) {
        throw badInput(`interval: expected 0.1 to 86,400 seconds but found ${flags.interval}`);
      }
      const book = await service.addressBook();
      if (!flags.watch) return shown(flags, await pollOnce(book, flags));
      const ended = new AbortController();
      void terminated().then(() => ended.abort());
      while (!ended.signal.aborted) {
        const results = await pollOnce(book, flags, ended.signal);
        if (ended.signal.aborted) break;
        if (process.stdout.isTTY) process.stdout.write("\u001b[H\u001b[2J");
        shown(flags, results);
        await delay(flags.interval * 1_000, undefined, { signal: ended.signal }).catch(() => {});
      }
      return 0;
    }),
});

interface PollFlags {
  readonly on: string | undefined;
  readonly concurrency: number;
  readonly timeout: number;
  readonly watch: boolean;
}

async function pollOnce(book: AddressBook, flags: PollFlags, signal?: AbortSignal): Promise<Polled[]> {
  const all = book.hosts();
  const hosts = flags.on === undefined ? all : selectHosts(all, flags.on);
  const progress = createProgress("polled");
  let done = 0;
  try {
    const polled = () => {
      done++;
      if (!flags.watch) progress.show(done, hosts.length);
    };
    return await pollHosts(hosts, {
      concurrency: flags.concurrency,
      timeoutMs: flags.timeout * 1_000,
      signal,
      polled,
    });
  } finally {
    progress.end();
  }
}

function shown(flags: { readonly json: boolean }, results: readonly Polled[]): number {
  print(flags, results, () => pollTable(results));
  return results.every(({ healthy }) => healthy) ? 0 : 1;
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
