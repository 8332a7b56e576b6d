/**
 * `bun build/edges.ts`: checks which folder imports which, types included. Exits with 1 and a line for each import that crosses an
 * edge that is not drawn here, for each circle of features, and for each module beside a folder of its name.
 *
 * What runs on a managed machine (`host`) and what runs on the machine that manages (`desk`) never import each other: both know what
 * they say to each other (`wire`), and `service` puts them together.
 *
 * It also names each file that opens a store and is not listed here with a reason: one process owns a folder, and makes its stores.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { ROOT } from "./targets";

/** What every feature may import besides its own folder. */
const FEATURE = ["core", "lib"];

/** What a side may import besides itself. */
const SIDE = [...FEATURE, "client", "trust"];

/** What a folder of `src` may import besides itself, `version.ts` and packages. */
const EDGES: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  core: ["lib"],
  trust: FEATURE,
  client: [...FEATURE, "trust"],
  http: [...FEATURE, "trust"],
  cli: [...FEATURE, "client", "help", "service"],
  events: FEATURE,
  help: FEATURE,
  licenses: FEATURE,
  metrics: FEATURE,
  wire: SIDE,
  host: [...SIDE, "wire"],
  desk: [...SIDE, "wire"],
};

/** The folders of features: a feature imports no code of another, and types only where no circle comes of it. */
const SIDES = ["host", "desk"];

/** A subcommand calls and shows; of a feature it knows the operations and the options. */
const COMMANDS = ["cli", "core", "lib", "operations.ts", "service", "version.ts"];

/** The files in `src` itself. `service` alone knows the features; `operations.ts` knows their lists, `main.ts` their children. */
const LOOSE = ["index.ts", "main.ts", "operations.ts", "version.ts"];

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b( type\b)?[^"';]*?from\s*"(\.[^"]+)"|import\(\s*"(\.[^"]+)"\s*[,)]/g;

/** One file that imports another, both relative to the root. */
export interface Import {
  readonly from: string;
  readonly to: string;
  /** Whether it imports types alone. */
  readonly isType: boolean;
}

/** The imports in the `text` of the file `from`, types included; packages left out. */
export function importsIn(from: string, text: string): Import[] {
  return [...text.matchAll(IMPORT)].map(([, type, named, dynamic]) => {
    const path = relative(ROOT, resolve(ROOT, dirname(from), `${named ?? dynamic}`));
    const isFolder = existsSync(join(ROOT, path, "index.ts"));
    return { from, to: isFolder ? join(path, "index.ts") : `${path}.ts`, isType: type !== undefined };
  });
}

/** `trust` of `src/trust/tls.ts`; `version.ts` of `src/version.ts`; `commands`. */
function folderOf(file: string): string {
  const [top = "", folder = ""] = file.split("/");
  return top === "commands" ? top : folder;
}

/** `host/usb` of `src/host/usb/linux.ts`; undefined for what is of no side. */
function featureOf(file: string): string | undefined {
  const [, side = "", feature] = file.split("/");
  return SIDES.includes(side) ? `${side}/${feature}` : undefined;
}

/** Whether the edge is drawn here. */
export function isAllowed({ from, to, isType }: Import): boolean {
  const [own, other] = [folderOf(from), folderOf(to)];
  if (own === other) return isType || featureOf(from) === featureOf(to);
  if (other === "version.ts" || own === "service" || LOOSE.includes(own)) return true;
  // The pages are embedded.
  if (own === "http" && /^(dashboard|explorer)\//.test(to)) return true;
  if (from === "src/host/trace/page.ts" && to.startsWith("dashboard/")) return true;
  if (own === "help" && to.startsWith("docs/")) return true;
  if (own === "commands") return COMMANDS.includes(other) || /\/(operations|options)(\.ts$|\/)/.test(to);
  return EDGES[own]?.includes(other) ?? false;
}

/** Each circle of features that import each other's types, as its features in turn; none where there is no circle. */
export function circlesOf(imports: readonly Import[]): string[][] {
  const next = new Map<string, Set<string>>();
  for (const { from, to } of imports) {
    const [own, other] = [featureOf(from), featureOf(to)];
    if (own === undefined || other === undefined || own === other) continue;
    next.set(own, (next.get(own) ?? new Set()).add(other));
  }
  const done = new Set<string>();
  const circles: string[][] = [];
  const visit = (feature: string, path: readonly string[]) => {
    if (path.includes(feature)) circles.push([...path.slice(path.indexOf(feature)), feature]);
    if (done.has(feature) || path.includes(feature)) return;
    for (const other of next.get(feature) ?? []) visit(other, [...path, feature]);
    done.add(feature);
  };
  for (const feature of next.keys()) visit(feature, []);
  return circles;
}

/** The files that open a database or a JSON store, by what keeps two processes apart. */
const STORES: ReadonlyArray<{ readonly why: string; readonly files: readonly string[] }> = [
  {
    why: "the owner of the folder makes it; a command without a server does for the time of a change, or to read",
    files: [
      "src/desk/fleet/book/read.ts",
      "src/desk/fleet/book/store.ts",
      "src/desk/join/join-strings.ts",
      "src/desk/join/standby/standbys.ts",
      "src/desk/plans/ledger/ledger.ts",
      "src/desk/plans/state/kept.ts",
      "src/host/audit/open-file.ts",
      "src/host/desktop/screen/trusted-viewers.ts",
      "src/host/runs/history.ts",
      "src/host/runs/stored-scripts.ts",
      "src/host/scheduler/jobs.ts",
      "src/host/secrets/secrets.ts",
      "src/host/webhooks/hooks.ts",
      "src/trust/ended-tokens.ts",
      "src/trust/named-tokens.ts",
      "src/trust/passkeys/store.ts",
      "src/trust/signed-out.ts",
      "src/wire/witness/store.ts",
    ],
  },
  {
    why: "only a server has it open",
    files: ["src/host/jobs/seen.ts", "src/host/webhooks/queue.ts", "src/http/idempotency.ts"],
  },
  { why: "it is of the command line alone, which has a lock for it", files: ["src/cli/elsewhere/logins.ts"] },
  {
    why: "sessions in processes of their own write it too, and wait for each other",
    files: ["src/host/peers/inbox-index.ts"],
  },
  { why: "it is of one synced folder, which has a lock", files: ["src/host/sync/index-db.ts"] },
  {
    why: "an agent has what it may still do counted, and what it did remembered, where it runs",
    files: ["src/host/mcp/budget.ts", "src/host/agents/store.ts"],
  },
  { why: "it has no file", files: ["src/host/audit/file.ts"] },
  {
    why: "it copies a file of an earlier svc, before anything else opens it",
    files: ["src/service/prepare-folder.ts"],
  },
];

const OPENS = /\b(?:openDatabase|createJsonStore|new Database)(?:<\w+>)?\(/;

/** Each file that opens a store and is not listed, and each that is and does not. @param texts of files outside of `src/lib`, by path. */
export function storeFaults(texts: ReadonlyMap<string, string>): string[] {
  const listed = new Set(STORES.flatMap(({ files }) => files));
  return [...texts].flatMap(([file, text]) => {
    const opens = OPENS.test(text);
    if (opens === listed.has(file)) return [];
    return opens
      ? [`${file} opens a store: the owner of the folder makes stores, each listed in build/edges.ts`]
      : [`${file} opens no store any more, and is listed in build/edges.ts`];
  });
}

if (import.meta.main) {
  const files = await Array.fromAsync(new Bun.Glob("{src,commands}/**/*.ts").scan(ROOT));
  const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), "utf8")]));
  const imports = [...texts].flatMap(([file, text]) => importsIn(file, text));
  const faults = [
    ...storeFaults(new Map([...texts].filter(([file]) => !file.startsWith("src/lib/")))),
    ...imports.filter((edge) => !isAllowed(edge)).map(({ from, to }) => `${from} imports ${to}`),
    ...circlesOf(imports).map((circle) => `a circle of imports: ${circle.join(" -> ")}`),
    ...files
      .filter((file) => /^src\/[^/]+\.ts$/.test(file) && !LOOSE.includes(folderOf(file)))
      .map((file) => `${file}: src has ${LOOSE.join(", ")} and folders`),
    ...files
      .filter((file) => existsSync(join(ROOT, file.replace(/\.ts$/, ""))))
      .map((file) => `${file} stands beside a folder of its name`),
  ];
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
