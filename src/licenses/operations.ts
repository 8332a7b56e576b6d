import * as v from "valibot";
import { NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";

/** A licence by its SPDX id, or by its name where it has none. */
const LICENCE = v.object({
  id: v.exactOptional(v.string()),
  name: v.exactOptional(v.string()),
  text: v.exactOptional(v.object({ content: v.string() })),
});

const PACKAGE = v.object({
  type: v.picklist(["library", "platform"]),
  "bom-ref": v.string(),
  name: v.string(),
  /** Absent where a library that is linked into an addon does not say it. */
  version: v.exactOptional(v.string()),
  purl: v.string(),
  licenses: v.array(v.union([v.object({ license: LICENCE }), v.object({ expression: v.string() })])),
  /** The text, where the licence is an expression. */
  evidence: v.exactOptional(v.object({ licenses: v.array(v.object({ license: LICENCE })) })),
  externalReferences: v.exactOptional(v.array(v.object({ type: v.literal("vcs"), url: v.string() }))),
});

/** `components`: what is linked into it. */
const COMPONENT = v.object({ ...PACKAGE.entries, components: v.exactOptional(v.array(PACKAGE)) });

/** The part of CycloneDX 1.6 that svc uses. */
const BOM = v.object({
  bomFormat: v.literal("CycloneDX"),
  specVersion: v.literal("1.6"),
  version: v.literal(1),
  metadata: v.object({ component: v.record(v.string(), v.unknown()) }),
  components: v.array(COMPONENT),
});

export type Component = v.InferOutput<typeof COMPONENT>;
export type Bom = v.InferOutput<typeof BOM>;

export const listLicenses = operation({
  name: "licenses.list",
  summary: "List the embedded packages and their licences, as a CycloneDX document",
  scope: "read",
  subcommand: "licenses",
  leftOut: {
    http: "it is the same for every host with this binary",
    script: "it is the same for every host with this binary",
  },
  input: NO_INPUT,
  output: BOM,
  run: async () => (await import("./bom")).embeddedBom(),
});

export const operations = [listLicenses];
