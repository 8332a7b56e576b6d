/**
 * What is embedded in this binary: the bill of materials that the build put into it.
 */
import { unavailable } from "../lib/errors";

declare const SVC_BOM: Bom | undefined;

/** As much of CycloneDX 1.6 as is used. */
export interface Bom {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.6";
  readonly version: 1;
  readonly metadata: { readonly component: Record<string, unknown> };
  readonly components: readonly Component[];
}

export interface Component {
  readonly type: "library" | "platform";
  readonly "bom-ref": string;
  readonly name: string;
  /** Absent where a library that is linked into an addon does not tell it. */
  readonly version?: string;
  readonly purl: string;
  readonly licenses: ReadonlyArray<{ readonly license: Licence } | { readonly expression: string }>;
  readonly externalReferences?: ReadonlyArray<{ readonly type: "vcs"; readonly url: string }>;
  /** What is linked into it. */
  readonly components?: readonly Component[];
}

/** By its SPDX id, or as it is called where it has none. */
export interface Licence {
  readonly id?: string;
  readonly name?: string;
  readonly text?: { readonly content: string };
}

/** @throws an `unavailable` failure when run from the source tree, where nothing is embedded. */
export function embeddedBom(): Bom {
  if (typeof SVC_BOM === "undefined") throw unavailable("only the compiled svc knows what is embedded in it");
  return SVC_BOM;
}
