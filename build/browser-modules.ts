/**
 * Modules of packages for browsers that a page loads: the plugin embeds each as one file with all that it imports, compressed.
 */
import { promisify } from "node:util";
import { brotliCompress } from "node:zlib";
import type { BunPlugin } from "bun";
import { bundleForBrowsers } from "../src/lib/browser-module";
import { endOfPath } from "./addons";
import { ROOT } from "./targets";

/** The packages, and their modules under node_modules. */
const MODULES = { "@novnc/novnc": "@novnc/novnc/core/rfb.js" };

/** Bundles first: a build that starts within another never ends. */
export async function browserModulePlugin(): Promise<BunPlugin> {
  const made = Object.entries(MODULES).map(async ([name, file]) => {
    const bundle = await bundleForBrowsers(Bun.resolveSync(name, ROOT));
    return { file, contents: await promisify(brotliCompress)(bundle) };
  });
  const modules = await Promise.all(made);
  return {
    name: "browser-modules",
    setup(build) {
      for (const { file, contents } of modules)
        build.onLoad({ filter: endOfPath(file) }, () => ({ loader: "file", contents }));
    },
  };
}
