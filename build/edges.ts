/**
 * `bun build/edges.ts`: checks which folder imports which, types included. Exits with 1 and a line for each import that
 * crosses an edge that is not drawn here. The edges have no circle, so no circle of imports spans two folders.
 */
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { ROOT } from "./targets";

/** What every feature may import besides its own folder. */
const FEATURE = ["core", "lib"];

/** What a folder of `src` may import besides itself, `version.ts` and packages. */
const EDGES: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  core: ["lib"],
  trust: FEATURE,
  client: [...FEATURE, "trust"],
  http: [...FEATURE, "trust"],
  cli: [...FEATURE, "client", "service.ts"],
  approvals: [...FEATURE, "client"],
  audit: FEATURE,
  config: FEATURE,
  daemon: FEATURE,
  desktop: [...FEATURE, "client"],
  diagnostics: FEATURE,
  events: FEATURE,
  fleet: [...FEATURE, "client"],
  inspector: [...FEATURE, "client"],
  join: [...FEATURE, "client", "trust"],
  licenses: FEATURE,
  link: [...FEATURE, "client", "trust"],
  mcp: [...FEATURE, "client"],
  metrics: FEATURE,
  nats: [...FEATURE, "client", "link", "trust"],
  peers: [...FEATURE, "client"],
  plans: [...FEATURE, "client", "fleet", "trust"],
  release: FEATURE,
  runs: FEATURE,
  scheduler: FEATURE,
  sync: FEATURE,
  trace: FEATURE,
  turn: FEATURE,
  usb: FEATURE,
  webhooks: [...FEATURE, "client"],
  witness: [...FEATURE, "client"],
};

/** A subcommand calls and shows; of a feature it knows the operations and the options. */
const COMMANDS = ["cli", "core", "lib", "operations.ts", "service.ts", "version.ts"];

/**
 * The files in `src` itself. `service.ts` and its folder `service` alone know the features; `operations.ts` knows their lists,
 * `main.ts` their children.
 */
const LOOSE = ["index.ts", "main.ts", "operations.ts", "service.ts", "version.ts"];

const IMPORT = /(?:^|\n)\s*(?:import|export)\b[^"';]*?from\s*"(\.[^"]+)"|import\(\s*"(\.[^"]+)"\s*[,)]/g;

/** One file that imports another, both relative to the root. */
export interface Import {
  readonly from: string;
  readonly to: string;
}

/** The imports in the `text` of the file `from`, types included; packages left out. */
export function importsIn(from: string, text: string): Import[] {
  return [...text.matchAll(IMPORT)].map(([, named, dynamic]) => ({
    from,
    to: relative(ROOT, resolve(ROOT, dirname(from), `${named ?? dynamic}.ts`)),
  }));
}

/** `usb` of `src/usb/linux.ts`; `service.ts` of `src/service.ts`; `commands`. */
function folderOf(file: string): string {
  const [top = "", folder = ""] = file.split("/");
  return top === "commands" ? top : folder;
}

/** Whether the edge is drawn here. */
export function isAllowed({ from, to }: Import): boolean {
  const [own, other] = [folderOf(from), folderOf(to)];
  if (own === other || other === "version.ts" || own === "service" || LOOSE.includes(own)) return true;
  // The pages are embedded.
  if (own === "http" && /^(dashboard|explorer)\//.test(to)) return true;
  if (own === "commands") return COMMANDS.includes(other) || /\/(operations|options)(\.ts$|\/)/.test(to);
  return EDGES[own]?.includes(other) ?? false;
}

if (import.meta.main) {
  const files = await Array.fromAsync(new Bun.Glob("{src,commands}/**/*.ts").scan(ROOT));
  const crossing = files
    .flatMap((file) => importsIn(file, readFileSync(join(ROOT, file), "utf8")))
    .filter((edge) => !isAllowed(edge));
  const stray = files.filter((file) => /^src\/[^/]+\.ts$/.test(file) && !LOOSE.includes(folderOf(file)));
  for (const { from, to } of crossing) console.error(`${from} imports ${to}`);
  for (const file of stray) console.error(`${file}: src has ${LOOSE.join(", ")} and folders`);
  process.exitCode = crossing.length + stray.length > 0 ? 1 : 0;
}
