/** What agents are offered: flags of `svc mcp`, and those of `svc serve` for `POST /mcp`. */
import * as v from "valibot";
import { field, flag, whole } from "../../core/fields";
import { expectedFor, expectedOfExcluded, TOOLSETS } from "./toolsets";

/** How many changes. */
export interface Rate {
  readonly minute: number;
  readonly hour: number;
}

export const DEFAULT_RATE: Rate = { minute: 10, hour: 60 };

/** Names of tools. @param expected what is expected in place of a name; undefined where it is right. */
const names = (expected: (name: string) => string | undefined) =>
  v.array(
    v.pipe(
      v.string(),
      v.check(
        (name) => expected(name) === undefined,
        ({ input }) => expected(input) ?? "",
      ),
    ),
  );

const EXCLUDED = names(expectedOfExcluded);

const CHOICE_FIELDS = {
  toolsets: field(
    v.optional(v.pipe(v.array(v.picklist(TOOLSETS)), v.maxLength(16))),
    "Sets of tools (default: read, screen; with write: read, act)",
  ),
  tools: field(
    v.optional(v.pipe(names(expectedFor), v.maxLength(200))),
    "Tools by name, besides those of the sets; without sets, these alone",
  ),
  exclude_tools: field(
    v.optional(v.pipe(EXCLUDED, v.maxLength(200))),
    "Tools to leave out, whatever the others say",
  ),
};

/** Several in a query: `tools=a,b`. */
const parted = <const S extends v.GenericSchema<string>>(word: S) =>
  v.optional(
    v.pipe(
      v.array(v.pipe(v.string(), v.maxLength(10_000))),
      v.maxLength(200),
      v.transform((texts) => texts.flatMap((text) => text.split(","))),
      v.array(word),
    ),
  );

const descriptionOf = (schema: v.GenericSchema) => v.getDescription(schema) ?? "";

/** What a client of `POST /mcp` may choose itself, in its address. */
export const QUERY_FIELDS = {
  toolsets: field(parted(v.picklist(TOOLSETS)), descriptionOf(CHOICE_FIELDS.toolsets)),
  tools: field(parted(v.string()), descriptionOf(CHOICE_FIELDS.tools)),
  exclude_tools: field(parted(v.string()), descriptionOf(CHOICE_FIELDS.exclude_tools)),
};

const write = flag("Offer tools that change something; each change is proposed first, and then confirmed");
const approve = flag("Have each change wait for a person with another token (`svc approvals`)");
const on = field(
  v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(1_000))),
  "Hosts of the address book that agents may ask too: LABEL, tag:TAG, all, separated by commas",
);

/** @param what stands before the words of `svc serve`. */
const rateFields = (what: (words: string) => string) => ({
  minute: field(v.optional(whole(1, 1_000), DEFAULT_RATE.minute), what("changes of a token in a minute")),
  hour: field(v.optional(whole(1, 10_000), DEFAULT_RATE.hour), what("changes of a token in an hour")),
});

const own = rateFields((words) => `The most ${words}`);

/** The flags of `svc mcp`. */
export const MCP_FIELDS = {
  ...CHOICE_FIELDS,
  write,
  approve,
  on,
  changes_per_minute: own.minute,
  changes_per_hour: own.hour,
};

const over = (what: string) => `For agents at POST /mcp: ${what}`;

const served = rateFields((words) => over(`the most ${words}`));

/** The flags of `svc serve`. */
export const SERVED_MCP_FIELDS = {
  mcp_write: flag(over("offer tools that change something; each change is proposed, and then confirmed")),
  mcp_approve: flag(over("have each change wait for a person with another token (`svc approvals`)")),
  mcp_on: field(on, over("hosts of the address book that they may ask too")),
  mcp_changes_per_minute: served.minute,
  mcp_changes_per_hour: served.hour,
  mcp_exclude_tools: field(v.optional(EXCLUDED), over("tools that none of them has")),
  allow_origin: field(
    v.optional(
      v.array(v.pipe(v.string(), v.regex(/^https?:\/\/[^/]+$/, "an origin, such as https://agents.example"))),
    ),
    over("origins of pages that may ask, besides the server's own"),
  ),
};
