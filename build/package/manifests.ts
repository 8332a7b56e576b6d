/**
 * What package managers of other platforms read: a formula for Homebrew, a manifest for Scoop, three for winget. They name
 * the archives of the release by address and SHA-256.
 */
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fill } from "../../src/lib/fill";
import type { Target } from "../targets";
import { archiveFolder, archiveName } from "./archive";
import type { Release } from "./release";
import { sha256Of } from "./sums";
import formula from "./templates/svc.rb" with { type: "text" };
import scoop from "./templates/svc.scoop.txt" with { type: "text" };
import wingetInstaller from "./templates/winget.installer.yaml" with { type: "text" };
import wingetLocale from "./templates/winget.locale.yaml" with { type: "text" };
import wingetVersion from "./templates/winget.yaml" with { type: "text" };

/** The targets that each manager installs. */
const HOMEBREW = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"] as const;
const WINDOWS = ["windows-x64"] as const;

/**
 * Writes those manifests to `out/manifests` whose archives are in `out`.
 *
 * @param url of the folder that the release is published in, with `{version}` for its version.
 * @returns their paths, and for each manager that got none why.
 */
export async function makeManifests(
  release: Release,
  url: string,
  out: string,
): Promise<{ made: string[]; skipped: string[] }> {
  const { version, date } = release;
  const base = url.replaceAll("{version}", version).replace(/\/$/, "");
  const [made, skipped]: [string[], string[]] = [[], []];
  const write = async (name: string, template: string, targets: readonly Target[]) => {
    const missing = targets.filter((target) => !existsArchive(release, target, out));
    if (missing.length > 0) {
      skipped.push(`${name}: there is no archive for ${missing.join(", ")}`);
      return;
    }
    const values: Record<string, string> = { version, date };
    for (const target of targets) {
      const key = target.replaceAll("-", "_");
      values[`${key}_url`] = `${base}/${archiveName(release, target)}`;
      values[`${key}_sha256`] = await sha256Of(join(out, archiveName(release, target)));
      values[`${key}_folder`] = archiveFolder(release, target);
    }
    const path = join(out, "manifests", name);
    await mkdir(dirname(path), { recursive: true });
    await Bun.write(path, fill(template, values));
    made.push(path);
  };
  await write("svc.rb", formula, HOMEBREW);
  await write("svc.json", scoop, WINDOWS);
  await write("winget/svc.svc.yaml", wingetVersion, WINDOWS);
  await write("winget/svc.svc.installer.yaml", wingetInstaller, WINDOWS);
  await write("winget/svc.svc.locale.en-US.yaml", wingetLocale, WINDOWS);
  return { made, skipped };
}

const existsArchive = (release: Release, target: Target, out: string) =>
  Bun.file(join(out, archiveName(release, target))).size > 0;
