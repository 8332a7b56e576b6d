/**
 * The reference of the commands: which there are, what each takes and returns, and the schema of scripts.
 */
import * as v from "valibot";
import { field, NO_INPUT } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { notFound } from "../../../lib/errors";
import { meant } from "../../../lib/nearest";
import { withMade } from "../../../lib/once";
import { printable } from "../../../lib/sanitize";
import type { Executor } from "../executor";
import { COMMAND_REFERENCE, describeCommand } from "../reference";

interface Uses {
  executor(): Promise<Executor>;
}

const FOR_AUTHORS = "the reference is for authors of scripts";

export const listCommands = operation({
  name: "commands.list",
  summary: "List the commands that an action may name",
  scope: "read",
  subcommand: "commands",
  http: { method: "GET", path: "/commands", settled: true },
  leftOut: { script: FOR_AUTHORS },
  input: NO_INPUT,
  output: v.object({
    commands: v.array(v.string()),
    count: v.number(),
    /** Those that this process does not permit, and what would permit them; absent from hosts with an earlier svc. */
    not_permitted: v.optional(v.array(v.object({ command: v.string(), reason: v.string() }))),
  }),
  run: (service: Uses) => withMade(service.executor(), ({ listed }) => listed),
});

const describeCommands = operation({
  name: "commands.reference",
  summary: "Describe the parameters and the result of every command",
  scope: "read",
  http: { method: "GET", path: "/commands/reference", settled: true },
  leftOut: { script: FOR_AUTHORS, cli: "`svc commands NAME` shows one entry, docs/actions.md has them all" },
  input: NO_INPUT,
  output: v.object({ commands: v.array(COMMAND_REFERENCE), count: v.number() }),
  run: async (service: Uses) => (await service.executor()).reference(),
});

export const showCommand = operation({
  name: "commands.show",
  summary: "Describe the parameters and the result of a command",
  scope: "read",
  http: { method: "GET", path: "/commands/{name}" },
  leftOut: { script: FOR_AUTHORS, cli: "`svc commands NAME` covers it" },
  input: v.strictObject({
    name: field(v.pipe(v.string(), v.maxLength(100)), "The command, with or without AC_"),
  }),
  output: COMMAND_REFERENCE,
  async run(service: Uses, { name }) {
    const executor = await service.executor();
    const found = executor.commands.get(name) ?? executor.commands.get(`AC_${name}`);
    if (!found) throw notFound(`no command ${printable(name, 100)}${meant(name, executor.commands.keys())}`);
    return describeCommand(found, executor.allows(found));
  },
});

export const showSchema = operation({
  name: "commands.schema",
  summary: "Give the JSON Schema of scripts, for editors",
  scope: "read",
  http: { method: "GET", path: "/commands/schema" },
  leftOut: { script: FOR_AUTHORS, cli: "`svc commands --schema` prints it" },
  input: NO_INPUT,
  output: v.record(v.string(), v.unknown()),
  async run(service: Uses) {
    const { scriptSchema } = await import("../script-schema");
    return scriptSchema((await service.executor()).commands);
  },
});

export const operations = [
  listCommands,
  describeCommands,
  // Before the route that has a name in its place.
  showSchema,
  showCommand,
];
