/** `svc mcp`: serves an agent over stdin and stdout; shows what agents did, and makes a script of it. */
import * as v from "valibot";
import { showDraft } from "../src/cli/draft";
import { streamOut } from "../src/cli/output";
import { type Group, subcommand, withService } from "../src/cli/subcommand";
import { answerHere, view } from "../src/cli/view";
import { flag } from "../src/core/fields";
import { keepSession, listSessions, storeDraft } from "../src/host/agents/operations";
import { MCP_FIELDS } from "../src/host/mcp/options";
import { badInput } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";
import { untilTerminated } from "../src/lib/signals";

const MCP = v.strictObject(MCP_FIELDS);

const own = subcommand({
  describe: "Serve an agent over stdin and stdout (Model Context Protocol)",
  input: MCP,
  async run(given, globals) {
    const { write, approve, on, toolsets, tools, exclude_tools: exclude, ...rate } = v.parse(MCP, given);
    if (approve && !write)
      throw badInput("approve: expected with write: without it there is nothing to allow");
    // The library writes to it: what the reader has not taken yet is waited for at the end.
    streamOut();
    return withService(globals, async (service) => {
      const { changes_per_minute: minute, changes_per_hour: hour } = rate;
      const agents = await service.agentsOverStdio({ approve, on, rate: { minute, hour } });
      await agents.serve({ toolsets, tools, exclude, write }, untilTerminated());
      return 0;
    });
  },
  examples: [
    ["$0 mcp", "What agents may read, screenshots too"],
    ["$0 mcp --toolsets desktop,jobs --write --approve", "They propose, a person allows"],
    ["$0 mcp --toolsets read,fleet --on tag:lab", "They may ask the hosts of the lab"],
    ["$0 mcp --tools usb_list,desktop_screenshot", "Two tools alone"],
  ],
});

export default {
  own,
  verbs: {
    sessions: view(listSessions, {
      positionals: ["session"],
      columns: ["SESSION", "AGENT", "TOKEN", "LAST", "ACTS", "DID"],
      rows: ({ sessions }) =>
        sessions.map(({ session, agent, token, last, acts, did }) => [
          ...[session, agent, token ?? "the owner", last, `${acts}`],
          did.map((words) => printable(words, 200)).join("; "),
        ]),
      none: "no agent has done anything here in 7 days",
      examples: [
        ["$0 mcp sessions", "What agents did in the last 7 days"],
        ["$0 mcp sessions last --json", "All that the newest one did"],
      ],
    }),
    keep: view(keepSession, {
      positionals: ["session", "name"],
      names: { secrets: "secret" },
      extra: { yes: flag("Store it without a question") },
      run: async ({ service, globals, input, extra, call }) =>
        showDraft(service, globals, await call(input), extra.yes, (made) =>
          answerHere(service, storeDraft, made),
        ),
      examples: [
        ["$0 mcp keep last order", "Read what it would be as a script; store it on a yes"],
        [
          "$0 mcp keep 9f1c2e4a order --secret pin=crm_pin --yes",
          "A secret of this host in place of what was typed",
        ],
      ],
    }),
  },
} satisfies Group;
