/** `svc token`: shows and replaces the token of this host; adds, lists and revokes tokens with a name. */
import { type Group, print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { timeText } from "../src/lib/time-text";
import { listTokens, makeToken, replaceToken, revokeToken, showToken } from "../src/trust/operations/tokens";

export default {
  verbs: {
    show: view(showToken, {
      text: ({ token }) => token,
      examples: [["$0 token show", "Print the token that allows everything"]],
    }),
    rotate: view(replaceToken, {
      positionals: ["name"],
      async run({ input, call, globals, service }) {
        const body = await call(input);
        print(globals, body, () => body.token);
        if (body.expires !== null) service.log.info(`the new token works until ${timeText(body.expires)}`);
        if (body.old_until !== null) service.log.info(`old tokens work until ${timeText(body.old_until)}`);
        return 0;
      },
      examples: [
        ["$0 token rotate", "Make a new token; a running server uses it at once"],
        [
          "$0 token rotate prometheus --overlap 24h > token",
          "A new named token; the old one works for a day",
        ],
      ],
    }),
    add: view(makeToken, {
      positionals: ["name"],
      async run({ input, call, globals, service }) {
        const body = await call(input);
        print(globals, body, () => (input.token ? `${body.name} added` : body.token));
        if (!input.token && process.stdout.isTTY) service.log.info("this token cannot be shown again");
        service.log.info(
          body.expires === null
            ? "the token never expires"
            : `the token works until ${timeText(body.expires)}`,
        );
        return 0;
      },
      examples: [
        ["$0 token add prometheus --scope metrics > token", "For a scraper: /metrics, /admin/targets"],
        ["$0 token add prometheus --scope metrics --token-file token", "The same token on another host"],
        ["$0 token add anna --scope read", "See the state of the host; neither its screen nor its audit log"],
        ["$0 token add ci --scope run:nightly --expires 30d", "Run one stored script, and nothing else"],
        ["$0 token add crm --scope 'operate,secret:crm_*'", "Also scripts that name these secrets"],
      ],
    }),
    list: view(listTokens, {
      columns: ["NAME", "ID", "SCOPES", "CREATED", "EXPIRES", "LAST USED", "OLD ONE ENDS"],
      rows: ({ tokens }) =>
        tokens.map(({ name, id, scopes, created, expires, last_used, old_until }) => [
          name,
          id ?? "",
          scopes.join(", "),
          created.slice(0, 10),
          endOf(expires),
          last_used ?? "",
          old_until ?? "",
        ]),
      none: "no named tokens",
      examples: [["$0 token list", "Names, scopes and days, never tokens"]],
    }),
    remove: view(revokeToken, {
      positionals: ["name"],
      text: ({ removed, jobs }) => `${removed} removed${jobs > 0 ? `; its jobs are disabled: ${jobs}` : ""}`,
      examples: [["$0 token remove anna", "A running server refuses it at once"]],
    }),
  },
} satisfies Group;

/** When a token ends, or when it ended. */
function endOf(expires: string | null): string {
  if (expires === null) return "never";
  const left = Date.parse(expires) - Date.now();
  return left <= 0 ? `ended ${timeText(expires)}` : timeText(expires);
}
