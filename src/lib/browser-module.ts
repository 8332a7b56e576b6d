/**
 * A module for browsers with all that it imports, as one file. The build embeds that, compressed, in place of the module
 * (`build/pack.ts`); from the source tree it is bundled when it is first read.
 */
import { compiled } from "../version";
import { unpack } from "./unpack";

/**
 * @param path of the module, from `import … with { type: "file" }`.
 * @returns what a page serves of it: its type, and its bytes.
 */
export const browserModule = (path: string) => ({
  type: Bun.file(path).type,
  bytes: async () => (compiled ? new Uint8Array(unpack(path)) : await bundleForBrowsers(path)),
});

/** The module at `path` and all that it imports, minified. @throws what Bun.build throws. */
export async function bundleForBrowsers(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const { outputs } = await Bun.build({ entrypoints: [path], target: "browser", minify: true });
  const [bundle] = outputs;
  if (!bundle) throw new Error(`${path} became no bundle`);
  return new Uint8Array(await bundle.arrayBuffer());
}
