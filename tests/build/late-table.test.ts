/** The table in a binary, and that of the source. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { lateTablePlugin, TABLE } from "../../build/late-table";
import type { EventType } from "../../src/core/events";
import type { Operation } from "../../src/core/operation";
import { eventTypes, operations } from "../../src/operations";
import { temporaryFolder } from "../support";

/** The table as a build makes it. */
async function built(folder: string): Promise<{ operations: Operation[]; eventTypes: EventType[] }> {
  const { outputs } = await Bun.build({
    entrypoints: [TABLE],
    target: "bun",
    outdir: folder,
    splitting: true,
    external: ["usb", "node-datachannel", "robotjs", "node-screenshots"],
    plugins: [lateTablePlugin],
  });
  return await import(outputs.find(({ kind }) => kind === "entry-point")?.path ?? "");
}

/** The properties of `one` that are not there yet. */
const lateOf = (one: object) =>
  Object.entries(Object.getOwnPropertyDescriptors(one)).flatMap(([name, { get }]) => (get ? name : []));

/** What can be compared of a definition of two bundles: functions and schemas are others in each. */
const comparable = (one: object): unknown =>
  JSON.parse(JSON.stringify(one, (_, value) => (typeof value === "function" ? "a function" : value)));

test("the table of a build has all that the table has, and what no start reads is not there yet", async () => {
  using folder = temporaryFolder();
  const made = await built(join(folder.path, "built"));
  expect(made.operations.map(({ name }) => name)).toEqual(operations.map(({ name }) => name));
  expect(made.eventTypes.map(({ name }) => name)).toEqual(eventTypes.map(({ name }) => name));
  for (const one of made.operations) {
    expect(lateOf(one)).toContain("input");
    expect(lateOf(one)).toContain("run");
    expect(lateOf(one)).not.toContain("http");
  }
  for (const one of made.eventTypes) expect(lateOf(one)).toContain("data");
  // Whatever is asked for is that of the table.
  for (const [at, one] of made.operations.entries())
    expect(comparable(one)).toEqual(comparable(operations[at] ?? {}));
  for (const [at, one] of made.eventTypes.entries())
    expect(comparable(one)).toEqual(comparable(eventTypes[at] ?? {}));
});
