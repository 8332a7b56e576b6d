/**
 * Compiling one target, and what its binary was built from.
 */
import { join } from "node:path";
import * as v from "valibot";
import { compile, sourceCommit } from "./compile";
import { publicKeyOfBuild } from "./package/sign";
import { type Packages, ROOT } from "./targets";

const BUILT_FROM = v.object({
  commit: v.string(),
  /** The public key in it; empty where there is none. */
  key: v.string(),
});

/** `dist/builds/svc-linux-x64.json` */
const noteOf = (folder: string, name: string) => join(folder, "builds", `${name}.json`);

/**
 * Compiles svc for the platform of `packages` to `folder/name` (`.exe` on Windows), and notes what from.
 *
 * @returns the path of the binary.
 */
export async function buildTarget(packages: Packages, folder: string, name: string): Promise<string> {
  const binary = await compile(packages, { folder, name });
  const from = { commit: await sourceCommit(ROOT), key: publicKeyOfBuild() };
  await Bun.write(noteOf(folder, name), JSON.stringify(from));
  return binary;
}

/** What `folder/name` was built from; undefined where that is not known. */
export async function builtFrom(
  folder: string,
  name: string,
): Promise<v.InferOutput<typeof BUILT_FROM> | undefined> {
  const note = Bun.file(noteOf(folder, name));
  if (!(await note.exists())) return undefined;
  const parsed = v.safeParse(BUILT_FROM, await note.json());
  return parsed.success ? parsed.output : undefined;
}
