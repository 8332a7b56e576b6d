/**
 * Native addons in the binary: a table of them, and the plugin that embeds those of one platform and no other's.
 *
 * An npm package finds its addon by trying paths at run time, which nothing in a single file can answer. The plugin
 * puts, in place of the module that does so, one that loads the addon from the binary (`src/lib/addon.ts`).
 */
import { join } from "node:path";
import type { BunPlugin } from "bun";
import { loadedPart } from "./elf";
import type { Pack } from "./pack";
import { type Packages, ROOT, type Target } from "./targets";

interface Addon {
  /** The module that looks for the addon and exports just what it finds, under node_modules. */
  readonly loader: string;
  /** What it was built by, under node_modules, where that names what is linked into it. */
  readonly recipe?: string;
  /** The addon under node_modules; null where there is none for the platform: then loading it throws. */
  readonly files: Readonly<Record<Target, string | null>>;
}

/** Every native addon, by the name of the package that uses it. */
export const addons: Readonly<Record<string, Addon>> = {
  "node-datachannel": {
    loader: "node-datachannel/dist/esm/lib/node-datachannel.mjs",
    recipe: "node-datachannel/CMakeLists.txt",
    files: {
      "linux-x64": "@node-datachannel/linux-x64-gnu/node_datachannel.node",
      "linux-arm64": "@node-datachannel/linux-arm64-gnu/node_datachannel.node",
      "linux-x64-musl": "@node-datachannel/linux-x64-musl/node_datachannel.node",
      "darwin-x64": "@node-datachannel/darwin-x64/node_datachannel.node",
      "darwin-arm64": "@node-datachannel/darwin-arm64/node_datachannel.node",
      "windows-x64": "@node-datachannel/win32-x64-msvc/node_datachannel.node",
    },
  },
  usb: {
    loader: "usb/index.js",
    files: {
      "linux-x64": "@node-usb/usb-linux-x64-gnu/usb.linux-x64-gnu.node",
      "linux-arm64": "@node-usb/usb-linux-arm64-gnu/usb.linux-arm64-gnu.node",
      "linux-x64-musl": "@node-usb/usb-linux-x64-musl/usb.linux-x64-musl.node",
      "darwin-x64": "@node-usb/usb-darwin-x64/usb.darwin-x64.node",
      "darwin-arm64": "@node-usb/usb-darwin-arm64/usb.darwin-arm64.node",
      "windows-x64": "@node-usb/usb-win32-x64-msvc/usb.win32-x64-msvc.node",
    },
  },
  // On Linux, svc speaks to the X server itself and needs neither of the next two.
  robotjs: {
    loader: "robotjs/index.js",
    files: {
      "linux-x64": null,
      "linux-arm64": null,
      "linux-x64-musl": null,
      "darwin-x64": "robotjs/prebuilds/darwin-x64/node.napi.node",
      "darwin-arm64": "robotjs/prebuilds/darwin-arm64/node.napi.node",
      "windows-x64": "robotjs/prebuilds/win32-x64/node.napi.node",
    },
  },
  "node-screenshots": {
    loader: "node-screenshots/index.js",
    files: {
      "linux-x64": null,
      "linux-arm64": null,
      "linux-x64-musl": null,
      "darwin-x64": "node-screenshots-darwin-x64/node-screenshots.darwin-x64.node",
      "darwin-arm64": "node-screenshots-darwin-arm64/node-screenshots.darwin-arm64.node",
      "windows-x64": "node-screenshots-win32-x64-msvc/node-screenshots.win32-x64-msvc.node",
    },
  },
};

/** The addon at `path`, as it is embedded. */
export const packAddon = (pack: Pack, path: string) =>
  pack(path, async () => loadedPart(await Bun.file(path).bytes()));

const LOAD = join(ROOT, "src", "lib", "addon.ts");

/** Embeds the addons of `packages` and no others. */
export function addonPlugin({ target, modules }: Packages, pack: Pack, table = addons): BunPlugin {
  return {
    name: "native-addons",
    setup(build) {
      for (const [name, { loader, files }] of Object.entries(table)) {
        const file = files[target];
        const exported = loader.endsWith(".mjs") ? "export default" : "module.exports =";
        const contents = file
          ? `${exported} require(${JSON.stringify(LOAD)}).loadAddon(require(${JSON.stringify(join(modules, file))}));`
          : `throw new Error(${JSON.stringify(`${name} has no native addon for ${target}`)});`;
        build.onLoad({ filter: endOfPath(loader) }, () => ({ loader: "js", contents }));
        if (!file) continue;
        const filter = new RegExp(`^${RegExp.escape(join(modules, file))}$`);
        build.onLoad({ filter }, ({ path }) => packAddon(pack, path));
      }
    },
  };
}

/** Whether the module at `path` is one that the plugin puts another in place of. */
export const isReplaced = (path: string): boolean =>
  Object.values(addons).some(({ loader }) => endOfPath(loader).test(path));

/** The path of the module `name` in some node_modules folder, with either kind of slash. @param more a pattern that follows. */
export function endOfPath(name: string, more = ""): RegExp {
  const escaped = `node_modules/${name}`.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&") + more;
  return new RegExp(`[\\\\/]${escaped.replaceAll("/", "[\\\\/]")}$`);
}
