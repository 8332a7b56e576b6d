import { callOperation } from "../src/call";
import { localCaller } from "../src/caller";
import { command, print, withService } from "../src/cli";
import { commandText } from "../src/executor/manual";
import { listCommands, showCommand } from "../src/executor/operations";

export default command({
  builder: (argv) =>
    argv
      .positional("name", { type: "string", describe: "The command to explain" })
      .option("allow-shell", {
        type: "boolean",
        default: false,
        describe: "List what is there with --allow-shell",
      })
      .example("$0 commands", "One name a line")
      .example("$0 commands AC_click_mouse", "Its parameters, result and an example"),
  handler: (flags) =>
    withService(
      flags,
      async (service) => {
        const caller = localCaller(service, "cli");
        if (flags.name !== undefined) {
          const reference = await callOperation(service, showCommand, { name: flags.name }, caller);
          print(flags, reference, () => commandText(reference));
          return 0;
        }
        const listed = await callOperation(service, listCommands, {}, caller);
        print(flags, listed, () => listed.commands.join("\n"));
        return 0;
      },
      { allowShell: flags.allowShell },
    ),
});
