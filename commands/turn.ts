/** `svc turn`: writes the files of a TURN relay, makes credentials for it, and tests one. */
import type * as v from "valibot";
import { shownTable } from "../src/cli/shown-table";
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { makeTurnBundle, makeTurnCredentials, testTurn } from "../src/host/turn/operations";
import { printable } from "../src/lib/sanitize";
import { timeText } from "../src/lib/time-text";

const secrets = { inlineSecrets: ["secret"], variables: { secret: "SVC_TURN_SECRET" } } as const;

export default {
  own: view(makeTurnBundle, {
    ...secrets,
    describe: "Write the files that set up a TURN relay on another machine",
    text: bundleText,
    examples: [["$0 turn --realm turn.example.org", "Write ./turn-bundle, with a new user and secret"]],
  }),
  verbs: {
    credentials: view(makeTurnCredentials, {
      ...secrets,
      text: ({ username, password, expires_at }) =>
        [`username  ${username}`, `password  ${password}`, `expires   ${timeText(expires_at)}`].join("\n"),
      examples: [["$0 turn credentials --ttl 1h", "Credentials for a client, for an hour"]],
    }),
    test: view(testTurn, {
      ...secrets,
      prompts: ["secret"],
      positionals: ["url"],
      text: reportText,
      good: ({ ok }) => ok,
      examples: [["$0 turn test turn:turn.example.org --user lab", "Test a relay"]],
    }),
  },
} satisfies Group;

type Bundle = v.InferInput<typeof makeTurnBundle.output>;
type BundleRequest = v.InferInput<typeof makeTurnBundle.input>;

function bundleText({ folder, files, user, secret, urls }: Bundle, asked: BundleRequest): string {
  const lines = [printable(folder), ...files.map((name) => `  ${name}`), ...urls];
  if (user !== null && asked.user === undefined) lines.push(`user    ${user}  (new)`);
  if (secret !== null) lines.push(`secret  ${secret}  (new; README.txt and turnserver.conf hold it)`);
  return lines.join("\n");
}

function reportText(report: v.InferInput<typeof testTurn.output>): string {
  const rows = report.checks.map(({ name, ok, detail }) => [ok ? "ok" : "FAILED", name, detail]);
  const lines = [shownTable(["RESULT", "CHECK", "DETAIL"], rows)];
  if (report.relayed_address !== null) lines.push(`relayed address ${report.relayed_address}`);
  if (report.round_trip_ms !== null) lines.push(`round trip ${report.round_trip_ms} ms`);
  return lines.join("\n");
}
