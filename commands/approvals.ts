/** `svc approvals`: lists what waits for the yes of a person, and allows or denies it. */
import type * as v from "valibot";
import { shownTable } from "../src/cli/shown-table";
import type { Group } from "../src/cli/subcommand";
import { leadToPage, wantsPasskey, whenDecided } from "../src/cli/touch";
import { answerHere, view } from "../src/cli/view";
import { allowApproval, denyApproval, listApprovals } from "../src/host/approvals/operations";
import { verifyApproval } from "../src/host/audit/receipt/operations";
import { conflict, notFound } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";
import { timeText } from "../src/lib/time-text";

const COLUMNS = ["ID", "STATE", "ASKED BY", "FROM", "UNTIL", "WHAT", "DIGEST", "DETAIL"];

const NONE = "nothing waits";

/** In characters: more than an approval has, so that nothing is cut off that a person allows. */
const MAX_DETAIL = 20_000;

type Approval = v.InferOutput<typeof listApprovals.output>["approvals"][number];

const rowOf = (one: Approval): string[] => [
  ...[one.id, one.state, one.asked_by ?? "owner", one.client ?? "this host", one.expires_at],
  ...[one.what, one.digest ?? "", one.detail],
];

const whoText = (holder: string | null) =>
  holder === null ? "the owner of the host" : printable(holder, 130);

function signedText(found: v.InferOutput<typeof verifyApproval.output>): string {
  const { id, ok, reason, at, holder, credential, key, origin, text, registered } = found;
  if (text === null) return `${id} was allowed, but proves nothing: ${printable(reason ?? "", 500)}`;
  const verdict = ok
    ? `${whoText(holder)} signed a yes to ${id} with a passkey, at ${timeText(at)}`
    : `${id}: the signature is good, but ${printable(reason ?? "", 500)}`;
  return [
    verdict,
    `  on ${printable(origin ?? "", 300)}, with the passkey ${printable(credential ?? "", 100)}${registered === null ? "" : `, registered ${timeText(registered)}`}`,
    `  key ${printable(key ?? "", 2_000)}`,
    `  signed: ${printable(text, MAX_DETAIL)}`,
  ].join("\n");
}

export default {
  verbs: {
    list: view(listApprovals, {
      columns: COLUMNS,
      rows: ({ approvals }) => approvals.map(rowOf),
      text: ({ approvals }) => {
        const lines = approvals.flatMap(({ id, state, detail }) =>
          state === "waiting" ? [`${id}: ${printable(detail, MAX_DETAIL)}`] : [],
        );
        const summary = shownTable(
          COLUMNS.slice(0, -1),
          approvals.map((one) => rowOf(one).slice(0, -1)),
          NONE,
        );
        return [summary, ...lines].join("\n\n");
      },
      none: NONE,
      examples: [
        ["$0 approvals list", "What waits, and what was decided lately"],
        ["$0 approvals list --on all", "On every host of the address book"],
      ],
    }),
    allow: view(allowApproval, {
      positionals: ["id"],
      async run({ service, input, call, show }) {
        try {
          return show(await call(input));
        } catch (error) {
          if (!wantsPasskey(error)) throw error;
          await leadToPage(service);
        }
        const { may_decide: _, ...decided } = await whenDecided(async () => {
          const { approvals } = await answerHere(service, listApprovals, {});
          const found = approvals.find(({ id }) => id === input.id);
          if (!found) throw notFound(`no approval ${printable(input.id, 40)} any more`);
          return found.state === "waiting" ? undefined : found;
        });
        if (decided.state !== "allowed") throw conflict(`${decided.id} is ${decided.state}`);
        return show(decided);
      },
      text: ({ id, what }) => `${id} allowed: ${what}`,
      examples: [["$0 approvals allow 9f1c2e4a", "Who asked goes on"]],
    }),
    verify: view(verifyApproval, {
      positionals: ["id"],
      text: signedText,
      good: ({ ok }) => ok,
      examples: [["$0 approvals verify 9f1c2e4a", "Who has allowed it with a passkey, and what exactly"]],
    }),
    deny: view(denyApproval, {
      positionals: ["id"],
      text: ({ id, what }) => `${id} denied: ${what}`,
      examples: [["$0 approvals deny 9f1c2e4a", "Who asked is refused"]],
    }),
  },
} satisfies Group;
