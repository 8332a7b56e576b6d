/** What a release says of its own files, and the manifests that name them. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { makeArchive } from "../../build/package/archive";
import { makeDeb } from "../../build/package/deb";
import { makeManifests } from "../../build/package/manifests";
import { makeRpm } from "../../build/package/rpm";
import { readSecretKey } from "../../build/package/sign";
import { clearRelease, describeRelease, type Sources, sha256Of } from "../../build/package/sums";
import { packageVersion } from "../../build/package/tree";
import { targetNames } from "../../build/targets";
import { parseIndex } from "../../src/wire/release/index";
import { temporaryFolder, testWith } from "../support";

const own = { version: "1.2.3", commit: "0123456789ab", epoch: 1_790_000_000, date: "2026-09-21" };

/** A program that is quick to pack, and its bill of materials. */
function smallBinary(folder: string) {
  const built = { binary: join(folder, "program"), bom: join(folder, "program.cdx.json") };
  writeFileSync(built.binary, "#!/bin/sh\n");
  writeFileSync(built.bom, "{}\n");
  return built;
}

testWith("minisign", "sha256sum")(
  "the index names each bare binary, and sums and signatures hold for programs that are not svc's",
  async () => {
    using folder = temporaryFolder();
    const out = join(folder.path, "release");
    mkdirSync(out);
    writeFileSync(join(out, "svc-linux-x64"), "one");
    writeFileSync(join(out, "svc-windows-x64.exe"), "two");
    writeFileSync(join(out, "svc_1.2.3_amd64.deb"), "three");
    const [secret, open] = [join(folder.path, "key"), join(folder.path, "key.pub")];
    await $`minisign -G -W -s ${secret} -p ${open}`.quiet();
    await describeRelease(own, out, readSecretKey(secret));
    // A second time, over what the first has written.
    await describeRelease(own, out, readSecretKey(secret));

    const index = parseIndex(await Bun.file(join(out, "release.json")).text());
    expect(index).toMatchObject({ format: 1, version: "1.2.3", commit: own.commit, date: own.date });
    expect(index.files).toEqual({
      "linux-x64": { name: "svc-linux-x64", size: 3, sha256: Bun.SHA256.hash("one", "hex") },
      "windows-x64": { name: "svc-windows-x64.exe", size: 3, sha256: Bun.SHA256.hash("two", "hex") },
    });
    const checked = await $`sha256sum --check SHA256SUMS`.cwd(out).text();
    expect(checked.trim().split("\n").sort()).toEqual([
      "release.json: OK",
      "svc-linux-x64: OK",
      "svc-windows-x64.exe: OK",
      "svc_1.2.3_amd64.deb: OK",
    ]);
    for (const [name, comment] of [
      ["svc-linux-x64", "svc 1.2.3 linux-x64"],
      ["svc-windows-x64.exe", "svc 1.2.3 windows-x64"],
      ["release.json", "svc 1.2.3 release.json"],
      ["SHA256SUMS", "svc 1.2.3 SHA256SUMS"],
    ] as const) {
      const said = await $`minisign -V -H -Q -p ${open} -m ${join(out, name)}`.text();
      expect([name, said.trim()]).toEqual([name, comment]);
    }
  },
);

test("without a key, no signature of before stays", async () => {
  using folder = temporaryFolder();
  for (const name of ["svc-linux-x64", "svc-linux-x64.minisig", "SHA256SUMS.minisig"]) {
    writeFileSync(join(folder.path, name), name);
  }
  await describeRelease(own, folder.path, undefined);
  expect(readdirSync(folder.path).sort()).toEqual(["SHA256SUMS", "release.json", "svc-linux-x64"]);
});

test.each<[string, Partial<Sources>, Partial<Sources>, boolean]>([
  ["the same sources stay", {}, {}, true],
  ["another commit go", {}, { commit: "ba9876543210" }, false],
  ["another version go", {}, { version: "1.2.4" }, false],
  ["another public key go", {}, { key: "RWone" }, false],
  ["another time go", {}, { epoch: own.epoch + 1 }, false],
  ["another compression go", {}, { effort: "fast" }, false],
  ["a changed tree go", { commit: "0123456789ab-dirty" }, { commit: "0123456789ab-dirty" }, false],
  ["no repository go", { commit: "unknown" }, { commit: "unknown" }, false],
])("the parts of %s", async (_, before, now, stays) => {
  using folder = temporaryFolder();
  const [out, note] = [join(folder.path, "release"), join(folder.path, "release.json")];
  const sources: Sources = { ...own, key: "", effort: "release" };
  await clearRelease({ ...sources, ...before }, out, note);
  writeFileSync(join(out, "svc-linux-x64"), "one");
  await clearRelease({ ...sources, ...now }, out, note);
  expect(existsSync(join(out, "svc-linux-x64"))).toBe(stays);
});

test("each hyphen of a version is a tilde for dpkg and rpm, whose versions have none", () => {
  expect(packageVersion({ version: "1.0.0-rc-a.1" })).toBe("1.0.0~rc~a.1");
});

testWith(
  "tar",
  "gzip",
  "zip",
  "unzip",
)(
  "archives of the same files are the same archive, and manifests name them by address and sum",
  async () => {
    using folder = temporaryFolder();
    const outs = ["first", "second"].map((name) => join(folder.path, name));
    const sums: string[][] = [];
    for (const out of outs) {
      mkdirSync(out);
      const built = smallBinary(out);
      const paths: string[] = [];
      for (const target of targetNames) {
        paths.push(await makeArchive(own, target, built, { out, effort: "fast" }));
      }
      sums.push(await Promise.all(paths.map(sha256Of)));
    }
    expect(sums[0]).toEqual(sums[1] ?? []);

    const out = outs[0] ?? "";
    const { made, skipped } = await makeManifests(own, "https://example.com/svc/v{version}/", out);
    expect(skipped).toEqual([]);
    expect(made).toHaveLength(5);
    const scoop = await Bun.file(join(out, "manifests", "svc.json")).json();
    expect(scoop.architecture["64bit"]).toEqual({
      url: "https://example.com/svc/v1.2.3/svc-1.2.3-windows-x64.zip",
      hash: await sha256Of(join(out, "svc-1.2.3-windows-x64.zip")),
      extract_dir: "svc-1.2.3-windows-x64",
    });
    const formula = await Bun.file(join(out, "manifests", "svc.rb")).text();
    expect(formula).toContain(await sha256Of(join(out, "svc-1.2.3-darwin-arm64.tar.gz")));
    const installer = Bun.YAML.parse(
      await Bun.file(join(out, "manifests/winget/svc.svc.installer.yaml")).text(),
    );
    expect(installer).toMatchObject({
      PackageVersion: "1.2.3",
      NestedInstallerFiles: [{ RelativeFilePath: "svc-1.2.3-windows-x64\\svc.exe" }],
      Installers: [{ InstallerSha256: scoop.architecture["64bit"].hash }],
    });

    const listed = await $`unzip -Z1 ${join(out, "svc-1.2.3-windows-x64.zip")}`.text();
    expect(listed).toContain("svc-1.2.3-windows-x64/svc.exe\n");
    const tarball = await $`tar --list --file ${join(out, "svc-1.2.3-linux-x64.tar.gz")}`.text();
    expect(tarball).toContain("svc-1.2.3-linux-x64/man/man1/svc-serve.1\n");
  },
  120_000,
);

testWith("dpkg-deb", "rpmbuild", "rpm")(
  "packages of the same files are the same package, also for the other processor",
  async () => {
    using folder = temporaryFolder();
    for (const [make, end] of [
      [makeDeb, "svc_1.2.3_arm64.deb"],
      [makeRpm, "svc-1.2.3-1.aarch64.rpm"],
    ] as const) {
      const sums: string[] = [];
      for (const name of ["first", "second"]) {
        const out = join(folder.path, end, name);
        mkdirSync(out, { recursive: true });
        const path = await make(own, "linux-arm64", smallBinary(out), { out, effort: "release" });
        expect(path).toEndWith(`/${end}`);
        sums.push(await sha256Of(path));
      }
      expect([end, sums[0]]).toEqual([end, sums[1]]);
    }
  },
  300_000,
);

test("a manifest whose archive is missing is left out, and why is said", async () => {
  using folder = temporaryFolder();
  const { made, skipped } = await makeManifests(own, "https://example.com", folder.path);
  expect(made).toEqual([]);
  expect(skipped).toContain("svc.json: there is no archive for windows-x64");
});
