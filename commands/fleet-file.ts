/** The file of `svc fleet apply` and `svc fleet diff`. */
import * as v from "valibot";
import { field } from "../src/core/fields";
import { type FleetFile, readStateFile } from "../src/desk/plans/state/operations/file";
import type { Service } from "../src/service/service";

/** The argument that names it. */
export const FILE = {
  file: field(
    v.pipe(v.string(), v.nonEmpty()),
    "What hosts should have: a .json, .json5, .yaml or .yml file, or - for stdin",
  ),
};

/**
 * What the file at `path` says. Its lists are checked here, where their places are known; a desk elsewhere may know other commands.
 *
 * @throws `bad_input` that names each place at fault.
 */
export async function fileAt(service: Service, path: string): Promise<FleetFile> {
  const executor = service.elsewhere ? undefined : await service.executor();
  return readStateFile(path, executor && ((actions) => executor.check(actions)));
}
