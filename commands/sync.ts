/** `svc sync`: sends the files of a folder to another host, as they change. */
import { streamOut, writeErr } from "../src/cli/output";
import { print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { callOperation } from "../src/core/call";
import { localCaller, type Progress } from "../src/core/caller";
import { ICE_FIELDS } from "../src/host/peers/options";
import { type SyncEvent, type SyncInfo, startSync, stopSync } from "../src/host/sync/operations";
import { printable } from "../src/lib/sanitize";
import { terminated } from "../src/lib/signals";

/** How often the progress line is drawn again, milliseconds. */
const REDRAW_MS = 250;

export default view(startSync, {
  on: false,
  positionals: ["dir"],
  extra: ICE_FIELDS,
  service: (ice) => ({ ...ice, forwardSamples: true }),
  async run({ service, globals, input, call }) {
    const shown = showProgress(globals.json);
    try {
      const sync = await call(input, shown);
      if (sync.files) {
        const names = sync.files.map(({ name }) => printable(name));
        print(globals, sync, () => names.join("\n") || "nothing to send");
        if (sync.connection_error !== null)
          service.log.warn(
            `${sync.to} cannot be reached: svc compared with what it sent to that host before`,
          );
        return 0;
      }
      if (input.once) return finish(globals.json, sync);
      service.log.info(`watching ${sync.watch_dir}; Ctrl-C ends it`);
      await terminated();
      const stopped = await callOperation(service, stopSync, { id: sync.id }, localCaller(service, "cli"));
      return finish(globals.json, stopped);
    } finally {
      shown.end();
    }
  },
  examples: [
    ["$0 sync ./reports --to lab-01", "Send each file that is new or changes from now on"],
    ["$0 sync ./reports --to lab-01 --once", "Send what lab-01 does not have yet, then end"],
    ["$0 sync ./reports --to lab-01 --include-subdirs --resume", "Continue after the last sync"],
  ],
});

/** A line for each file on stdout; on a terminal also a line on stderr with the counts and the files under way. */
function showProgress(json: boolean) {
  streamOut();
  const sending = new Map<string, string>();
  let counts = "";
  const draw = (line: string) => {
    if (process.stderr.isTTY) writeErr(`\r\x1b[K${line.slice(0, process.stderr.columns - 1)}`);
  };
  const drawAll = () => {
    const files = Array.from(sending, ([name, share]) => `${printable(name, 40)} ${share}`);
    draw(files.length === 0 ? "" : `${counts}  ${files.join("  ")}`);
  };
  const timer = process.stderr.isTTY ? setInterval(drawAll, REDRAW_MS) : undefined;
  return {
    progress({ done, total, item }: Progress) {
      const event = item as SyncEvent;
      counts = `${done} of ${total} files`;
      if (event.event === "sending") {
        sending.set(event.name, `${Math.floor((100 * event.bytes) / (event.size || 1))} %`);
        return;
      }
      sending.delete(event.name);
      draw("");
      const error = event.event === "failed" ? printable(event.error) : "";
      const text = `${event.event.padEnd(6)} ${printable(event.name)} ${error}`.trimEnd();
      print({ json }, event, () => text);
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
  print({ json }, info, () => `${files} sent, ${(sent_bytes / 1_048_576).toFixed(1)} MiB${left}`);
  if (!json) {
    for (const { name, error } of errors) console.error(`not sent: ${printable(name)}: ${printable(error)}`);
    for (const { name, reason } of passed_over)
      console.error(`skipped: ${printable(name)}: ${printable(reason)}`);
    if (error !== null) console.error(`the folder cannot be read: ${printable(error)}`);
    if (pending > 0 && connection_error) console.error(`no connection: ${printable(connection_error)}`);
  }
  return pending > 0 || error !== null ? 1 : 0;
}
