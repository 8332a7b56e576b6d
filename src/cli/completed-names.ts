/**
 * Names that a command line may go on with because they are there: hosts of the address book, tags, plans, runs, jobs, tokens, scripts,
 * and desks elsewhere. With `--desk`, they are those of that desk.
 *
 * The promise: whoever completes a line waits no longer than a moment, and sees no error: where nothing can be read, nothing is offered.
 */
import type { InputSchema, Operation } from "../core/operation";
import { deadline } from "../lib/deadline";
import { silentLog } from "../lib/log";
import { resolveConfigDir } from "../lib/paths";
import type { Service } from "../service/service";
import type { Flag } from "./flags";
import type { Registry } from "./registry";
import type { Description } from "./subcommand";

/** What kind of names a flag or an argument takes. */
type NameKind = "selection" | "label" | "tags" | "desk" | ListedKind;

/** Those that are listed by an operation of their own. */
type ListedKind = "plan" | "run" | "job" | "token" | "script" | "approval";

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
  { called: /^svc logout/, field: /^name$/, kind: "desk" },
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
const SOURCES: Readonly<Record<ListedKind, Source>> = {
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

/**
 * The names on the folder that the words name, or the usual one.
 *
 * @param desk the desk elsewhere that has them, but for the names of such desks.
 */
export function namesHere(registry: Registry, configDir: string | undefined, desk?: string): NamesOf {
  const folder = resolveConfigDir(configDir);
  return async (kind) => {
    const found = (kind === "desk" ? desksIn(folder) : read(registry, folder, desk, kind)).catch(() => []);
    return deadline(found, { ms: PATIENCE_MS, late: () => [] });
  };
}

async function desksIn(folder: string): Promise<readonly Description[]> {
  const { loginsIn } = await import("./elsewhere/logins");
  return loginsIn(folder, silentLog)
    .all()
    .map(({ name, url }) => [textOf(name), textOf(url)]);
}

async function read(
  registry: Registry,
  folder: string,
  desk: string | undefined,
  kind: Exclude<NameKind, "desk">,
): Promise<readonly Description[]> {
  if (desk !== undefined) {
    const { withDesk } = await import("./elsewhere/desk");
    return withDesk(folder, desk, silentLog, (service) => namesOf(registry, service, kind));
  }
  const { createService } = await import("../service/service");
  const service = createService({ configDir: folder, log: silentLog });
  try {
    return await namesOf(registry, service, kind);
  } finally {
    await service.stop();
  }
}

async function namesOf(
  registry: Registry,
  service: Service,
  kind: Exclude<NameKind, "desk">,
): Promise<readonly Description[]> {
  const { answerHere } = await import("./view");
  const answerTo = async (name: string) => {
    const operation = (await registry.operations()).find((one) => one.name === name);
    return operation ? answerHere(service, operation as Operation<InputSchema>, {}) : undefined;
  };
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

/**
 * What goes on with `typed`, which may be several names with commas between, or one with `!` before it (a tag: with the sign that says
 * what becomes of it): the last is completed.
 */
export function goingOn(kind: NameKind, typed: string, names: readonly Description[]): Description[] {
  const isList = kind === "selection" || kind === "tags";
  const form = kind === "tags" ? /^(?:.*,)?[-+=]?/s : /^(?:.*,)?!?/s;
  const [before] = (isList ? form.exec(typed) : null) ?? [""];
  const already = new Set(before.split(",").map((one) => one.replace(/^!/, "")));
  return names.flatMap(([name, words]) =>
    already.has(name) ? [] : [[`${before}${name}`, words] satisfies Description],
  );
}
