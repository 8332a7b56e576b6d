/** `svc join-token`: makes, lists and removes the strings with which hosts join this desk. */
import { type Group, print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { addJoinString, listJoinStrings, removeJoinString } from "../src/desk/join/operations";
import { timeText } from "../src/lib/time-text";

export default {
  own: view(addJoinString, {
    on: false,
    names: { tags: "tag" },
    async run({ input, call, globals, service }) {
      const body = await call(input);
      print(globals, body, () => body.join_string);
      if (body.key_until !== null) {
        service.log.warn(
          `this desk has another TLS key from ${timeText(body.key_until)} on: the string works until then only`,
        );
      }
      if (!globals.json) {
        const { id, uses, expires, address } = body;
        const hosts = uses === 1 ? "one host joins" : `${uses} hosts join`;
        service.log.info(
          `${hosts} the desk at ${address} with it, until ${timeText(expires)}: run \`svc join\` there; this string (${id}) is not shown again`,
        );
      }
      return 0;
    },
    examples: [
      ["$0 join-token --tag lab", "For one host, within an hour"],
      ["$0 join-token --uses 30 --expires 8h --label-prefix lab-", "For a day's work"],
      ["$0 join-token --advertise desk.example:9939", "Where the desk listens on every address"],
    ],
  }),
  verbs: {
    list: view(listJoinStrings, {
      columns: ["ID", "STATE", "USED", "EXPIRES", "TAGS", "PREFIX", "ADDRESS", "REGION"],
      rows: ({ join_tokens }) =>
        join_tokens.map(({ id, state, used, uses, expires, tags, label_prefix, address, region }) => [
          id,
          state.replace("_", " "),
          `${used} of ${uses}`,
          expires,
          tags.join(","),
          label_prefix,
          address,
          region ?? "",
        ]),
      none: "no join strings",
      on: false,
      examples: [["$0 join-token list", "Which strings still let hosts in"]],
    }),
    remove: view(removeJoinString, {
      positionals: ["id"],
      text: ({ removed }) => `${removed} removed`,
      on: false,
      examples: [["$0 join-token remove k3q7x2ab", "No further host joins with it"]],
    }),
  },
} satisfies Group;
