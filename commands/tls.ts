/** `svc tls`: prints the TLS certificates of this host or of others, and renews that of this host. */
import { type Group, oneOf, print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { hostCertificates } from "../src/desk/fleet/operations/hosts";
import { printable } from "../src/lib/sanitize";
import { timeText } from "../src/lib/time-text";
import { certificate, renew } from "../src/trust/operations/tls";

const own = view(certificate, { on: false, text: ({ pem }) => pem.trimEnd() });

const ofHosts = view(hostCertificates, {
  async run({ globals, input, call, service }) {
    const answers = await call(input);
    for (const answer of answers) {
      const pem = answer.ok ? answer.result?.pem.trimEnd() : undefined;
      if (globals.json || pem !== undefined)
        print(globals, answer, () => `# ${printable(answer.label)}\n${pem}`);
      if (!answer.ok) service.log.warn(`${answer.label}: ${answer.error}`);
    }
    const linked = answers.filter((answer) => answer.ok && answer.result === null).length;
    if (linked > 0) service.log.info(`reached over their links, which need no certificate: ${linked}`);
    return answers.every(({ ok }) => ok) ? 0 : 1;
  },
});

export default {
  verbs: {
    cert: oneOf(
      [
        ["$0 tls cert", "The certificate of this host, as PEM"],
        ["$0 tls cert --on all > svc-hosts.pem", "One ca_file for Prometheus"],
      ],
      [own, ofHosts],
      ({ on }) => (on === undefined ? own : ofHosts),
    ),
    renew: view(renew, {
      columns: ["PIN", "NEXT ONE", "IN USE FROM"],
      rows: ({ pin, next_spki, next_from }) => [[pin, next_spki ?? "", next_from ? timeText(next_from) : ""]],
      text: ({ pin, next_spki, next_from }) =>
        next_spki === null
          ? `in use: ${pin}`
          : `in use: ${pin}\nfrom ${timeText(`${next_from}`)} on: ${next_spki}`,
      examples: [
        ["$0 tls renew", "A new certificate for the same key: pins of the key stay good"],
        ["$0 tls renew --new-key", "A new key, announced for a day so that desks follow"],
      ],
    }),
  },
} satisfies Group;
