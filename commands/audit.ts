import type { ListedRow } from "../src/audit/list";
import { listAudit, logEvent } from "../src/audit/operations";
import { callOperation } from "../src/call";
import { localCaller } from "../src/caller";
import { type CommandGroup, command, print, withService } from "../src/cli";
import { printable } from "../src/lib/text";

const list = command({
  builder: (argv) =>
    argv
      .option("event-type", { type: "string", describe: "Only rows of this type" })
      .option("host-id", { type: "string", describe: "Only rows about this host or client" })
      .option("since", { type: "string", describe: "Only rows from this time on (ISO 8601, UTC)" })
      .option("until", { type: "string", describe: "Only rows before this time" })
      .option("before-id", { type: "number", describe: "Only rows with a lower id" })
      .option("limit", { type: "number", default: 200, describe: "The most rows, 1 to 10,000" })
      .example("$0 audit list --event-type rest_api --limit 20", "The latest requests")
      .example("$0 audit list --since 2026-04-01 --until 2026-05-01", "A month"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const answer = await callOperation(
        service,
        listAudit,
        {
          event_type: flags.eventType,
          host_id: flags.hostId,
          limit: flags.limit,
          since: flags.since,
          until: flags.until,
          before_id: flags.beforeId,
        },
        localCaller(service, "cli"),
      );
      print(flags, answer, () => answer.rows.map(rowLine).join("\n"));
      return 0;
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

export default {
  group: {
    list: { describe: "List rows, newest first", ...list },
    "log <type>": { describe: "Append a row", ...log },
  },
} satisfies CommandGroup;

function rowLine({ id, ts, event_type, host_id, viewer_id, detail }: ListedRow): string {
  const who = [host_id, viewer_id].map((text) => printable(text ?? "-", 60)).join(" ");
  return `${id}  ${printable(ts, 40)}  ${printable(event_type, 40)}  ${who}  ${printable(detail ?? "-", 500)}`;
}
