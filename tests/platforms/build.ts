/** A binary for another platform, built for the tests of one file. */
import { compile } from "../../build/compile";
import { packagesFor, type Target } from "../../build/targets";
import { temporaryFolder } from "../support";

/** What was built, and the packages it was built from; both are removed when the scope ends. */
export interface Built extends AsyncDisposable {
  readonly binary: string;
  /** The node_modules of the platform. */
  readonly modules: string;
}

export async function buildFor(target: Target): Promise<Built> {
  await using stack = new AsyncDisposableStack();
  const packages = stack.use(await packagesFor(target));
  const folder = stack.use(temporaryFolder());
  const binary = await compile(packages, { folder: folder.path, name: "svc" });
  const kept = stack.move();
  return { binary, modules: packages.modules, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
