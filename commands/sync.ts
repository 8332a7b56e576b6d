import { command, print, terminated, withService } from "../src/cli/command";
import { iceOptions, withIceFlags } from "../src/cli/ice-flags";
import { localCaller } from "../src/core/caller";
import { parseInput } from "../src/core/input";
import { badInput } from "../src/lib/errors";
import { jsonLine, printable } from "../src/lib/sanitize";
import type { Service } from "../src/service";
import type { SyncEvents, SyncInfo } from "../src/sync/manager";
import { MAX_INTERVAL_S, MIN_INTERVAL_S, SYNC_INPUT } from "../src/sync/operations";

/** How often the progress line is written anew, milliseconds. */
const REDRAW_MS = 250;

export default command({
  builder: (argv) =>
    withIceFlags(argv)
      .positional("dir", { type: "string", demandOption: true, describe: "The folder to watch" })
      .option("to", { type: "string", demandOption: true, describe: "Label of a host in the address book" })
      .option("subdirs", { type: "boolean", default: false, describe: "Also what is in folders below it" })
      .option("interval", { type: "number", default: 3, describe: "Seconds between two looks at the folder" })
      .option("resume", {
        type: "boolean",
        default: false,
        describe: "Begin with what changed since the last sync to that host",
      })
      .option("once", {
        type: "boolean",
        default: false,
        describe: "Send what changed since the last sync, then end",
      })
      .option("dry-run", {
        type: "boolean",
        default: false,
        describe: "List what --once would send",
      })
      .example("$0 sync ./reports --to lab-01", "Send each file that is new or changes from now on")
      .example("$0 sync ./reports --to lab-01 --once", "Send what lab-01 has not got, then end")
      .example("$0 sync ./reports --to lab-01 --subdirs --resume", "Go on where the last sync ended"),
  handler: async (flags) =>
    withService(flags, (service) => sync(service, flags), {
      peers: { ice: await iceOptions(flags), forwardSamples: true },
    }),
});

interface Flags {
  readonly json: boolean;
  readonly dir: string;
  readonly to: string;
  readonly subdirs: boolean;
  readonly interval: number;
  readonly resume: boolean;
  readonly once: boolean;
  readonly dryRun: boolean;
}

async function sync(service: Service, flags: Flags): Promise<number> {
  if (!(flags.interval >= MIN_INTERVAL_S && flags.interval <= MAX_INTERVAL_S)) {
    throw badInput(
      `interval: expected ${MIN_INTERVAL_S} to ${MAX_INTERVAL_S} seconds but found ${flags.interval}`,
    );
  }
  const request = parseInput(SYNC_INPUT, {
    dir: flags.dir,
    to: flags.to,
    include_subdirs: flags.subdirs,
    poll_interval_s: flags.interval,
    resume: flags.resume,
  });
  const syncs = await service.syncs();
  if (flags.dryRun) {
    const files = await syncs.changes(request);
    print(flags, { files, count: files.length }, () =>
      files.length === 0 ? "nothing to send" : files.map(({ name }) => printable(name)).join("\n"),
    );
    return 0;
  }
  await localCaller(service, "cli").announce(
    `sync.start dir=${JSON.stringify(request.dir)} to=${JSON.stringify(request.to)}`,
  );
  const shown = showProgress(flags.json);
  try {
    if (flags.once) return finish(flags.json, await syncs.once(request, shown.events));
    const sync = await syncs.start(request, shown.events);
    service.log.info(`watching ${sync.info().watch_dir}; Ctrl-C ends it`);
    await terminated();
    await sync.stop();
    return finish(flags.json, sync.info());
  } finally {
    shown.end();
  }
}

/** A line for each file on stdout; on a terminal also one on stderr that says how far it is, in all and by file. */
function showProgress(json: boolean): { events: SyncEvents; end(): void } {
  const underWay = new Map<string, string>();
  let info: (() => SyncInfo) | undefined;
  const draw = (line: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line.slice(0, process.stderr.columns - 1)}`);
  };
  const drawAll = () => {
    if (!info || underWay.size === 0) return draw("");
    const { sent_files, pending } = info();
    const files = Array.from(underWay, ([name, share]) => `${printable(name, 40)} ${share}`);
    draw(`${sent_files} of ${sent_files + pending} files  ${files.join("  ")}`);
  };
  const say = (event: "sent" | "failed", name: string, error?: string) => {
    underWay.delete(name);
    draw("");
    const text = [event.padEnd(6), printable(name), printable(error ?? "")].join(" ").trimEnd();
    console.log(json ? jsonLine({ event, name, ...(error !== undefined && { error }) }) : text);
  };
  const timer = process.stderr.isTTY ? setInterval(drawAll, REDRAW_MS) : undefined;
  return {
    events: {
      started(status) {
        info = status;
      },
      progress: (name, bytes, size) =>
        void underWay.set(name, `${Math.floor((100 * bytes) / (size || 1))} %`),
      sent: (name) => say("sent", name),
      failed: (name, error) => say("failed", name, error),
    },
    end() {
      clearInterval(timer);
      draw("");
    },
  };
}

function finish(json: boolean, info: SyncInfo): number {
  const { sent_files, sent_bytes, pending, error, errors, passed_over, connection_error } = info;
  const left = pending > 0 ? `, ${pending} not sent` : "";
  const files = sent_files === 1 ? "1 file" : `${sent_files} files`;
  print({ json }, info, () => `${files} sent, ${mebibytes(sent_bytes)}${left}`);
  if (!json) {
    for (const { name, error } of errors) console.error(`not sent: ${printable(name)}: ${printable(error)}`);
    for (const { name, reason } of passed_over)
      console.error(`passed over: ${printable(name)}: ${printable(reason)}`);
    if (error !== null) console.error(`the folder cannot be read: ${printable(error)}`);
    if (pending > 0 && connection_error) console.error(`no connection: ${printable(connection_error)}`);
  }
  return pending > 0 || error !== null ? 1 : 0;
}

const mebibytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`;
