import * as v from "valibot";
import { ICE_FIELDS, iceOptions } from "../src/cli/ice-flags";
import { print, terminated } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { localCaller } from "../src/core/caller";
import { field } from "../src/core/fields";
import { parseInput } from "../src/core/input";
import { jsonLine, printable } from "../src/lib/sanitize";
import type { SyncEvents, SyncInfo } from "../src/sync/manager";
import { startSync } from "../src/sync/operations";

/** How often the progress line is drawn again, milliseconds. */
const REDRAW_MS = 250;

export default view(startSync, {
  on: false,
  describe: "Send the files of a folder to another host",
  positionals: ["dir"],
  names: { include_subdirs: "subdirs", poll_interval_s: "interval" },
  extra: {
    once: field(v.optional(v.boolean(), false), "Send what changed since the last sync, then end"),
    dry_run: field(v.optional(v.boolean(), false), "List what --once would send"),
    ...ICE_FIELDS,
  },
  service: async (extra) => ({ peers: { ice: await iceOptions(extra), forwardSamples: true } }),
  async run({ service, globals, input, extra }) {
    const request = parseInput(startSync.input, input);
    const syncs = await service.syncs();
    if (extra.dry_run) {
      const files = await syncs.changes(request);
      print(globals, { files, count: files.length }, () =>
        files.length === 0 ? "nothing to send" : files.map(({ name }) => printable(name)).join("\n"),
      );
      return 0;
    }
    await localCaller(service, "cli").announce(
      `sync.start dir=${JSON.stringify(request.dir)} to=${JSON.stringify(request.to)}`,
    );
    const shown = showProgress(globals.json);
    try {
      if (extra.once) return finish(globals.json, await syncs.once(request, shown.events));
      const sync = await syncs.start(request, shown.events);
      service.log.info(`watching ${sync.info().watch_dir}; Ctrl-C ends it`);
      await terminated();
      await sync.stop();
      return finish(globals.json, sync.info());
    } finally {
      shown.end();
    }
  },
  examples: [
    ["$0 sync ./reports --to lab-01", "Send each file that is new or changes from now on"],
    ["$0 sync ./reports --to lab-01 --once", "Send what lab-01 has not got, then end"],
    ["$0 sync ./reports --to lab-01 --subdirs --resume", "Go on where the last sync ended"],
  ],
});

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
