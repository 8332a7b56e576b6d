/**
 * Names that a command line may go on with because they are there: hosts of the address book, tags, plans, runs, jobs, tokens, scripts.
 *
 * The promise: whoever completes a line waits no longer than a moment, and sees no error: where nothing can be read, nothing is offered.
 */
import type { InputSchema, Operation } from "../core/operation";
import { deadline } from "../lib/deadline";
import { silentLog } from "../lib/log";
import { resolveConfigDir } from "../lib/paths";
import type { Flag } from "./flags";
import type { Registry } from "./registry";
import type { Description } from "./subcommand";

/** What kind of names a flag or an argument takes. */
type NameKind = "selection" | "label" | "tags" | "plan" | "run" | "job" | "token" | "script" | "approval";

/** Those of arguments that are not told by their flag alone, by the subcommand. */
const BY_SUBCOMMAND: ReadonlyArray<{
  readonly called: RegExp;
  readonly field: RegExp;
  readonly kind: NameKind;
}> = [
  { called: /^svc plan (?!new)/, field: /^id$/, kind: "plan" },
  { called: /^svc (runs|trace) /, field: /^run_id$/, kind: "run" },
  { called: /^svc jobs (?!add)/, field: /^job_id$/, kind: "job" },
  { called: /^svc token (?!add)/, field: /^name$/, kind: "token" },
  { called: /^svc scripts (?!add)/, field: /^name$/, kind: "script" },
  { called: /^svc approvals /, field: /^id$/, kind: "approval" },
  { called: /^svc screen/, field: /^host(_or_time)?$/, kind: "label" },
  { called: /^svc admin (?!add)/, field: /^label$/, kind: "label" },
  { called: /^svc (admin|nats|mcp)\b/, field: /^(on|hosts|labels|select)$/, kind: "selection" },
  { called: /^svc (admin|join-token)\b/, field: /^tags$/, kind: "tags" },
];

/** The kind of names that `flag` of the subcommand `called` takes; undefined where it takes none of them. */
export function kindOf(called: string, { field, name }: Pick<Flag, "field" | "name">): NameKind | undefined {
  if (name === "on") return "selection";
  return BY_SUBCOMMAND.find((one) => one.called.test(called) && one.field.test(field))?.kind;
}

/** The names of a kind that are there, each with words about it. Never throws. */
export type NamesOf = (kind: NameKind) => Promise<readonly Description[]>;

/** How long somebody waits for them, in milliseconds. */
const PATIENCE_MS = 1_500;

/** Which operation has them, and where its answer does. */
const SOURCES: Readonly<Record<Exclude<NameKind, "selection" | "label" | "tags">, Source>> = {
  plan: { operation: "plan.list", list: "plans", name: "id", words: ["name", "state"] },
  run: { operation: "runs.list", list: "runs", name: "run_id", words: ["status", "script_path"] },
  job: { operation: "jobs.list", list: "jobs", name: "job_id", words: ["script_path"] },
  token: { operation: "token.list", list: "tokens", name: "name", words: [] },
  script: { operation: "scripts.list", list: "scripts", name: "name", words: [] },
  approval: { operation: "approvals.list", list: "approvals", name: "id", words: ["state", "what"] },
};

interface Source {
  readonly operation: string;
  readonly list: string;
  readonly name: string;
  readonly words: readonly string[];
}

/** The names on the folder that the words name, or the usual one. */
export function namesHere(registry: Registry, configDir: string | undefined): NamesOf {
  return async (kind) => {
    const found = read(registry, configDir, kind).catch(() => []);
    return deadline(found, { ms: PATIENCE_MS, late: () => [] });
  };
}

async function read(
  registry: Registry,
  configDir: string | undefined,
  kind: NameKind,
): Promise<readonly Description[]> {
  const [{ createService }, { answerHere }] = await Promise.all([
    import("../service/service"),
    import("./view"),
  ]);
  const service = createService({ configDir: resolveConfigDir(configDir), log: silentLog });
  const answerTo = async (name: string) => {
    const operation = (await registry.operations()).find((one) => one.name === name);
    return operation ? answerHere(service, operation as Operation<InputSchema>, {}) : undefined;
  };
  try {
    if (kind === "selection" || kind === "label" || kind === "tags")
      return hostNames(kind, itemsOf(await answerTo("admin.list_hosts")));
    const { operation, list, name, words } = SOURCES[kind];
    return itemsOf(Object(await answerTo(operation))[list]).map((item) => [
      textOf(item[name]),
      words
        .map((word) => textOf(item[word]))
        .filter(Boolean)
        .join(" "),
    ]);
  } finally {
    await service.stop();
  }
}

type Item = Readonly<Record<string, unknown>>;

const itemsOf = (answer: unknown): readonly Item[] => (Array.isArray(answer) ? answer.map(Object) : []);

/** What a terminal shows in one line: a description may come from a host. */
const textOf = (value: unknown): string =>
  (typeof value === "string" ? value : "").replaceAll(/\p{Cc}+/gu, " ").slice(0, 120);

function hostNames(kind: "selection" | "label" | "tags", hosts: readonly Item[]): Description[] {
  const labels = hosts.map(({ label, base_url }): Description => [textOf(label), textOf(base_url)]);
  const tags = [...new Set(hosts.flatMap(({ tags: own }) => (Array.isArray(own) ? own.map(textOf) : [])))];
  const described = tags.toSorted().map((tag): Description => [kind === "tags" ? tag : `tag:${tag}`, "tag"]);
  if (kind === "label") return labels;
  return kind === "tags" ? described : [...labels, ...described, ["all", "every host"]];
}

/** What goes on with `typed`, which may be several names with commas between, or one with `!` before it: the last is completed. */
export function goingOn(kind: NameKind, typed: string, names: readonly Description[]): Description[] {
  const isList = kind === "selection" || kind === "tags";
  const [before] = (isList ? /^(?:.*,)?!?/s.exec(typed) : null) ?? [""];
  const already = new Set(before.split(",").map((one) => one.replace(/^!/, "")));
  return names.flatMap(([name, words]) =>
    already.has(name) ? [] : [[`${before}${name}`, words] satisfies Description],
  );
}
