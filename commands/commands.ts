import type * as v from "valibot";
import { command, withService } from "../src/cli/command";
import { ask, onHosts } from "../src/cli/fan-out";
import { listCommands, showCommand } from "../src/runs/operations/commands";

export default command({
  builder: (argv) =>
    onHosts(argv)
      .positional("name", { type: "string", describe: "The command to explain" })
      .option("allow-shell", {
        type: "boolean",
        default: false,
        describe: "List what is there with --allow-shell",
      })
      .example("$0 commands", "One name a line")
      .example("$0 commands AC_click_mouse", "Its parameters, result and an example")
      .example("$0 commands --on tag:lab", "What each host of the lab offers"),
  handler: (flags) =>
    withService(
      flags,
      (service) => {
        if (flags.name !== undefined) {
          return ask(
            service,
            flags,
            showCommand,
            { name: flags.name },
            {
              columns: ["COMMAND", "SUMMARY"],
              rows: ({ command, summary }) => [[command, summary]],
              text: (reference) => commandText(reference),
            },
          );
        }
        return ask(
          service,
          flags,
          listCommands,
          {},
          {
            columns: ["COMMAND"],
            rows: ({ commands }) => commands.map((name) => [name]),
            text: ({ commands }) => commands.join("\n"),
          },
        );
      },
      { allowShell: flags.allowShell },
    ),
});

/** A reference entry for a terminal, in lines of at most `width` where words allow. */
export function commandText(
  { command, summary, notes, parameters, returns, example }: v.InferOutput<typeof showCommand.output>,
  width = 80,
): string {
  const fields = parameters.flatMap(({ name, type, required, default: fallback, secret, description }) => [
    `  ${name}  ${type}${required ? ", required" : fallback === null ? "" : `, default ${JSON.stringify(fallback)}`}`,
    ...indented(`${description}${secret ? " (secret: neither logged nor kept)" : ""}`, 6, width),
  ]);
  return [
    command,
    ...indented(`${summary}.`, 2, width),
    ...(fields.length > 0 ? ["", "Parameters", ...fields] : []),
    "",
    "Result",
    ...indented(returns, 2, width),
    "",
    "Example",
    `  ${JSON.stringify(example)}`,
    ...(notes.length > 0 ? ["", ...notes] : []),
  ].join("\n");
}

function indented(text: string, indent: number, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + word.length < width - indent)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => " ".repeat(indent) + line);
}
