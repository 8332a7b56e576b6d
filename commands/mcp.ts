import * as v from "valibot";
import { subcommand, withService } from "../src/cli/subcommand";
import { MCP_FIELDS } from "../src/host/mcp/options";
import { badInput } from "../src/lib/errors";
import { terminated } from "../src/lib/signals";

const MCP = v.strictObject(MCP_FIELDS);

export default subcommand({
  describe: "Serve an agent over stdin and stdout (Model Context Protocol)",
  input: MCP,
  async run(given, globals) {
    const { write, approve, on, toolsets, tools, exclude_tools: exclude, ...rate } = v.parse(MCP, given);
    if (approve && !write)
      throw badInput("approve: expected with write: without it there is nothing to allow");
    return withService(globals, async (service) => {
      const { changes_per_minute: minute, changes_per_hour: hour } = rate;
      const agents = await service.agentsOverStdio({ approve, on, rate: { minute, hour } });
      const ended = new AbortController();
      void terminated().then(() => ended.abort());
      await agents.serve({ toolsets, tools, exclude, write }, ended.signal);
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
