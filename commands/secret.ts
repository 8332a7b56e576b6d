/** `svc secret`: sets, lists and removes the secrets that scripts name. */
import { readFileSync } from "node:fs";
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { listSecrets, removeSecret, setSecret } from "../src/host/secrets/operations";
import { badInput } from "../src/lib/errors";
import { readSecret } from "../src/lib/secret";
import { timeText } from "../src/lib/time-text";

/** The whole of standard input but for a line end at its end; on a terminal what is typed, twice, without showing it. */
async function givenValue(name: string): Promise<string> {
  if (process.stdin.isTTY) {
    return readSecret({ name: `value of ${name}`, flag: "standard input", variable: "", confirm: true });
  }
  const bytes = readFileSync(0);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "");
  } catch {
    throw badInput("value: expected a text in UTF-8 on standard input");
  }
}

export default {
  verbs: {
    set: view(setSecret, {
      positionals: ["name"],
      hidden: ["value"],
      complete: async (input) => ({ ...input, value: await givenValue(input.name) }),
      text: ({ name, replaced }) =>
        `${name} ${replaced ? "has a new value" : "is set"}: scripts name it as \${secret:${name}}`,
      columns: ["SECRET", "SET"],
      rows: ({ name, set }) => [[name, timeText(set)]],
      examples: [
        ["$0 secret set crm_password < file", "From a file, but for a line end at its end"],
        ["$0 secret set crm_password", "From a prompt that does not show it"],
      ],
    }),
    list: view(listSecrets, {
      columns: ["NAME", "SOURCE", "SET", "BY", "LAST USED", "TOKENS"],
      rows: ({ secrets }) =>
        secrets.map(({ name, source, set, by, last_used, tokens }) => [
          ...[name, source, timeText(set), by, last_used ?? "", tokens?.join(",") ?? ""],
        ]),
      none: "no secrets",
      examples: [["$0 secret list", "Names, when each was set and used, which tokens may use it; no values"]],
    }),
    remove: view(removeSecret, {
      positionals: ["name"],
      text: ({ removed }) => `${removed} removed`,
      columns: ["SECRET"],
      rows: ({ removed }) => [[removed]],
      examples: [["$0 secret remove crm_password", "Scripts that name it do not run any more"]],
    }),
  },
} satisfies Group;
