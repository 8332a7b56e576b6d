/**
 * What the tests of bundles need: a configuration folder, a file next to it, and a hash over both.
 */
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../support";

/** `{root}/config` with some files and `{root}/outside/victim`; both go when the scope ends. */
export function host(files: Readonly<Record<string, string | undefined>> = {}) {
  const folder = temporaryFolder();
  const config = join(folder.path, "config");
  const victim = join(folder.path, "outside", "victim");
  mkdirSync(config, { mode: 0o700 });
  mkdirSync(join(folder.path, "outside"));
  writeFileSync(victim, "untouched");
  for (const [name, text] of Object.entries(files)) {
    if (text !== undefined) writeFileSync(join(config, name), text, { mode: 0o600 });
  }
  return {
    root: folder.path,
    config,
    victim,
    read: (name: string) => readFileSync(join(config, name), "utf8"),
    names: () => readdirSync(config).sort(),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** A digest over every name, mode, link target and content under `folder`, but for svc's own locks in `run`. */
export function treeHash(folder: string): string {
  const digest = new Bun.CryptoHasher("sha256");
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (/\/run(\/|$)/.test(path.slice(folder.length))) continue;
    digest.update(`${path}\0`);
    if (entry.isSymbolicLink()) digest.update(readlinkSync(path));
    else if (entry.isFile()) digest.update(`${statSync(path).mode} `).update(readFileSync(path));
  }
  return digest.digest("hex");
}

/** A bundle of `files`: text for what is text, values for what is JSON. */
export const bundleOf = (files: Readonly<Record<string, unknown>>) => ({
  manifest: { version: 1, exported_at: "2026-01-01T00:00:00Z", platform: "Linux", source_root: "/x" },
  files: Object.fromEntries(
    Object.entries(files).map(([name, content]) => [
      name,
      { format: name.endsWith(".json") ? "json" : "text", content },
    ]),
  ),
});
