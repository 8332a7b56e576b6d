import { view } from "../src/cli/view";
import { leave } from "../src/join/operations/host";

export default view(leave, {
  text: ({ desk }) => `left the desk at ${desk}`,
  warnings: ({ problem, label }) =>
    problem === null ? [] : [`the desk could not be told (${problem}): it still lists ${label}`],
  examples: [["$0 leave", "The desk forgets this host, and its token ends"]],
});
