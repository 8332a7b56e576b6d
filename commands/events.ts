/** `svc events`: prints what happens here or on many hosts, and the types of events. */
import { printEvents } from "../src/cli/event-lines";
import { ON } from "../src/cli/fan-out";
import { view } from "../src/cli/view";
import { field, flag } from "../src/core/fields";
import { AFTER, eventReference, listEvents } from "../src/events/operations";
import { badInput } from "../src/lib/errors";

const own = view(listEvents, {
  describe: "Print what happens here, or on hosts of the address book",
  on: false,
  hidden: ["wait", "after"],
  epilogue:
    "What reading makes happen by itself, `requests.counted` and `audit.appended`, is shown with --types alone.",
  extra: {
    after: field(
      AFTER,
      "Begin after the event with this id; `oldest` (default without --follow): with the oldest",
    ),
    follow: flag("Go on with what happens from now on, until Ctrl-C"),
    on: ON.on,
  },
  async run({ service, globals, input: { types }, extra: { after, follow, on } }) {
    if (on !== undefined && after !== undefined && after !== "oldest")
      throw badInput("after: an id is that of one host; with --on, only oldest");
    return printEvents(service, { globals, on, types, after, isFollowed: follow });
  },
  examples: [
    ["$0 events --follow", "A line for each thing that happens on this host"],
    ["$0 events --follow --types run.ended,usb.* --json", "Lines of JSON, for a program"],
    ["$0 events --follow --on tag:lab", "What happens on many hosts"],
    ["$0 events", "The events that the server still keeps"],
  ],
});

const types = view(eventReference, {
  columns: ["TYPE", "SCOPE", "WHEN"],
  rows: ({ types }) => types.map(({ type, scope, summary }) => [type, scope, summary]),
});

export default { own, verbs: { types } };
