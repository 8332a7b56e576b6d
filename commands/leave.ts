/** `svc leave`: leaves the desk that this host has joined. */
import { view } from "../src/cli/view";
import { leave } from "../src/host/join/operations";
import { printable } from "../src/lib/sanitize";

export default view(leave, {
  text: ({ desk }) => `left the desk at ${desk}`,
  warnings: ({ problem, label }) =>
    problem === null ? [] : [`the desk was not notified (${problem}): it still lists ${printable(label)}`],
  examples: [["$0 leave", "The desk forgets this host, and its token ends"]],
});
