/** `svc record`: makes a script of what a person does with pointer and keyboard. */
import { view } from "../src/cli/view";
import { recordScript } from "../src/host/desktop/record/operations";
import { printable } from "../src/lib/sanitize";

export default view(recordScript, {
  positionals: ["script"],
  names: { duration_s: "duration" },
  cancellable: true,
  text: ({ script, actions, images }) =>
    [
      `${printable(script)}  ${actions} actions${images === null ? "" : `; pictures are in ${printable(images)}`}`,
      `svc execute ${printable(script)} does it again`,
    ].join("\n"),
  examples: [
    ["$0 record order.json", "Do it once by hand; Escape ends the recording"],
    ["$0 record order.json --duration 30s --replace", "Half a minute, in place of the last try"],
  ],
});
