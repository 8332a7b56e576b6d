import { command, withService } from "../src/cli/command";
import { ask, onHosts } from "../src/cli/fan-out";
import { commandText } from "../src/runs/manual";
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
