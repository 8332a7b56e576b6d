import { writeExport } from "../src/audit/export";
import type { ListedRow } from "../src/audit/list";
import { clearAudit, listAudit, logEvent, openLog, pruneAudit, verifyAudit } from "../src/audit/operations";
import type { Verdict } from "../src/audit/verify";
import { verifyExport } from "../src/audit/verify-export";
import { type CommandGroup, command, print, withService } from "../src/cli/command";
import { ask, onHosts } from "../src/cli/fan-out";
import { callOperation } from "../src/core/call";
import { localCaller } from "../src/core/caller";
import { parseInput } from "../src/core/input";
import { badInput } from "../src/lib/errors";
import { createProgress } from "../src/lib/progress";
import { printable } from "../src/lib/sanitize";
import type { Service } from "../src/service";

const list = command({
  builder: (argv) =>
    onHosts(argv)
      .option("event-type", { type: "string", describe: "Only rows of this type" })
      .option("host-id", { type: "string", describe: "Only rows about this host or client" })
      .option("since", { type: "string", describe: "Only rows from this time on (ISO 8601, UTC)" })
      .option("until", { type: "string", describe: "Only rows before this time" })
      .option("before-id", { type: "number", describe: "Only rows with a lower id" })
      .option("limit", { type: "number", default: 200, describe: "The most rows, 1 to 10,000" })
      .example("$0 audit list --event-type rest_api --limit 20", "The latest requests")
      .example("$0 audit list --since 2026-04-01 --until 2026-05-01", "A month"),
  handler: (flags) =>
    withService(flags, (service) => {
      const query = {
        event_type: flags.eventType,
        host_id: flags.hostId,
        limit: flags.limit,
        since: flags.since,
        until: flags.until,
        before_id: flags.beforeId,
      };
      return ask(service, flags, listAudit, query, {
        columns: ["ID", "TIME", "TYPE", "ABOUT", "VIEWER", "DETAIL"],
        rows: ({ rows }) =>
          rows.map(({ id, ts, event_type, host_id, viewer_id, detail }) => [
            `${id}`,
            ts,
            event_type,
            host_id ?? "",
            viewer_id ?? "",
            detail ?? "",
          ]),
        text: ({ rows }) => rows.map(rowLine).join("\n") || "no rows",
        none: "no rows",
      });
    }),
});

const log = command({
  builder: (argv) =>
    argv
      .positional("type", { type: "string", demandOption: true, describe: "What kind of event it is" })
      .option("host-id", { type: "string", describe: "The host or client it concerns" })
      .option("viewer-id", { type: "string", describe: "The viewer it concerns" })
      .option("detail", { type: "string", describe: "What happened" })
      .example('$0 audit log maintenance --detail "disk replaced"', "Put an event on record"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const event = {
        event_type: flags.type,
        host_id: flags.hostId ?? null,
        viewer_id: flags.viewerId ?? null,
        detail: flags.detail ?? null,
      };
      const written = await callOperation(service, logEvent, event, localCaller(service, "cli"));
      print(flags, written, () => `Row ${written.id} written`);
      return 0;
    }),
});

const verify = command({
  builder: (argv) =>
    onHosts(argv)
      .option("file", { type: "string", describe: "Verify this export or archive instead (.jsonl, .gz)" })
      .option("noted", { type: "string", describe: "ID:HASH, the head of an earlier verification" })
      .conflicts("file", "on")
      .conflicts("noted", "on")
      .example("$0 audit verify", "Chain OK (1234 rows), or exit code 1")
      .example("$0 audit verify --file export.jsonl", "Anywhere, without the log")
      .example("$0 audit verify --noted 1200:5f…", "Still the log it was then"),
  handler: async (flags) => {
    const input = flags.noted === undefined ? {} : { noted: flags.noted };
    const { noted } = parseInput(verifyAudit.input, input);
    if (flags.file !== undefined) {
      // Without a service, which would want a folder for its configuration.
      const verdict = await verdictOn(flags.file, noted);
      print(flags, verdict, () => verdictLine(verdict));
      return verdict.ok ? 0 : 1;
    }
    return withService(flags, (service) => {
      const view = {
        columns: ["CHAIN", "ROWS", "BROKEN AT", "REASON"],
        rows: ({ ok, total_rows, broken_at_id, reason }: Verdict) => [
          [ok ? "OK" : "BROKEN", `${total_rows}`, `${broken_at_id ?? ""}`, reason ?? ""],
        ],
        text: verdictLine,
        good: ({ ok }: Verdict) => ok,
      };
      return ask(service, flags, verifyAudit, input, view, () => verdictHere(service, noted));
    });
  },
});

async function verdictOn(file: string, noted: string | undefined): Promise<Verdict> {
  const progress = createProgress("bytes verified");
  try {
    return await verifyExport(file, { noted, progress: progress.show });
  } finally {
    progress.end();
  }
}

async function verdictHere(service: Service, noted: string | undefined): Promise<Verdict> {
  const progress = createProgress("rows verified");
  try {
    const log = await openLog(service);
    return await log.verify({ noted, progress: progress.show });
  } finally {
    progress.end();
  }
}

const exportRows = command({
  builder: (argv) =>
    argv
      .positional("file", { type: "string", default: "-", describe: "Where to; - for stdout" })
      .example("$0 audit export log.jsonl", "One row a line, with its id and both hashes")
      .example("$0 audit export | jq -r .detail", "Into another program"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const log = await openLog(service);
      if (flags.file !== "-") await writeExport(flags.file, log.exported());
      else for await (const lines of log.exported()) await Bun.write(Bun.stdout, lines);
      return 0;
    }),
});

const prune = command({
  builder: (argv) =>
    argv
      .option("keep", { type: "number", describe: "How many of the newest rows stay" })
      .option("before", { type: "string", describe: "Rows from before this time go (ISO 8601, UTC)" })
      .option("archive", { type: "string", describe: "File for what goes (.jsonl, .gz compresses)" })
      .conflicts("keep", "before")
      .example("$0 audit prune --keep 100000", "The rest to {config_dir}/audit-archive")
      .example("$0 audit prune --before 2026-01-01 --archive 2025.jsonl.gz", "A year to a file"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const { keep, before, archive } = flags;
      const pruned = await callOperation(
        service,
        pruneAudit,
        { keep, before, archive },
        localCaller(service, "cli"),
      );
      print(flags, pruned, () =>
        pruned.archive === null
          ? "Nothing to remove"
          : `${rowsText(pruned.deleted)} moved to ${printable(pruned.archive)}`,
      );
      return 0;
    }),
});

const clear = command({
  builder: (argv) =>
    argv
      .option("yes", { type: "boolean", default: false, describe: "Yes, remove every row" })
      .example("$0 audit export all.jsonl && $0 audit clear --yes", "Keep a copy first"),
  handler: (flags) =>
    withService(flags, async (service) => {
      if (!flags.yes) throw badInput("clear removes every row of the audit log: say --yes if that is meant");
      const cleared = await callOperation(service, clearAudit, {}, localCaller(service, "cli"));
      print(flags, cleared, () => `${rowsText(cleared.deleted)} cleared; a new first row says so`);
      return 0;
    }),
});

export default {
  examples: [
    ["$0 audit list --limit 20", "The newest rows"],
    ["$0 audit verify", "Exit code 1 when the chain is broken"],
  ],
  group: {
    list: { describe: "List rows, newest first", ...list },
    verify: { describe: "Check that the chain is whole", ...verify },
    "export [file]": { describe: "Write all rows as JSON lines", ...exportRows },
    prune: { describe: "Move the oldest rows to an archive", ...prune },
    clear: { describe: "Remove every row", ...clear },
    "log <type>": { describe: "Append a row", ...log },
  },
} satisfies CommandGroup;

function verdictLine({ ok, broken_at_id, total_rows, reason }: Verdict): string {
  if (ok) return `Chain OK (${total_rows} rows)`;
  const where = broken_at_id === null ? "" : ` at row id ${broken_at_id} of ${total_rows}`;
  return `Chain broken${where}: ${printable(reason ?? "")}`;
}

const rowsText = (count: number) => (count === 1 ? "1 row" : `${count} rows`);

function rowLine({ id, ts, event_type, host_id, viewer_id, detail }: ListedRow): string {
  const who = [host_id, viewer_id].map((text) => printable(text ?? "-", 60)).join(" ");
  return `${id}  ${printable(ts, 40)}  ${printable(event_type, 40)}  ${who}  ${printable(detail ?? "-", 500)}`;
}
