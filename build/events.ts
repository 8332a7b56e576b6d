/** The table of events in `docs/events.md`, written from the list of types. */
import { dataSchema } from "../src/events/schema";
import { eventTypes } from "../src/operations";

/** `page` with its table of events as it has to be. */
export function withEvents(page: string): string {
  const rows = eventTypes.map((type) => {
    const { properties = {} } = dataSchema(type) as { properties?: object };
    const fields = Object.keys(properties).filter((name) => name !== "at" && name !== "truncated");
    const data = fields.map((name) => `\`${name}\``).join(", ");
    return `| \`${type.name}\` | ${type.summary} | \`${type.scope}\` | ${data} |`;
  });
  const table = ["| type | when | scope | data |", "|---|---|---|---|", ...rows].join("\n");
  return page.replace(/^\| type \|.*?\n(?=\n)/ms, () => `${table}\n`);
}
