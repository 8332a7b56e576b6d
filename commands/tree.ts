/** `svc tree`: prints what programs show as an outline. */
import { view } from "../src/cli/view";
import { dump, outlineOf } from "../src/host/desktop/elements/operations";

export default view(dump, {
  names: { app_name: "app", window_title: "window", max_results: "most" },
  text: (tree) => outlineOf(tree).join("\n"),
  examples: [
    ["$0 tree", "What the programs on this desktop show"],
    ["$0 tree --window Order", "That of the windows with this in their title"],
  ],
});
