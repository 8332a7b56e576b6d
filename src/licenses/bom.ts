/** The bill of materials that the build embeds in the binary: a chunk of its own, since it is large, as base64 of zstd. */
import { unavailable } from "../lib/errors";
import type { Bom } from "./operations";

declare const SVC_BOM: string | undefined;

/** @throws an `unavailable` failure when run from the source tree, where nothing is embedded. */
export function embeddedBom(): Bom {
  if (typeof SVC_BOM === "undefined")
    throw unavailable("run from the source tree, svc has no list of embedded packages");
  return JSON.parse(Bun.zstdDecompressSync(Buffer.from(SVC_BOM, "base64")).toString());
}
