/**
 * `npm run package [-- --target <name,…>|all] [--only <part,…>] [--url <address>] [--fast]`: writes a release to
 * `dist/release`, and builds the targets that are missing in `dist` or are of other sources.
 *
 * A part whose programs are missing, or that only root can make, is named and left out; the exit code is then 1.
 * Signatures are made where `SVC_RELEASE_SECRET_KEY` names a key of minisign.
 */
import { copyFile, utimes } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildTarget, builtFrom } from "./build-target";
import { isExact } from "./compile";
import { makeArchive } from "./package/archive";
import { type Effort, makeDeb } from "./package/deb";
import { dockerfileOf, makeImage } from "./package/image";
import { makeManifests } from "./package/manifests";
import { type Release, release } from "./package/release";
import { makeRpm } from "./package/rpm";
import { publicKeyOfBuild, secretKeyOfBuild } from "./package/sign";
import { binaryName, clearRelease, describeRelease } from "./package/sums";
import type { BuiltBinary } from "./package/tree";
import { hostTarget, packagesFor, ROOT, type Target, targetsIn } from "./targets";

const DIST = join(ROOT, "dist");
const OUT = join(DIST, "release");
/** What the parts in it were made from. */
const NOTE = join(DIST, "builds", "release.json");

/** Where the archives will be; manifests name it. */
const DEFAULT_URL = "https://example.org/svc/v{version}";

/** Something that is made for a target. */
interface Part {
  /** The programs that it needs, each with its package of Debian. */
  readonly programs: Readonly<Record<string, string>>;
  /** Only root can make it. */
  readonly byRoot?: boolean;
  readonly isFor: (target: Target) => boolean;
  make(
    release: Release,
    target: Target,
    built: BuiltBinary,
    how: { out: string; effort: Effort },
  ): Promise<string>;
}

const isPackaged = (target: Target) => target === "linux-x64" || target === "linux-arm64";
const onlyPackaged = (target: Target) => {
  if (target === "linux-x64" || target === "linux-arm64") return target;
  throw new Error(`there is no package for ${target}`);
};

const PARTS: Readonly<Record<string, Part>> = {
  archive: {
    programs: { tar: "tar", gzip: "gzip" },
    isFor: (target) => !target.startsWith("windows"),
    make: makeArchive,
  },
  zip: {
    programs: { zip: "zip" },
    isFor: (target) => target.startsWith("windows"),
    make: makeArchive,
  },
  deb: {
    programs: { "dpkg-deb": "dpkg" },
    isFor: isPackaged,
    make: (own, target, ...rest) => makeDeb(own, onlyPackaged(target), ...rest),
  },
  rpm: {
    programs: { rpmbuild: "rpm" },
    isFor: isPackaged,
    make: (own, target, ...rest) => makeRpm(own, onlyPackaged(target), ...rest),
  },
  image: {
    programs: { mmdebstrap: "mmdebstrap", tar: "tar" },
    byRoot: true,
    isFor: isPackaged,
    make: (own, target, ...rest) => makeImage(own, onlyPackaged(target), ...rest),
  },
};

const { values } = parseArgs({
  options: {
    target: { type: "string", multiple: true, default: ["all"] },
    only: { type: "string", multiple: true },
    url: { type: "string", default: DEFAULT_URL },
    fast: { type: "boolean", default: false },
  },
});
process.exitCode = await makeRelease();

/** @returns the exit code: 1 where something was left out. */
async function makeRelease(): Promise<number> {
  const targets = targetsIn(values.target);
  const parts = partsIn(values.only);
  const key = secretKeyOfBuild();
  const own = await release();
  const how = { out: OUT, effort: values.fast ? ("fast" as const) : ("release" as const) };
  const wanted = Object.entries(parts).filter(([, part]) => targets.some(part.isFor));
  const lacking = wanted.filter(([name, part]) => isLacking(name, part)).map(([name]) => name);
  await clearRelease({ ...own, key: publicKeyOfBuild(), effort: how.effort }, OUT, NOTE);
  for (const target of targets) {
    const built = await builtOf(target, own);
    await keep(own, built.binary, binaryName(target));
    await keep(own, built.bom, `svc-${target}.cdx.json`);
    for (const [name, part] of wanted) {
      if (!part.isFor(target) || lacking.includes(name)) continue;
      console.log(await part.make(own, target, built, how));
    }
  }
  if (parts.image) await keepText(own, "Dockerfile", dockerfileOf());
  const { made, skipped } = await makeManifests(own, values.url, OUT);
  for (const path of [...made, ...(await describeRelease(own, OUT, key))]) console.log(path);
  if (values.only === undefined) for (const line of skipped) console.warn(line);
  if (!key) console.warn("nothing is signed: SVC_RELEASE_SECRET_KEY is not set (docs/install.md)");
  if (!isExact(own.commit)) console.warn(`this is no release of a commit: the sources are ${own.commit}`);
  if (made.length > 0 && values.url === DEFAULT_URL)
    console.warn("the manifests name addresses of example.org: --url is not given (docs/install.md)");
  return lacking.length > 0 || (values.only === undefined && skipped.length > 0) ? 1 : 0;
}

/** @throws for a name that is none. */
function partsIn(lists: readonly string[] | undefined): typeof PARTS {
  if (lists === undefined) return PARTS;
  const names = lists.flatMap((list) => list.split(","));
  const stray = names.find((name) => !Object.hasOwn(PARTS, name));
  if (stray !== undefined) {
    throw new Error(`--only: expected some of ${Object.keys(PARTS).join(", ")} but found "${stray}"`);
  }
  return Object.fromEntries(Object.entries(PARTS).filter(([name]) => names.includes(name)));
}

/** Says which programs are missing, or that root is. */
function isLacking(name: string, { programs, byRoot }: Part): boolean {
  if (byRoot && process.getuid?.() !== 0) {
    console.warn(`${name}: only root can make one, so none is made`);
    return true;
  }
  const missing = Object.entries(programs).filter(([program]) => Bun.which(program) === null);
  for (const [program, from] of missing) {
    console.warn(`${name}: ${program} is missing (apt-get install ${from}), so none is made`);
  }
  return missing.length > 0;
}

/** The binary of `target` in `dist`, built anew where it is of other sources. @throws where the sources have changed since the start. */
async function builtOf(target: Target, { commit }: Release): Promise<BuiltBinary> {
  const key = publicKeyOfBuild();
  const name = `svc-${target}`;
  const isOwn = async (of: string) => {
    const from = await builtFrom(DIST, of);
    return from?.commit === commit && from.key === key;
  };
  for (const known of [name, ...(target === hostTarget() ? ["svc"] : [])])
    if (isExact(commit) && (await isOwn(known))) return builtAs(known, target);
  await using packages = await packagesFor(target);
  await buildTarget(packages, DIST, name);
  if (!(await isOwn(name))) throw new Error(`the sources are no longer ${commit}: begin again`);
  return builtAs(name, target);
}

function builtAs(name: string, target: Target): BuiltBinary {
  const program = target.startsWith("windows") ? `${name}.exe` : name;
  return { binary: join(DIST, program), bom: join(DIST, `${name}.cdx.json`) };
}

async function keep({ epoch }: Release, path: string, name: string): Promise<void> {
  await copyFile(path, join(OUT, name));
  await utimes(join(OUT, name), epoch, epoch);
}

async function keepText({ epoch }: Release, name: string, text: string): Promise<void> {
  await Bun.write(join(OUT, name), text);
  await utimes(join(OUT, name), epoch, epoch);
}
