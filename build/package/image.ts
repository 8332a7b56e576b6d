/**
 * A container image (https://github.com/opencontainers/image-spec) as an archive, for `docker load`, `podman load` and
 * `skopeo copy oci-archive:…`: two layers, one of Debian's packages, one of svc. No daemon is needed to make it.
 */
import { chmod, copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { fill } from "../../src/lib/fill";
import { TAR } from "./archive";
import type { DebTarget, Effort } from "./deb";
import type { Release } from "./release";
import { sha256Of } from "./sums";
import dockerfile from "./templates/Dockerfile" with { type: "text" };
import { type BuiltBinary, settle } from "./tree";

/** What OCI, and Debian, call the processors. */
const ARCHITECTURES = { "linux-x64": "amd64", "linux-arm64": "arm64" } as const;

/** What svc needs, and a shell for the scripts that it runs. They are unpacked, not configured: that needs no program of theirs. */
const PACKAGES = ["base-files", "coreutils", "dash", "libc6", "libgcc-s1", "tzdata"];

/** The release of Debian that they are of. */
const DEBIAN = "bookworm";

/** Of the user that svc runs as, who is nobody on the host. */
const USER = 10_001;

/** How a container of it runs: config.json (image-spec, config.md), and the health check as Docker and BuildKit have it there. */
export const RUNS = {
  User: `${USER}:${USER}`,
  ExposedPorts: { "9939/tcp": {} },
  Env: ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/data", "SVC_CONFIG_DIR=/data"],
  Entrypoint: ["/usr/local/bin/svc"],
  Cmd: ["serve", "--host", "0.0.0.0"],
  Volumes: { "/data": {} },
  WorkingDir: "/data",
  StopSignal: "SIGTERM",
  /** Nanoseconds. */
  Healthcheck: {
    Test: ["CMD", "/usr/local/bin/svc", "health"],
    Interval: 30_000_000_000,
    Timeout: 10_000_000_000,
    StartPeriod: 10_000_000_000,
    Retries: 3,
  },
};

/** The Dockerfile that makes the same of a binary, from an image of Debian. */
export function dockerfileOf(): string {
  return fill(dockerfile, {
    debian: DEBIAN,
    user: USER,
    env: RUNS.Env.slice(1).join(" "),
    entrypoint: JSON.stringify(RUNS.Entrypoint),
    cmd: JSON.stringify(RUNS.Cmd),
    check: JSON.stringify(RUNS.Healthcheck.Test.slice(1)),
  });
}

/**
 * Makes the image in `out`, as an archive in the OCI layout.
 *
 * @returns its path.
 * @throws what mmdebstrap or tar says.
 */
export async function makeImage(
  release: Release,
  target: DebTarget,
  built: BuiltBinary,
  { out, effort }: { out: string; effort: Effort },
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "svc-image-"));
  try {
    const architecture = ARCHITECTURES[target];
    const layout = join(folder, "layout");
    await mkdir(join(layout, "blobs", "sha256"), { recursive: true });
    const layers = [
      await addLayer(layout, await baseLayer(release, architecture, folder), effort),
      await addLayer(layout, await svcLayer(release, built, folder), effort),
    ];
    const created = new Date(release.epoch * 1_000).toISOString();
    const config = await addBlob(layout, "application/vnd.oci.image.config.v1+json", {
      created,
      architecture,
      os: "linux",
      config: RUNS,
      rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
      history: [
        { created, created_by: `mmdebstrap --variant=extract ${DEBIAN}` },
        { created, created_by: `svc ${release.version} (${release.commit})` },
      ],
    });
    const manifest = await addBlob(layout, "application/vnd.oci.image.manifest.v1+json", {
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config,
      layers: layers.map(({ descriptor }) => descriptor),
    });
    const platform = { architecture, os: "linux" };
    const annotations = { "org.opencontainers.image.ref.name": release.version };
    const index = {
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.index.v1+json",
      manifests: [{ ...manifest, platform, annotations }],
    };
    await Bun.write(join(layout, "index.json"), JSON.stringify(index));
    await Bun.write(join(layout, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
    await settle(layout, release, new Set());
    const path = join(out, `svc-${release.version}-${target}-image.tar`);
    await $`tar --create --directory ${layout} ${TAR} --file ${path} .`.quiet();
    return path;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Debian's files, as their packages have them, and the user of svc. */
async function baseLayer({ epoch }: Release, architecture: string, folder: string): Promise<string> {
  const path = join(folder, "base.tar");
  const extras = join(folder, "extras");
  await mkdir(extras);
  await Bun.write(join(extras, "passwd"), `root:x:0:0::/:/bin/sh\nsvc:x:${USER}:${USER}::/data:/bin/sh\n`);
  await Bun.write(join(extras, "group"), `root:x:0:\nsvc:x:${USER}:\n`);
  await Bun.write(join(extras, "nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files dns\n");
  const hook = `mkdir -p "$1/etc" && cp ${extras}/passwd ${extras}/group ${extras}/nsswitch.conf "$1/etc/"
    rm -rf "$1/usr/share/doc" "$1/usr/share/man" "$1/usr/share/locale" "$1/usr/share/info" "$1/usr/share/lintian"
    chmod 644 "$1/etc/passwd" "$1/etc/group" "$1/etc/nsswitch.conf"`;
  const what = [
    `--architectures=${architecture}`,
    "--variant=extract",
    `--include=${PACKAGES.join(",")}`,
    `--customize-hook=${hook}`,
    "--skip=output/dev,check/qemu,check/signed-by",
  ];
  await $`mmdebstrap --quiet --mode=root ${what} ${DEBIAN} ${path}`
    .env({ ...process.env, SOURCE_DATE_EPOCH: `${epoch}` })
    .quiet();
  return path;
}

/** The program, and an empty `/data` of its user. */
async function svcLayer(release: Release, built: BuiltBinary, folder: string): Promise<string> {
  const tree = join(folder, "svc");
  const program = "usr/local/bin/svc";
  await mkdir(join(tree, "usr/local/bin"), { recursive: true });
  await copyFile(built.binary, join(tree, program));
  await Bun.write(join(tree, "usr/local/share/svc.cdx.json"), Bun.file(built.bom));
  await settle(tree, release, new Set([program]));
  const data = join(folder, "data", "data");
  await mkdir(data, { recursive: true });
  await settle(join(folder, "data"), release, new Set());
  await chmod(data, 0o700);
  const path = join(folder, "svc.tar");
  const time = `--mtime=@${release.epoch}`;
  await $`tar --create --directory ${tree} ${TAR} --file ${path} usr`.quiet();
  const owner = [`--owner=${USER}`, `--group=${USER}`, "--numeric-owner"];
  await $`tar --append --directory ${join(folder, "data")} --format=gnu ${owner} ${time} --file ${path} data`.quiet();
  return path;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

async function addLayer(layout: string, tar: string, effort: Effort) {
  const file = `${tar}.gz`;
  await $`gzip -n ${effort === "release" ? "-9" : "-1"} --stdout ${tar} > ${file}`.quiet();
  const [diffId, digest] = [`sha256:${await sha256Of(tar)}`, `sha256:${await sha256Of(file)}`];
  await copyFile(file, blobPath(layout, digest));
  const mediaType = "application/vnd.oci.image.layer.v1.tar+gzip";
  return { diffId, descriptor: { mediaType, digest, size: Bun.file(file).size } };
}

async function addBlob(layout: string, mediaType: string, content: object): Promise<Descriptor> {
  const text = JSON.stringify(content);
  const digest = `sha256:${Bun.SHA256.hash(text, "hex")}`;
  await Bun.write(blobPath(layout, digest), text);
  return { mediaType, digest, size: Buffer.byteLength(text) };
}

const blobPath = (layout: string, digest: string) => join(layout, "blobs", ...digest.split(":"));
