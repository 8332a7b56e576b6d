import * as v from "valibot";
import { field, NO_INPUT, secret } from "../core/fields";
import { operation } from "../core/operation";
import type { Service } from "../service";
import { BUNDLE_VERSION, BUNDLED_NAMES } from "./bundle";

const NAME = v.picklist(BUNDLED_NAMES);
const FILES = v.record(v.string(), v.object({ format: v.picklist(["json", "text"]), content: v.unknown() }));

export const exportConfig = operation({
  name: "config.export",
  summary: "Bundle the configuration of this host, tokens included",
  scope: "admin",
  command: "AC_config_export",
  http: { method: "POST", path: "/config/export" },
  input: NO_INPUT,
  output: v.object({
    manifest: v.object({
      version: v.literal(BUNDLE_VERSION),
      exported_at: v.string(),
      platform: v.string(),
      source_root: v.string(),
    }),
    files: secret(FILES),
  }),
  async run(service: Service) {
    const { exportBundle } = await import("./export");
    const { bundle, leftOut } = exportBundle(service.configDir, new Date());
    for (const { name, reason } of leftOut) service.log.warn(`${name} is not in the bundle: ${reason}`);
    return bundle;
  },
});

export const importConfig = operation({
  name: "config.import",
  summary: "Write the files of a bundle, keeping backups of those that change",
  scope: "admin",
  changes: "announces",
  command: "AC_config_import",
  http: { method: "POST", path: "/config/import", body: "bundle" },
  input: v.strictObject({
    bundle: field(
      secret(v.unknown()),
      "The bundle: {manifest: {version: 1}, files: {name: {format, content}}}",
    ),
    dry_run: field(v.optional(v.boolean(), false), "Tell what would be done and do nothing"),
    only: field(
      v.optional(v.pipe(v.array(NAME), v.minLength(1))),
      "Leave the other files of the bundle alone",
    ),
  }),
  output: v.object({
    written: v.array(NAME),
    skipped: v.array(NAME),
    backups: v.record(v.string(), v.string()),
    dry_run: v.boolean(),
    unchanged: v.array(NAME),
    files: v.array(
      v.object({
        name: NAME,
        change: v.picklist(["new", "changed", "unchanged"]),
        diff: v.nullable(v.string()),
        note: v.nullable(v.string()),
      }),
    ),
    warnings: v.array(v.string()),
  }),
  async run(service: Service, { bundle, dry_run, only }, caller) {
    const { importBundle } = await import("./import");
    return importBundle(service.configDir, bundle, {
      dryRun: dry_run,
      ...(only && { only }),
      announce: (names) => caller.announce(`config.import ${names.join(",")}`),
    });
  },
});

export const operations = [exportConfig, importConfig];
