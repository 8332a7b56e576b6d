import * as v from "valibot";
import { field, flag, inForm, NO_INPUT, secret } from "../core/fields";
import { operation } from "../core/operation";
import type { Log } from "../lib/log";
import { BUNDLE, BUNDLED_NAMES, type BundleReaders, IMPORT_REPORT, IMPORTED_BUNDLE } from "./bundle";

/** What the operations use of the service. */
interface Uses {
  readonly configDir: string;
  readonly log: Log;
  bundleReaders(): Promise<BundleReaders>;
}

export const exportConfig = operation({
  name: "config.export",
  summary: "Export the configuration of this host as a bundle, tokens included",
  scope: "admin",
  reveals: true,
  command: "AC_config_export",
  http: { method: "POST", path: "/config/export" },
  input: NO_INPUT,
  output: BUNDLE,
  async run({ configDir, log }: Uses) {
    const { exportBundle } = await import("./folder");
    const { bundle, leftOut } = exportBundle(configDir, new Date());
    for (const { name, reason } of leftOut) log.warn(`${name} is not in the bundle: ${reason}`);
    return bundle;
  },
});

export const importConfig = operation({
  name: "config.import",
  summary: "Import a bundle: write its files and back up those that change",
  scope: "admin",
  changes: "announces",
  command: "AC_config_import",
  http: { method: "POST", path: "/config/import", body: "bundle" },
  input: v.strictObject({
    bundle: field(
      secret(inForm(IMPORTED_BUNDLE)),
      "The bundle: {manifest: {version: 1}, files: {name: {format, content}}}",
    ),
    dry_run: flag("Report what would change, and change nothing"),
    only: field(
      v.optional(v.pipe(v.array(v.picklist(BUNDLED_NAMES)), v.minLength(1))),
      "Import only these files of the bundle",
    ),
  }),
  output: IMPORT_REPORT,
  async run({ configDir, bundleReaders }: Uses, { bundle, dry_run, only }, caller) {
    const { importBundle } = await import("./import");
    return importBundle(configDir, bundle, {
      dryRun: dry_run,
      readers: await bundleReaders(),
      ...(only && { only }),
      announce: (names) => caller.announce(`config.import ${names.join(",")}`),
    });
  },
});

export const operations = [exportConfig, importConfig];
