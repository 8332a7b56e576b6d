/** The .deb in a clean Debian with its own systemd: installed, upgraded, removed, purged; and what lintian says. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { makeDeb } from "../../build/package/deb";
import { type Release, release } from "../../build/package/release";
import { bootMachine, testWithSystemd } from "../e2e/systemd";
import { BINARY, temporaryFolder, testWith, until } from "../support";

const built = { binary: BINARY, bom: `${BINARY}.cdx.json` };

let folder: ReturnType<typeof temporaryFolder>;
let own: Release;
beforeAll(async () => {
  folder = temporaryFolder();
  mkdirSync(join(folder.path, "debs"));
  own = await release();
});
afterAll(() => folder[Symbol.dispose]());

const packages = new Map<string, ReturnType<typeof makeDeb>>();

/** A package of this tree, made once; one of another version has the same program. */
function packed(version: string): ReturnType<typeof makeDeb> {
  const out = join(folder.path, "debs");
  const made =
    packages.get(version) ?? makeDeb({ ...own, version }, "linux-x64", built, { out, effort: "fast" });
  packages.set(version, made);
  return made;
}

let unpacked: Promise<string> | undefined;

/** The files of a minimal Debian with systemd; svc's dependencies are in every Debian. No machine changes them. */
const debian = (): Promise<string> => (unpacked ??= unpackDebian());

async function unpackDebian(): Promise<string> {
  const root = join(folder.path, "debian");
  const archive = join(folder.path, "debian.tar");
  const setup = [
    "--mode=root",
    "--variant=essential",
    "--include=systemd",
    "--skip=output/dev,check/signed-by",
  ];
  await $`mmdebstrap --quiet ${setup} bookworm ${archive}`.quiet();
  mkdirSync(root);
  await $`tar --extract --file ${archive} --directory ${root}`;
  return root;
}

/** Boots such a Debian, with the packages in its `/mnt`. */
async function bootDebian() {
  const root = await debian();
  await using stack = new AsyncDisposableStack();
  const machine = stack.use(
    await bootMachine(undefined, "system", { root, mounted: join(folder.path, "debs") }),
  );
  const shell = async (line: string) => {
    const { stdout, stderr, exitCode } = await machine.run("sh", "-c", line);
    return { output: stdout + stderr, exitCode };
  };
  const done = async (line: string) => {
    const { output, exitCode } = await shell(line);
    expect([line, exitCode, exitCode === 0 ? "" : output]).toEqual([line, 0, ""]);
    return output;
  };
  const state = async () => (await machine.systemctl("is-active", "svc")).stdout.trim();
  const own = stack.move();
  return { shell, done, state, [Symbol.asyncDispose]: () => own.disposeAsync() };
}

const testPackage = testWith("dpkg-deb", "mmdebstrap") === test ? testWithSystemd : test.skip;

testPackage(
  "the package is started when it is installed, keeps its data when upgraded and removed, and leaves nothing when purged",
  async () => {
    await Promise.all([packed("0.0.9"), packed("0.1.0-rc.1"), packed("0.1.0")]);
    await using machine = await bootDebian();
    const { shell, done, state } = machine;
    const ask = async () => {
      const { url } = JSON.parse(await done("cat /var/lib/svc/run/rest.json"));
      const token = (await done("cat /var/lib/svc/rest_token")).trim();
      const headers = { authorization: `Bearer ${token}` };
      const answer = async (path: string) => Object(await (await fetch(url + path, { headers })).json());
      return {
        token,
        ok: (await answer("/audit/verify")).ok as unknown,
        rows: Number((await answer("/audit/status")).rows),
      };
    };
    // The network is that of this machine, where the default port may be taken.
    await done(`mkdir -p /etc/systemd/system/svc.service.d
      printf '[Service]\\nExecStart=\\nExecStart=/usr/bin/svc serve --port 0\\n' > /etc/systemd/system/svc.service.d/port.conf`);

    await done("dpkg --force-unsafe-io --install /mnt/svc_0.0.9_amd64.deb");
    expect(await state()).toBe("active");
    expect(await done("systemctl is-enabled svc")).toContain("enabled");
    const user = await done("stat --format=%U:%a /var/lib/private/svc");
    expect(user).toMatch(/^(?!root).*:700\n$/);
    const first = await ask();
    expect(first.ok).toBe(true);
    // dpkg does not unpack papers where mmdebstrap's settings say so.
    expect((await shell("dpkg --verify svc | grep -v /usr/share/")).output).toBe("");
    expect(await done("test -x /usr/bin/svc && svc version --json || svc --version")).toContain("0.1.0");

    // A user who has nothing of svc hears where the service is, and how to reach it; root reaches it.
    await done("mkdir /home/ann && chown 12345 /home/ann");
    const asAnn = (line: string) => shell(`setpriv --reuid=12345 --clear-groups env HOME=/home/ann ${line}`);
    expect((await asAnn("svc token show")).output).toContain(
      "in /var/lib/svc: `sudo svc --system …` uses it",
    );
    expect((await asAnn("svc --system token show")).output).toContain(
      "svc: only root may use /var/lib/svc, where the service of this machine keeps its state: sudo svc --system …",
    );
    expect(await done("svc --system token show")).toContain(first.token);
    expect(await done("svc --system audit verify")).toContain("Chain OK");
    for (const what of ["install", "uninstall"]) {
      const refused = await shell(`svc service ${what} --system`);
      expect(refused).toMatchObject({
        exitCode: 1,
        output: expect.stringContaining("a package has installed the service of this machine"),
      });
      expect(await state()).toBe("active");
    }

    await done("dpkg --force-unsafe-io --install /mnt/svc_0.1.0-rc.1_amd64.deb");
    await done("dpkg --force-unsafe-io --install /mnt/svc_0.1.0_amd64.deb");
    await until("the upgraded server", async () => (await state()) === "active", { seconds: 60 });
    const second = await ask();
    expect(second.token).toBe(first.token);
    expect(second.ok).toBe(true);
    expect(second.rows).toBeGreaterThan(first.rows);

    await done("systemctl disable --now svc");
    await done("dpkg --force-unsafe-io --install /mnt/svc_0.1.0_amd64.deb");
    expect(await state()).toBe("inactive");
    await done("systemctl enable --now svc");

    await done("dpkg --remove svc");
    expect(await state()).not.toBe("active");
    expect((await done("cat /var/lib/private/svc/rest_token")).trim()).toBe(first.token);

    await done("dpkg --install /mnt/svc_0.1.0_amd64.deb");
    expect((await ask()).token).toBe(first.token);

    await done("rm -r /etc/systemd/system/svc.service.d && dpkg --purge svc");
    const left = await done(
      "find /etc /usr/bin /usr/lib/systemd /usr/share /var/lib -name '*svc*' -not -path '/var/lib/dpkg/*'; grep svc /etc/passwd || true",
    );
    expect(left).toBe("");
  },
  900_000,
);

testPackage(
  "a service that svc itself has installed runs on, and keeps its data, when the package is removed and purged",
  async () => {
    await packed("0.1.0");
    await using machine = await bootDebian();
    const { shell, done, state } = machine;
    await done(
      `dpkg-deb --fsys-tarfile /mnt/svc_0.1.0_amd64.deb | tar -xO ./usr/bin/svc > /usr/local/bin/svc
      chmod 755 /usr/local/bin/svc && svc service install --system -- --port 0`,
    );
    expect(await state()).toBe("active");
    const token = await done("cat /var/lib/svc/rest_token");
    // One that is switched off stays so, also when the package is upgraded.
    const install = "dpkg --force-unsafe-io --install /mnt/svc_0.1.0_amd64.deb";
    await done("systemctl disable --now svc");
    for (const _ of ["first", "second"]) {
      expect(await done(install)).toContain("/etc/systemd/system/svc.service starts another svc");
      expect(await state()).toBe("inactive");
      expect((await shell("systemctl is-enabled svc")).output).toBe("disabled\n");
    }
    await done("systemctl enable --now svc");
    const pid = await done("systemctl show --property MainPID svc");
    await done(install);
    expect(await done("systemctl show --property MainPID svc")).toBe(pid);

    await done("dpkg --remove svc");
    expect(await state()).toBe("active");
    expect(await done("dpkg --purge svc")).toContain(
      "/etc/systemd/system/svc.service uses /var/lib/svc, which stays",
    );
    expect(await state()).toBe("active");
    expect(await done("cat /var/lib/svc/rest_token")).toBe(token);
    expect(await done("systemctl is-enabled svc")).toBe("enabled\n");
  },
  900_000,
);

testPackage(
  "purging ends where the data is a mount, which it empties",
  async () => {
    await packed("0.1.0");
    await using machine = await bootDebian();
    const { shell, done } = machine;
    await done(`mkdir -p /var/lib/private/svc && mount -t tmpfs tmpfs /var/lib/private/svc
      dpkg --force-unsafe-io --unpack /mnt/svc_0.1.0_amd64.deb
      touch /var/lib/private/svc/rest_token`);
    await done("dpkg --purge svc");
    expect(await done("ls -A /var/lib/private/svc")).toBe("");
    expect((await shell("dpkg --status svc")).exitCode).not.toBe(0);
  },
  900_000,
);

testWith("lintian", "dpkg-deb")(
  "lintian finds nothing that is not overridden with a reason",
  async () => {
    const path = await packed("0.1.0");
    const found = await $`lintian --allow-root --display-info --fail-on none ${path}`.quiet().nothrow();
    expect(found.stdout.toString()).toBe("");
  },
  900_000,
);

testWith("dpkg-deb")("the package has the texts of the licences of all that is in the program", async () => {
  const path = await packed("0.1.0");
  const papers = "./usr/share/doc/svc/svc.cdx.json.gz";
  const bom = await $`dpkg-deb --fsys-tarfile ${path} | tar --extract --to-stdout ${papers} | gunzip`.text();
  expect(bom).toBe(await Bun.file(built.bom).text());
  expect(bom).toContain("Copyright (c) 1998-2019 The OpenSSL Project.  All rights reserved.");
});

testWith("dpkg-deb")("the package names what the addons in the program need", async () => {
  const path = await packed("0.1.0");
  expect((await $`dpkg-deb --field ${path} Depends`.text()).trim()).toBe("libc6 (>= 2.30), libgcc-s1");
});
