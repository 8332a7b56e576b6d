import * as v from "valibot";
import { field, flag, inForm, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import type { Log } from "../../lib/log";
import { GIVEN_UP_FILES } from "../../lib/trust-files";
import {
  BUNDLE,
  BUNDLED_NAMES,
  type BundleMergers,
  type BundleReaders,
  IMPORT_REPORT,
  IMPORTED_BUNDLE,
  type KeptParts,
} from "./bundle";
import type { Settings } from "./settings";

/** What the operations use of the service. */
interface Uses {
  readonly configDir: string;
  readonly log: Log;
  /** The files that are kept in another form here. */
  bundleParts(): Promise<KeptParts>;
  bundleReaders(): Promise<BundleReaders>;
  bundleMergers(): Promise<BundleMergers>;
}

const NAME = v.pipe(v.string(), v.maxLength(100));

export const exportConfig = operation({
  name: "config.export",
  summary: "Export the configuration of this host as a bundle, tokens included",
  answeredBy: "owner",
  scope: "admin",
  reveals: true,
  command: "AC_config_export",
  http: { method: "POST", path: "/config/export" },
  input: NO_INPUT,
  output: BUNDLE,
  async run({ configDir, log, bundleParts }: Uses, _input, { warn = log.warn }) {
    const { exportBundle } = await import("./folder");
    const { bundle, leftOut } = exportBundle(configDir, new Date(), await bundleParts());
    for (const { name, reason } of leftOut) warn(`${name} is not in the bundle: ${reason}`);
    return bundle;
  },
});

export const importConfig = operation({
  name: "config.import",
  summary: "Import a bundle: write its files and back up those that change",
  answeredBy: "owner",
  serverInRuns: true,
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
    merge: flag(
      "Add hosts to the address book instead of replacing it; of two with one label, the one here stays",
    ),
    only: field(
      v.optional(v.pipe(v.array(v.picklist(BUNDLED_NAMES)), v.minLength(1))),
      "Import only these files of the bundle",
    ),
  }),
  output: IMPORT_REPORT,
  async run(service: Uses, { bundle, dry_run, merge, only }, caller) {
    const { configDir, bundleParts, bundleReaders, bundleMergers } = service;
    const { importBundle } = await import("./import");
    return importBundle(configDir, bundle, {
      dryRun: dry_run,
      readers: await bundleReaders(),
      parts: bundleParts,
      ...(merge && { mergers: await bundleMergers() }),
      ...(only && { only }),
      announce: (names) => caller.announce(`config.import ${names.join(",")}`),
    });
  },
});

export const setAside = operation({
  name: "config.set_aside",
  summary: "Give up a file of the configuration folder that cannot be used: it is kept under another name",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut: {
    http: "what was lost is decided by a person on the host itself",
    script: "what was lost is decided by a person on the host itself",
  },
  input: v.strictObject({
    file: field(v.picklist(GIVEN_UP_FILES), "The file, as the message names it; svc begins anew without it"),
  }),
  /** `kept`: its new name, and those of what belongs to it; none where the file was missing. */
  output: v.object({ file: v.string(), kept: v.array(v.string()) }),
  async run({ configDir }: Uses, { file }) {
    const { setFileAside } = await import("./set-aside");
    return { file, kept: await setFileAside(configDir, file) };
  },
});

/** What the operations use of their service. */
interface SettingsUses {
  settings(): Promise<Settings>;
}

const SETTING = v.object({ name: v.string(), value: v.array(v.string()) });

export const setSetting = operation({
  name: "config.set",
  summary: "Change a setting of this host; it is kept, and goes into exports",
  answeredBy: "owner",
  serverInRuns: true,
  scope: "admin",
  changes: true,
  command: "AC_config_set",
  http: { method: "POST", path: "/config/set" },
  example: { name: "diagnose.skip", value: ["screenshot", "mouse"] },
  input: v.strictObject({
    name: field(
      NAME,
      "The setting: diagnose.skip, the checks that this host leaves out; desktop.screen, whether it has a screen (none, expected)",
    ),
    value: field(v.optional(v.pipe(v.array(NAME), v.maxLength(100)), []), "Its values; none: the default"),
  }),
  output: SETTING,
  async run({ settings }: SettingsUses, { name, value }) {
    const kept = await settings();
    await kept.set(name, value);
    return { name, value: kept.get(name) };
  },
});

export const listSettings = operation({
  name: "config.list",
  summary: "List the settings of this host",
  scope: "read",
  command: "AC_config_list",
  http: { method: "GET", path: "/config/list" },
  input: NO_INPUT,
  output: v.object({ settings: v.array(SETTING) }),
  run: async ({ settings }: SettingsUses) => ({ settings: (await settings()).list() }),
});

export const operations = [exportConfig, importConfig, setAside, setSetting, listSettings];
