import { callOperation } from "../src/call";
import { localCaller } from "../src/caller";
import { command, print, withService } from "../src/cli";
import { listCommands } from "../src/executor/operations";

export default command({
  builder: (argv) => argv.example("$0 commands", "One name a line"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const listed = await callOperation(service, listCommands, {}, localCaller(service, "cli"));
      print(flags, listed, () => listed.commands.join("\n"));
      return 0;
    }),
});
