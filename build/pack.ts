/**
 * What a binary holds as files, compressed: native addons, what pages load, and the pages of `docs/`. `src/lib/unpack.ts` reads them.
 */
import { dirname, join, sep } from "node:path";
import type { BunPlugin } from "bun";
import { archiveOf, pagesIn } from "../src/help/pages";
import { bundleForBrowsers } from "../src/lib/browser-module";
import { endOfPath } from "./addons";
import { ROOT } from "./targets";

/** The folders of the source tree whose files are embedded: what pages load. */
const FOLDERS = ["dashboard", "explorer"];

/** What `svc help` prints: all pages of its folder are embedded in the place of this one (`src/help/pages.ts`). */
const HELP = join(ROOT, "docs/README.md");

/** The files of packages that pages load, under node_modules. */
const FILES = [
  "swagger-ui-dist/swagger-ui-bundle.js",
  "swagger-ui-dist/swagger-ui.css",
  "uplot/dist/uPlot.esm.js",
  "uplot/dist/uPlot.min.css",
];

/** Modules for browsers: each is embedded as one file with all that it imports. */
const MODULES = ["@novnc/novnc", "./dashboard/trace-file.js", "./dashboard/query.js"];

/** Of zstd: what is beyond it takes as long again, for nothing. */
const LEVEL = 19;

/** Compresses what `read` reads of the file at `path`, as a plugin embeds it. */
export type Pack = (
  path: string,
  read?: () => Promise<Uint8Array<ArrayBuffer>>,
) => Promise<{ readonly loader: "file"; readonly contents: Uint8Array }>;

/** Each file is read and compressed once, however many builds ask. @param level of zstd. */
export function createPack(level = LEVEL): Pack {
  const packed = new Map<string, Promise<Uint8Array>>();
  return async (path, read = () => Bun.file(path).bytes()) => {
    const contents = packed.get(path) ?? read().then((bytes) => Bun.zstdCompress(bytes, { level }));
    packed.set(path, contents);
    return { loader: "file", contents: await contents };
  };
}

/** Embeds what pages load. Bundles first: a build that starts within another never ends. */
export async function pagePlugin(pack: Pack): Promise<BunPlugin> {
  const bundling = MODULES.map(async (name) => {
    const path = Bun.resolveSync(name, ROOT);
    const bundle = await bundleForBrowsers(path);
    return [new RegExp(`^${RegExp.escape(path)}$`), async () => bundle] as const;
  });
  const bundles = await Promise.all(bundling);
  const readHelp = async () => new TextEncoder().encode(archiveOf(pagesIn(dirname(HELP))));
  const folders = FOLDERS.map((name) => new RegExp(`^${RegExp.escape(join(ROOT, name) + sep)}`));
  return {
    name: "pages",
    setup(build) {
      // The first that fits counts: one of them is in a folder of pages too.
      for (const [filter, read] of bundles) build.onLoad({ filter }, ({ path }) => pack(path, read));
      build.onLoad({ filter: new RegExp(`^${RegExp.escape(HELP)}$`) }, () => pack(HELP, readHelp));
      for (const filter of [...folders, ...FILES.map((name) => endOfPath(name))])
        build.onLoad({ filter }, ({ path }) => pack(path));
    },
  };
}
