/**
 * The files that every package of Linux installs, as a folder: the program, its unit, manual pages, completions and papers.
 */
import { chmod, copyFile, lutimes, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { scripts } from "../../src/cli/completion";
import { planDaemon } from "../../src/host/daemon/daemon";
import { fill } from "../../src/lib/fill";
import { manualPages } from "../manual";
import { ROOT } from "../targets";
import type { Release } from "./release";
import copyright from "./templates/copyright" with { type: "text" };

/** What is packed: a binary, and beside it `<binary>.cdx.json`. */
export interface BuiltBinary {
  readonly binary: string;
  readonly bom: string;
}

/** Where the families of distributions differ. */
export interface Family {
  /** Of completions for zsh. */
  readonly zsh: string;
}

export const DEBIAN: Family = { zsh: "usr/share/zsh/vendor-completions/_svc" };
export const RED_HAT: Family = { zsh: "usr/share/zsh/site-functions/_svc" };

/** The unit, as `svc service install --system` writes it for a program in `/usr/bin`, with its manual page. */
export function packageUnit(): string {
  const options = { flags: [], configDir: null, home: "/root", userId: 0, userName: "root" };
  const plan = planDaemon({ ...options, binary: "/usr/bin/svc", system: true }, "linux");
  return plan.file.content.replace("[Unit]\n", "[Unit]\nDocumentation=man:svc-serve(1)\n");
}

/** Writes the files below `folder`, which is emptied first. Modes and times depend on the release alone. */
export async function writeTree(
  release: Release,
  built: BuiltBinary,
  family: Family,
  folder: string,
): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const write = async (path: string, content: string | Uint8Array) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await Bun.write(join(folder, path), content);
  };
  await mkdir(join(folder, "usr/bin"), { recursive: true });
  await copyFile(built.binary, join(folder, "usr/bin/svc"));
  await write("usr/lib/systemd/system/svc.service", packageUnit());
  await write("usr/share/bash-completion/completions/svc", scripts.bash);
  await write(family.zsh, scripts.zsh);
  await write("usr/share/fish/vendor_completions.d/svc.fish", scripts.fish);
  for (const { name, text } of await manualPages(release)) {
    await write(`usr/share/man/man1/${name}.gz`, compressed(text));
  }
  const papers = "usr/share/doc/svc";
  const [licence, changes] = await Promise.all(
    ["LICENSE", "CHANGELOG.md"].map((name) => Bun.file(join(ROOT, name)).text()),
  );
  await write(`${papers}/copyright`, copyrightOf(licence ?? ""));
  await write(`${papers}/CHANGELOG.md.gz`, compressed(changes ?? ""));
  await write(`${papers}/svc.cdx.json.gz`, compressed(await Bun.file(built.bom).text()));
  await settle(folder, release, new Set(["usr/bin/svc"]));
}

/** The copyright file of Debian, from `LICENSE`. */
function copyrightOf(licence: string): string {
  const [, owner = "", text = ""] = /^MIT License\n\nCopyright \(c\) ([^\n]*)\n\n(.*)$/s.exec(licence) ?? [];
  if (owner === "") throw new Error("LICENSE is not the MIT licence in the form that the packages quote");
  const indented = text
    .trimEnd()
    .split("\n")
    .map((line) => (line === "" ? " ." : ` ${line}`));
  return fill(copyright, { copyright: owner, license: indented });
}

/** As `gzip -9n` does: without a name and a time. */
export const compressed = (text: string): Uint8Array => gzipSync(text, { level: 9 });

/** Gives everything below `folder` the time of the release, and modes that no umask has changed. */
export async function settle(
  folder: string,
  { epoch }: Release,
  programs: ReadonlySet<string>,
): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const isProgram = programs.has(path.slice(folder.length + 1));
    if (!entry.isSymbolicLink()) await chmod(path, entry.isDirectory() || isProgram ? 0o755 : 0o644);
    await lutimes(path, epoch, epoch);
  }
  await chmod(folder, 0o755);
  await lutimes(folder, epoch, epoch);
}

/** The version as dpkg and rpm order it: `1.0.0~rc.1` comes before `1.0.0`. */
export const packageVersion = ({ version }: Pick<Release, "version">): string => version.replaceAll("-", "~");
