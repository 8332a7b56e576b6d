import { command, print, withService } from "../src/cli";

export default command({
  builder: (argv) => argv.example("$0 commands", "One name a line"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const { commands } = await service.executor();
      print(flags, { commands, count: commands.length }, () => commands.join("\n"));
      return 0;
    }),
});
