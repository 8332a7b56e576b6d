/** `svc audit`: reads, verifies, exports and prunes the audit log, and verifies proofs offline. */
import * as v from "valibot";
import { type Group, print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { field, flag, path } from "../src/core/fields";
import { verifyFork } from "../src/desk/witness/operations";
import {
  archivedHere,
  auditStatus,
  clearAudit,
  exportAudit,
  listAudit,
  logEvent,
  pruneAudit,
  verifyAudit,
} from "../src/host/audit/operations";
import { verifyRun } from "../src/host/audit/receipt/operations";
import { auditCheckpoint, auditKey, auditProof, verifyProofFile } from "../src/host/audit/witness/operations";
import { badInput } from "../src/lib/errors";
import { writeNamedFile } from "../src/lib/files";
import { printable } from "../src/lib/sanitize";
import { timeText } from "../src/lib/time-text";

type Row = v.InferOutput<typeof listAudit.output>["rows"][number];
type Status = v.InferOutput<typeof auditStatus.output>;
type Verdict = v.InferOutput<typeof verifyAudit.output>;
type ProofReport = v.InferOutput<typeof verifyProofFile.output>;

const rowsText = (count: number) => (count === 1 ? "1 row" : `${count} rows`);

export default {
  verbs: {
    list: view(listAudit, {
      columns: ["ID", "TIME", "TYPE", "ABOUT", "VIEWER", "DETAIL"],
      rows: ({ rows }) =>
        rows.map((row) => [
          `${row.id}`,
          row.ts,
          row.event_type,
          row.host_id ?? "",
          row.viewer_id ?? "",
          row.detail ?? "",
        ]),
      none: "no rows",
      warnings: ({ rows, cut }) =>
        cut ? [`older rows are left out, as these are large: --before-id ${rows.at(-1)?.id}`] : [],
      examples: [
        ["$0 audit list --event-type rest_api --limit 20", "The latest requests"],
        ["$0 audit list --since 1h", "The last hour"],
        ["$0 audit list --since 2026-04-01 --until 2026-05-01", "A month"],
      ],
    }),
    status: view(auditStatus, {
      text: ({ rows, event_types, patrolled }) =>
        [
          `${rowsText(rows)}${rows > 0 ? ` of ${event_types.map((type) => printable(type, 200)).join(", ")}` : ""}`,
          ...(patrolled ? patrolLines(patrolled) : []),
        ].join("\n"),
      good: ({ patrolled }) => !patrolled?.altered.length,
      examples: [["$0 audit status", "How many rows there are, and of which types"]],
    }),
    verify: view(verifyAudit, {
      columns: ["CHAIN", "ROWS", "BROKEN AT", "REASON"],
      rows: ({ ok, total_rows, broken_at_id, reason }) => [
        [ok ? "OK" : "BROKEN", `${total_rows}`, `${broken_at_id ?? ""}`, reason ?? ""],
      ],
      text: verdictLine,
      good: ({ ok }) => ok,
      examples: [
        ["$0 audit verify", "Chain OK (1234 rows), or exit code 1"],
        ["$0 audit verify --file export.jsonl", "An export, on any machine"],
        ["$0 audit verify --noted 1200:5f…", "Check that row 1200 has not changed"],
        ["$0 audit verify --witnessed", "Check what witnesses have cosigned, too"],
      ],
    }),
    key: view(auditKey, {
      columns: ["KEY"],
      rows: ({ vkey }) => [[vkey]],
      text: ({ vkey }) => printable(vkey),
      examples: [["$0 audit key", "What verifies checkpoints and proofs of this log: keep it elsewhere"]],
    }),
    checkpoint: view(auditCheckpoint, {
      columns: ["SIZE", "SIGNED", "LOG"],
      rows: ({ size, made, note }) => [[`${size}`, made, note.split("\n", 1)[0] ?? ""]],
      text: ({ note }) =>
        note
          .trimEnd()
          .split("\n")
          .map((line) => printable(line))
          .join("\n"),
      examples: [["$0 audit checkpoint", "The newest one, with its signature and cosignatures"]],
    }),
    proof: view(auditProof, {
      positionals: ["id"],
      extra: {
        output: field(v.optional(path(v.string()), "-"), "File to write (.tlog-proof), - for stdout"),
      },
      async run({ call, input, extra, globals }) {
        const answer = await call(input);
        const proof = await answer.text();
        if (extra.output === "-") print(globals, { proof }, () => proof.trimEnd());
        else {
          writeNamedFile(extra.output, proof, "--output");
          print(globals, { output: extra.output }, () => printable(extra.output));
        }
        return 0;
      },
      examples: [["$0 audit proof 1200 --output row-1200.tlog-proof", "For somebody who trusts a witness"]],
    }),
    "verify-proof": view(verifyProofFile, {
      offline: true,
      positionals: ["proof"],
      text: provenLines,
      good: ({ ok }) => ok,
      examples: [
        ["$0 audit verify-proof row-1200.tlog-proof --key svc.host/…", "A proof of another host, anywhere"],
        ["$0 audit verify-proof row.tlog-proof --witness svc.witness/…", "And that this witness saw it"],
      ],
    }),
    "verify-run": view(verifyRun, {
      offline: true,
      positionals: ["file"],
      text: receiptText,
      good: ({ ok }) => ok,
      examples: [
        ["$0 audit verify-run run.json --key svc.host/…", "A receipt of another host, anywhere"],
        [
          "$0 audit verify-run run.json --witness svc.witness/…",
          "And that this witness saw the log before and after",
        ],
      ],
    }),
    export: view(exportAudit, {
      positionals: ["output"],
      names: { output: "file" },
      async run({ call, globals, input }) {
        const answer = await call(input.output === "-" ? {} : input);
        if (!(answer instanceof Response)) {
          print(globals, answer, () => `${printable(answer.output)}  ${rowsText(answer.rows)}`);
          return 0;
        }
        for await (const lines of answer.body ?? []) await Bun.write(Bun.stdout, lines);
        return 0;
      },
      examples: [
        ["$0 audit export log.jsonl", "One row a line, with its id and both hashes"],
        ["$0 audit export | jq -r .detail", "Pipe the rows into another program"],
      ],
    }),
    prune: view(pruneAudit, {
      hidden: ["archived"],
      complete: (input, _, service) => archivedHere(service, input),
      text: ({ archive, deleted }) =>
        archive === null ? "Nothing to remove" : `${rowsText(deleted)} moved to ${printable(archive)}`,
      examples: [
        ["$0 audit prune --keep 100000", "Archive all but the newest rows"],
        ["$0 audit prune --before 2026-01-01 --archive 2025.jsonl.gz", "Archive old rows in this file"],
      ],
    }),
    clear: view(clearAudit, {
      extra: { yes: flag("Confirm that all rows are removed") },
      complete(input, { yes }) {
        if (!yes) throw badInput("clear removes every row of the audit log: confirm with --yes");
        return input;
      },
      text: ({ deleted }) => `${rowsText(deleted)} cleared; a new first row records it`,
      examples: [["$0 audit export all.jsonl && $0 audit clear --yes", "Keep a copy first"]],
    }),
    "verify-fork": view(verifyFork, {
      offline: true,
      positionals: ["file"],
      text: ({ ok, vkey, sizes, roots }) =>
        ok
          ? [
              `This log contradicts itself: its key has signed two checkpoints that no one log has.`,
              `key:   ${printable(vkey, 400)}`,
              `sizes: ${sizes.join(" and ")} leaves`,
              `roots of the first ${sizes[0]}: ${roots.join(" and ")}`,
            ].join("\n")
          : "The file proves nothing: its checkpoints may be of one log",
      good: ({ ok }) => ok,
      examples: [["$0 audit verify-fork fork.json", "Exit code 0 when the file proves the fork"]],
    }),
    log: view(logEvent, {
      positionals: ["event_type"],
      names: { event_type: "type" },
      text: ({ id }) => `Row ${id} written`,
      examples: [['$0 audit log maintenance --detail "disk replaced"', "Record an event"]],
    }),
  },
} satisfies Group;

function verdictLine({ ok, broken_at_id, total_rows, reason, head, witnessed, restored }: Verdict): string {
  const seen = `${witnessed ? `; ${witnessedText(witnessed)}` : ""}${restored ? `\n${restoredText(restored)}` : ""}`;
  if (ok) return `Chain OK (${total_rows} rows)${seen}`;
  // A chain that is broken has no head.
  if (head !== null && restored?.fault && witnessed)
    return `Chain OK (${total_rows} rows), but ${printable(reason ?? "")}`;
  if (head !== null) return `Chain OK (${total_rows} rows), but not witnessed: ${printable(reason ?? "")}`;
  const where = broken_at_id === null ? "" : ` at row id ${broken_at_id} of ${total_rows}`;
  return `Chain broken${where}: ${printable(reason ?? "")}`;
}

function restoredText(restored: NonNullable<Verdict["restored"]>): string {
  const { id, ts, former_size, size, reason } = restored;
  const who = restored.by_own_desk
    ? "the desk of this host"
    : "the desk whose key it names, which is not that of this host,";
  return `restored: row ${id} of ${timeText(ts)} says that ${who} accepted ${size} leaves in place of ${former_size}: ${printable(reason ?? "", 500)}`;
}

function witnessedText({ row_id, by, since }: NonNullable<Status["witnessed"]>) {
  const names = by.map(({ name, time }) => `${printable(name, 100)} at ${timeText(time)}`).join(", ");
  return `witnessed up to row ${row_id ?? "none"} by ${names}; first at ${timeText(since)}`;
}

function patrolLines({ verified_at, altered }: NonNullable<Status["patrolled"]>): string[] {
  if (altered.length > 0)
    return altered.map(
      ({ id, reason }) => `ALTERED: ${id === null ? "" : `row ${id}: `}${printable(reason, 500)}`,
    );
  return [
    verified_at === null
      ? "the server is verifying all rows for the first time"
      : `all rows were verified until ${timeText(verified_at)}`,
  ];
}

function provenLines({ ok, reason, origin, size, index, row, witnesses }: ProofReport) {
  if (!ok) return `Proves nothing: ${printable(reason ?? "")}`;
  return [
    `Proven: leaf ${index} of ${size} of ${printable(origin)}`,
    ...witnesses.map(({ name, time }) => `Cosigned at ${timeText(time)} by ${printable(name, 100)}`),
    ...(row
      ? [rowLine(row), "The id, which comes first, is in no hash: it only says where the row was found."]
      : []),
  ].join("\n");
}

type Receipt = v.InferOutput<typeof verifyRun.output>;

function receiptText({ ok, reason, origin, plan, runs }: Receipt): string {
  if (!ok) return `Proves nothing: ${printable(reason ?? "", 1_000)}`;
  const about = plan ? planLines(plan, runs.length, origin) : [];
  return [...about, ...runs.flatMap((one) => runLines(one, origin))].join("\n");
}

function planLines(plan: NonNullable<Receipt["plan"]>, receipts: number, origin: string): string[] {
  return [
    `Proven by ${printable(origin)}: plan ${printable(plan.id)}, ${printable(plan.state)}, ${plan.hosts} hosts, ${receipts} with a receipt`,
    ...plan.decided.map(({ what, at, surface, client, token, passkey }) => {
      const who = [surface, client, token && `token ${token}`].filter(Boolean).join(", ");
      return `  ${what} by ${printable(who, 300)} at ${timeText(printable(at, 40))}${signedText(passkey)}`;
    }),
    ...inTimeLines(plan.yes_in_time, "desk"),
    plan.whole
      ? "  no decision was left out up to its end, at which its hosts were as the receipt says"
      : "  NOT SHOWN TO BE WHOLE: which decisions there were, and how it ended at its hosts, is the word of the desk",
    ...sightLines(plan),
    ...plan.missing.map(
      ({ label, state, why }) => `NO RECEIPT: ${printable(label)} (${state}): ${printable(why, 300)}`,
    ),
  ];
}

const signedText = (
  passkey: { readonly credential: string; readonly origin: string } | null | undefined,
): string =>
  passkey
    ? `, signed with the passkey ${printable(passkey.credential, 100)} at ${printable(passkey.origin, 300)}`
    : "";

/** What is to be known of yeses besides that they are signed. @param whose log has them. */
const inTimeLines = (isKnown: boolean | null, whose: string): string[] =>
  isKnown === false ? [`  that the yes was given in its time is the word of the ${whose}`] : [];

function runLines(one: Receipt["runs"][number], origin: string): string[] {
  const { label, run, rows, parameters } = one;
  const { asked_by: by } = run;
  const who = [by.surface, by.client, by.token && `token ${by.token}`, by.agent && `agent ${by.agent}`];
  const where = label === null ? `Proven by ${printable(origin)}:` : `${printable(label)}:`;
  return [
    `${where} run ${run.id} ended ${run.status}, ${rows} rows, none left out up to its end`,
    ...(one.content_shown === false
      ? ["  CONTENT NOT SHOWN: that it ran what the plan was applied for is the word of the desk"]
      : []),
    `  asked by ${printable(who.filter(Boolean).join(", "), 300)}, ${timeText(printable(run.started, 40))} to ${timeText(printable(run.ended, 40))} by the clock of the host`,
    `  commands ${printable(run.commands.join(","), 500)}`,
    ...run.allowed.map(
      ({ id, allowed_by, passkey }) =>
        `  allowed by ${allowed_by === null ? "the host's own token" : `token ${printable(allowed_by)}`} (approval ${id})${signedText(passkey)}`,
    ),
    ...inTimeLines(one.yes_in_time, "host"),
    ...(parameters ? ["  its parameters are those that were given"] : []),
    ...sightLines(one),
  ];
}

/** Who has seen a log, and when. */
function sightLines({ window, witnesses }: Pick<Receipt["runs"][number], "window" | "witnesses">): string[] {
  if (!window) return ["  when it was on record is the word of its host: no witness was asked (--witness)"];
  return [
    `  on record between ${timeText(window.after)} and ${timeText(window.before)}, by the clocks of the witnesses`,
    ...witnesses.map(
      ({ name, asked }) =>
        `  seen by ${printable(name, 100)}${asked ? "" : ", which the desk itself names as its witness (--witness makes sure)"}`,
    ),
  ];
}

function rowLine({ id, ts, event_type, host_id, viewer_id, detail }: Row): string {
  const who = [host_id, viewer_id].map((text) => printable(text ?? "-", 60)).join(" ");
  return `${id}  ${timeText(printable(ts, 40))}  ${printable(event_type, 40)}  ${who}  ${printable(detail ?? "-", 500)}`;
}
