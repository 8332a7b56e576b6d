/**
 * The table of subcommands: those with a view of their own in `commands/`, each loaded when it is called, and for every
 * other operation of the table one that is generated.
 */
import type { Operation } from "../core/operation";
import type { Group, Subcommand } from "./subcommand";

interface Entry {
  readonly describe: string;
  readonly load: () => Promise<{ readonly default: Subcommand | Group }>;
}

/** The first words of a command line, in the order of the help. */
export const nouns: Readonly<Record<string, Entry>> = {
  serve: { describe: "Run the REST server", load: () => import("../../commands/serve") },
  execute: { describe: "Run a list of actions", load: () => import("../../commands/execute") },
  runs: { describe: "List, show and cancel runs", load: () => import("../../commands/runs") },
  jobs: { describe: "Schedule scripts", load: () => import("../../commands/jobs") },
  history: { describe: "List past runs", load: () => import("../../commands/history") },
  commands: {
    describe: "List or explain the commands of actions",
    load: () => import("../../commands/commands"),
  },
  audit: { describe: "Read, verify and export the audit log", load: () => import("../../commands/audit") },
  token: { describe: "Manage bearer tokens", load: () => import("../../commands/token") },
  diagnose: { describe: "Check this host", load: () => import("../../commands/diagnose") },
  inspect: { describe: "Show link quality", load: () => import("../../commands/inspect") },
  admin: {
    describe: "Manage many hosts: address book, polls, broadcasts",
    load: () => import("../../commands/admin"),
  },
  usb: { describe: "List and watch USB devices", load: () => import("../../commands/usb") },
  screenshot: { describe: "Take a screenshot", load: () => import("../../commands/screenshot") },
  config: {
    describe: "Export or import the configuration of a host",
    load: () => import("../../commands/config"),
  },
  turn: { describe: "Set up or test a TURN relay", load: () => import("../../commands/turn") },
  sessions: { describe: "List and close peer sessions", load: () => import("../../commands/sessions") },
  sync: { describe: "Send the files of a folder to another host", load: () => import("../../commands/sync") },
  service: { describe: "Run svc serve as a system service", load: () => import("../../commands/service") },
  licenses: {
    describe: "List embedded packages and their licences",
    load: () => import("../../commands/licenses"),
  },
  completion: {
    describe: "Print a shell completion script",
    load: () => import("../../commands/completion"),
  },
};

/** What the first word of a command line stands for. */
export interface Noun {
  readonly describe: string;
  /** What it does without a verb. */
  readonly own?: Subcommand | undefined;
  readonly verbs: Readonly<Record<string, Subcommand>>;
  readonly examples: Group["examples"];
}

/**
 * The subcommands of `noun`, those with a view before the generated ones; undefined when there are none.
 *
 * @param verb the word that follows, where there is one: the table of operations, which takes time to load, is not read
 *   when a view has it.
 */
export async function findNoun(
  noun: string,
  verb?: string,
  load: LoadTable = svcTable,
): Promise<Noun | undefined> {
  const entry = Object.hasOwn(nouns, noun) ? nouns[noun] : undefined;
  const known = entry && asNoun(entry.describe, (await entry.load()).default);
  // What follows a subcommand of one word is its arguments.
  const isWhole = known?.own && Object.keys(known.verbs).length === 0;
  if (isWhole || (verb !== undefined && known && Object.hasOwn(known.verbs, verb))) return known;
  const generated = (await generatedNouns(load)).get(noun);
  if (!known || !generated) return known ?? generated;
  return { ...known, verbs: { ...generated.verbs, ...known.verbs } };
}

function asNoun(describe: string, module: Subcommand | Group): Noun {
  if ("verbs" in module) return { describe, ...module };
  return { describe, own: module, verbs: {}, examples: module.examples };
}

/** Every noun with a line of what it does. */
export async function everyNoun(
  load: LoadTable = svcTable,
): Promise<Array<{ readonly name: string; readonly describe: string }>> {
  const generated = [...(await generatedNouns(load))].filter(([name]) => !Object.hasOwn(nouns, name));
  return [
    ...Object.entries(nouns).map(([name, { describe }]) => ({ name, describe })),
    ...generated.map(([name, { describe }]) => ({ name, describe })),
  ];
}

/** The words that call an operation: `["jobs", "pause"]`. */
export const wordsOf = ({ name, subcommand }: Operation): string[] =>
  subcommand?.split(" ") ?? name.replaceAll("_", "-").split(".");

/** The table of operations; loaded when a subcommand is needed that has no view. */
export type LoadTable = () => Promise<readonly Operation[]>;

const svcTable: LoadTable = async () => (await import("../operations")).operations;

async function generatedNouns(load: LoadTable): Promise<ReadonlyMap<string, Noun>> {
  const [operations, { view }] = await Promise.all([load(), import("./view")]);
  return nounsOf(operations, view);
}

/** The subcommands that follow from `operations` alone. */
export function nounsOf(
  operations: ReadonlyArray<Operation>,
  make: (operation: Operation) => Subcommand,
): ReadonlyMap<string, Noun> {
  const found = new Map<
    string,
    { describe: string; own?: Subcommand; verbs: Record<string, Subcommand>; examples: Group["examples"] }
  >();
  for (const operation of operations) {
    if (operation.leftOut?.cli !== undefined) continue;
    const [noun = "", ...rest] = wordsOf(operation);
    const verb = rest.join("-");
    const entry = found.get(noun) ?? { describe: "", verbs: {}, examples: [] };
    if (verb === "") entry.own = make(operation);
    else entry.verbs[verb] = make(operation);
    entry.describe = entry.own?.describe ?? Object.keys(entry.verbs).join(", ");
    found.set(noun, entry);
  }
  return found;
}
