import { setTimeout as delay } from "node:timers/promises";
import type { AddressBook } from "../src/admin/book";
import type { ListedHost } from "../src/admin/host";
import {
  addHost,
  DEFAULT_CONCURRENCY,
  DEFAULT_TIMEOUT_S,
  listHosts,
  listTargets,
  removeHost,
} from "../src/admin/operations";
import { pollHosts } from "../src/admin/poll";
import type { Polled } from "../src/admin/polled";
import { selectHosts } from "../src/admin/selection";
import { callOperation } from "../src/call";
import { localCaller } from "../src/caller";
import { type CommandGroup, command, print, terminated, withService } from "../src/cli";
import { badInput } from "../src/lib/errors";
import { readTextFile } from "../src/lib/files";
import { createProgress } from "../src/lib/progress";
import { readSecret } from "../src/lib/secret";
import { table } from "../src/lib/table";

const add = command({
  builder: (argv) =>
    argv
      .positional("label", { type: "string", demandOption: true, describe: "What to call the host" })
      .positional("url", { type: "string", demandOption: true, describe: "Where it answers" })
      .option("token-file", {
        type: "string",
        describe: "File with its token (else standard input, else a prompt)",
      })
      .option("tag", { type: "string", array: true, default: [] as string[], describe: "To select it by" })
      .option("ca", { type: "string", describe: "PEM file with the authority of its certificate" })
      .option("pin", { type: "string", describe: "sha256:… of its certificate" })
      .conflicts("ca", "pin")
      .example("$0 admin add lab-01 http://10.0.0.5:9939 --tag lab < token", "The token on standard input")
      .example("$0 admin add lab-02 https://10.0.0.6:9939 --ca lab-ca.pem", "With its own authority"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const token = await readSecret({
        name: "token",
        file: flags.tokenFile ?? (process.stdin.isTTY ? undefined : "-"),
        flag: "--token-file",
        variable: "SVC_HOST_TOKEN",
      });
      const host = {
        label: flags.label,
        base_url: flags.url,
        token,
        tags: flags.tag,
        ...(flags.ca !== undefined && { ca: readTextFile(flags.ca, "ca") }),
        ...(flags.pin !== undefined && { pin: flags.pin }),
      };
      const added = await callOperation(service, addHost, host, localCaller(service, "cli"));
      print(flags, added, () => hostTable([added]));
      return 0;
    }),
});

const remove = command({
  builder: (argv) =>
    argv
      .positional("label", { type: "string", demandOption: true, describe: "What the host is called" })
      .example("$0 admin remove lab-01", "Forget a host and its token"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const input = { label: flags.label };
      const removed = await callOperation(service, removeHost, input, localCaller(service, "cli"));
      print(flags, removed, () => `${flags.label} removed`);
      return 0;
    }),
});

const list = command({
  builder: (argv) => argv.example("$0 admin list", "Labels, addresses and tags; never tokens"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const hosts = await callOperation(service, listHosts, {}, localCaller(service, "cli"));
      print(flags, hosts, () => hostTable(hosts));
      return 0;
    }),
});

const poll = command({
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

const targets = command({
  builder: (argv) =>
    argv
      .example("$0 admin targets > /etc/prometheus/svc.json", "For file_sd_configs")
      .epilogue("A server gives the same at /admin/targets, for http_sd_configs."),
  handler: (flags) =>
    withService(flags, async (service) => {
      const found = await callOperation(service, listTargets, {}, localCaller(service, "cli"));
      print(flags, found, () => JSON.stringify(found, null, 2));
      return 0;
    }),
});

export default {
  group: {
    "add <label> <url>": { describe: "Add a host", ...add },
    "remove <label>": { describe: "Remove a host", ...remove },
    list: { describe: "List the hosts", ...list },
    poll: { describe: "Ask hosts how they are", ...poll },
    targets: { describe: "Give the hosts to Prometheus", ...targets },
  },
} satisfies CommandGroup;

function hostTable(hosts: readonly ListedHost[]): string {
  if (hosts.length === 0) return "no hosts: `svc admin add` adds one";
  return table(
    ["LABEL", "ADDRESS", "TAGS"],
    hosts.map(({ label, base_url, tags }) => [label, base_url, tags.join(",")]),
  );
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
