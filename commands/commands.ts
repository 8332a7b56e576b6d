/** `svc commands`: lists the commands of actions, explains one, and prints the schema of scripts. */
import type * as v from "valibot";
import { oneOf } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { flag } from "../src/core/fields";
import { listCommands, showCommand, showSchema } from "../src/host/runs/operations/commands";

const extra = {
  allow_shell: flag("Include commands that need --allow-shell"),
  allow_audit_clear: flag("Include AC_audit_log_clear"),
};

const list = view(listCommands, {
  extra,
  service: (given) => given,
  columns: ["COMMAND"],
  rows: ({ commands }) => commands.map((name) => [name]),
  text: ({ commands }) => commands.join("\n"),
  epilogue:
    "Lists what `svc execute` can use here. A server has its own list (GET /commands): AC_rest_api_start and AC_rest_api_stop, which work in `svc execute` only, are not in it.",
});

const show = view(showCommand, {
  extra,
  service: (given) => given,
  positionals: ["name"],
  columns: ["COMMAND", "SUMMARY"],
  rows: ({ command, summary }) => [[command, summary]],
  text: (reference) => commandText(reference),
});

const schema = view(showSchema, {
  extra: { schema: flag("Print a JSON Schema of scripts (draft 2020-12), for editors") },
  text: (whole) => JSON.stringify(whole, null, 2),
});

export default oneOf(
  [
    ["$0 commands", "One name a line"],
    ["$0 commands AC_click_mouse", "Its parameters, result and an example"],
    ["$0 commands --schema > svc.schema.json", "What an editor checks scripts with and completes them from"],
    ["$0 commands --on tag:lab", "The commands of each host of the lab"],
  ],
  [list, show, schema],
  ({ name, schema: wanted }) => (wanted ? schema : name === undefined ? list : show),
);

/** The longest line, in characters, where words allow. */
const WIDTH = 80;

type Entry = v.InferOutput<typeof showCommand.output>;

/** A reference entry for a terminal. */
export function commandText({ command, summary, notes, parameters, returns, example }: Entry): string {
  const fields = parameters.flatMap(({ name, type, required, default: fallback, secret, description }) => [
    `  ${name}  ${type}${required ? ", required" : fallback === null ? "" : `, default ${JSON.stringify(fallback)}`}`,
    ...indented(`${description}${secret ? " (secret: neither logged nor kept)" : ""}`, 6),
  ]);
  return [
    command,
    ...indented(`${summary}.`, 2),
    ...(fields.length > 0 ? ["", "Parameters", ...fields] : []),
    "",
    "Result",
    ...indented(returns, 2),
    "",
    "Example",
    `  ${JSON.stringify(example)}`,
    ...(notes.length > 0 ? ["", ...notes] : []),
  ].join("\n");
}

function indented(text: string, indent: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + word.length < WIDTH - indent)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => " ".repeat(indent) + line);
}
