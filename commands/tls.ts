import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { printable } from "../src/lib/sanitize";
import { certificate, renew } from "../src/trust/operations/tls";

export default {
  verbs: {
    cert: view(certificate, {
      text: ({ pem }) => pem.trimEnd(),
      joined: (answers) =>
        answers.map(({ label, body }) => `# ${printable(label)}\n${body.pem.trimEnd()}`).join("\n"),
      examples: [
        ["$0 tls cert", "The certificate of this host, as PEM"],
        ["$0 tls cert --on all > svc-hosts.pem", "One ca_file for Prometheus"],
      ],
    }),
    renew: view(renew, {
      columns: ["PIN", "NEXT ONE", "IN USE FROM"],
      rows: ({ pin, next_spki, next_from }) => [[pin, next_spki ?? "", next_from ?? ""]],
      text: ({ pin, next_spki, next_from }) =>
        next_spki === null ? `in use: ${pin}` : `in use: ${pin}\nfrom ${next_from} on: ${next_spki}`,
      examples: [
        ["$0 tls renew", "A new certificate for the same key: pins of the key stay good"],
        ["$0 tls renew --new-key", "A new key, announced for a day so that desks follow"],
      ],
    }),
  },
} satisfies Group;
