/** The bill of materials that the build embeds in the binary: a chunk of its own, since it is large. */
import { unavailable } from "../lib/errors";
import type { Bom } from "./operations";

declare const SVC_BOM: Bom | undefined;

/** @throws an `unavailable` failure when run from the source tree, where nothing is embedded. */
export function embeddedBom(): Bom {
  if (typeof SVC_BOM !== "undefined") return SVC_BOM;
  throw unavailable("run from the source tree, svc has no list of embedded packages");
}
