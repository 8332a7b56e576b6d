/** A binary for another platform, built for the tests of one file. */
import { addons } from "../../build/addons";
import { compile } from "../../build/compile";
import { type Packages, packagesFor, type Target } from "../../build/targets";
import { temporaryFolder } from "../support";

/** What was built, and the packages it was built from; both are removed when the scope ends. */
export interface Built extends AsyncDisposable {
  readonly binary: string;
  /** The node_modules of the platform. */
  readonly modules: string;
}

/** @param tableIn gives other addons to embed than svc has; its folder is removed with the binary. */
export async function buildFor(
  target: Target,
  tableIn: (packages: Packages, folder: string) => typeof addons = () => addons,
): Promise<Built> {
  await using stack = new AsyncDisposableStack();
  const packages = stack.use(await packagesFor(target));
  const folder = stack.use(temporaryFolder());
  const table = tableIn(packages, folder.path);
  const binary = await compile(packages, { folder: folder.path, name: "svc", table });
  const kept = stack.move();
  return { binary, modules: packages.modules, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
