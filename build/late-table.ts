/**
 * The table in a binary (`src/core/late-table.ts`): what JSON has of each operation and type of event is written out when svc is built, and the
 * module with the rest of it becomes a chunk of its own.
 */
import { dirname, join } from "node:path";
import type { BunPlugin } from "bun";
import type { EarlyDefinition } from "../src/core/late-table";
import { ROOT } from "./targets";

/** The table in the source. */
export const TABLE = join(ROOT, "src", "operations.ts");

/** What no start reads, though JSON has it: as text it would stay in memory. */
const LATE = ["example", "summary"];

/** Puts the late table in the place of the table. */
export const lateTablePlugin: BunPlugin = {
  name: "late-table",
  setup(build) {
    build.onLoad({ filter: new RegExp(`^${RegExp.escape(TABLE)}$`) }, async () => ({
      loader: "js",
      contents: await lateTableText(),
    }));
  },
};

/** The text of the module. @throws for a definition that is in none of the lists that the table imports. */
async function lateTableText(): Promise<string> {
  const text = await Bun.file(TABLE).text();
  const lists = [...text.matchAll(/^import \{\s*(\w+)(?: as \w+)?,?\s*\} from "(\.[^"]+)";/gm)].map(
    ([, name = "", from = ""]) => ({ name, from }),
  );
  const places = new Map<unknown, Pick<EarlyDefinition, "list" | "at">>();
  for (const [list, { name, from }] of lists.entries()) {
    const module: Record<string, readonly object[]> = await import(join(dirname(TABLE), from));
    for (const [at, one] of (module[name] ?? []).entries()) places.set(one, { list, at });
  }
  const tables: Record<string, readonly object[]> = await import(TABLE);
  const loads = lists.map(({ name, from }) => `() => require(${JSON.stringify(from)}).${name}`);
  return [
    'import { lateTable } from "./core/late-table";',
    `const lists = [${loads.join(", ")}];`,
    ...Object.entries(tables).map(([name, table]) => {
      const all = table.map((one) => {
        const place = places.get(one);
        if (!place) throw new Error(`${Object(one).name}: expected in a list that ${TABLE} imports`);
        return { ...place, ...split(one) };
      });
      // Text that is read costs a start less than a literal, of which each object has code.
      return `export const ${name} = lateTable(lists, JSON.parse(${JSON.stringify(JSON.stringify(all))}));`;
    }),
  ].join("\n");
}

/** What of a definition is there at once, and what is not. */
function split(definition: object): Omit<EarlyDefinition, "list" | "at"> {
  const early: Record<string, unknown> = {};
  const late: string[] = [];
  const parts: Record<string, readonly string[]> = {};
  for (const [name, value] of Object.entries(definition)) {
    if (value === undefined) continue;
    if (name === "http") {
      // A route is looked for with each request; few have a schema or a function.
      const route = split(value);
      early[name] = route.early;
      if (route.late.length > 0) parts[name] = route.late;
    } else if (isJson(value) && !LATE.includes(name)) early[name] = value;
    else late.push(name);
  }
  return { early, late, parts };
}

/** Whether JSON has all of it. */
function isJson(value: unknown): boolean {
  if (typeof value !== "object" || value === null)
    return value === null || ["string", "number", "boolean"].includes(typeof value);
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  return isPlain && Object.values(value).every(isJson);
}
