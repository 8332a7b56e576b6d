/**
 * Binaries of several versions, as releases have them: compiled with a version and a key of their own.
 *
 * Without source maps, bytecode and list of packages, and with what is embedded compressed fast: that takes most of the time of a build,
 * and changes nothing here.
 */
import { join } from "node:path";
import { addons } from "../../../build/addons";
import { pluginsFor } from "../../../build/compile";
import { createPack } from "../../../build/pack";
import { hostTarget, packagesFor, ROOT } from "../../../build/targets";

export interface Made {
  readonly version: string;
  /** The public key of minisign in it. */
  readonly key: string;
  /** Set for one whose `svc serve` ends at once. */
  readonly broken?: true;
}

/** Compiles one to `path`. @returns its target. */
export async function compileVersion(path: string, { version, key, broken }: Made): Promise<string> {
  const target = hostTarget();
  await using packages = await packagesFor(target);
  const define = { SVC_VERSION: version, SVC_COMMIT: "test", SVC_TARGET: target, SVC_RELEASE_KEY: key };
  const empty = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: {} },
    components: [],
  };
  await Bun.build({
    entrypoints: [join(ROOT, broken ? "tests/host/release/broken.ts" : "src/main.ts")],
    compile: {
      outfile: path,
      autoloadDotenv: false,
      autoloadBunfig: false,
      executablePath: packages.runtime,
    },
    minify: true,
    format: "esm",
    splitting: true,
    define: {
      ...Object.fromEntries(Object.entries(define).map(([name, value]) => [name, JSON.stringify(value)])),
      SVC_BOM: JSON.stringify(Bun.zstdCompressSync(JSON.stringify(empty)).toBase64()),
    },
    plugins: await pluginsFor(packages, addons, createPack(1)),
  });
  return target;
}
