/** `svc passkeys`: lists, invites and removes the passkeys with which people allow things. */
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { timeText } from "../src/lib/time-text";
import { invitePasskey, listPasskeys, removePasskey } from "../src/trust/operations/passkeys";

const ownerText = (holder: string | null) => holder ?? "owner";

export default {
  verbs: {
    list: view(listPasskeys, {
      columns: ["ID", "LABEL", "WHOSE", "FOR", "REGISTERED", "LAST USED", "ALLOWED BY"],
      rows: ({ passkeys }) =>
        passkeys.map(({ id, label, holder, rp_id, created, last_used, allowed_by }) => [
          ...[id, label, ownerText(holder), rp_id, timeText(created)],
          last_used === null ? "never" : timeText(last_used),
          // A passkey by its name, as long as it is there.
          passkeys.find((one) => one.id === allowed_by)?.label ?? allowed_by ?? "not known",
        ]),
      none: "no passkeys: the page Approvals of the dashboard registers one",
      examples: [["$0 passkeys list", "Of all people and tokens"]],
    }),
    invite: view(invitePasskey, {
      positionals: ["holder"],
      text: ({ code, holder, expires_s }) =>
        `${code}\nregisters the first passkey of ${ownerText(holder)}, once, within ${expires_s / 60} minutes: on the page Approvals`,
      examples: [["$0 passkeys invite bob", "Give the code to Bob, by another way than the token"]],
    }),
    remove: view(removePasskey, {
      positionals: ["id"],
      text: ({ label, holder }) => `${label} of ${ownerText(holder)} removed: it allows nothing any more`,
      examples: [["$0 passkeys remove mXzT0Qw7c1k", "Such as one that was lost"]],
    }),
  },
} satisfies Group;
