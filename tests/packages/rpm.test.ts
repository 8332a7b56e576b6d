/** The .rpm, read and unpacked by rpm itself. */
import { afterAll, beforeAll, expect } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { release } from "../../build/package/release";
import { makeRpm } from "../../build/package/rpm";
import { BINARY, temporaryFolder, testWith } from "../support";

let folder: ReturnType<typeof temporaryFolder>;
beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(() => folder[Symbol.dispose]());

testWith("rpmbuild", "rpm", "rpm2archive")(
  "the package requires what the program and its addons need, and unpacks to the program as it was built",
  async () => {
    const built = { binary: BINARY, bom: `${BINARY}.cdx.json` };
    const own = { ...(await release()), version: "1.2.3-rc-a.1" };
    const path = await makeRpm(own, "linux-x64", built, { out: folder.path, effort: "fast" });
    expect(path).toEndWith("/svc-1.2.3-rc-a.1-1.x86_64.rpm");
    expect(await $`rpm -qp --queryformat ${"%{VERSION}"} ${path}`.text()).toBe("1.2.3~rc~a.1");
    const required = (await $`rpm -qpR ${path}`.text()).split("\n");
    for (const each of ["glibc >= 2.30", "libgcc", "libc.so.6(GLIBC_2.17)(64bit)"]) {
      expect(required).toContain(each);
    }
    expect(required.filter((each) => /GLIBC_2\.(1[89]|[2-9]\d)/.test(each))).toEqual([]);
    expect(await $`rpm -qp --queryformat ${"%{BUILDTIME} %{BUILDHOST}"} ${path}`.text()).toBe(
      `${own.epoch} localhost`,
    );

    const root = join(folder.path, "root");
    mkdirSync(root);
    await $`rpm2archive ${path} && tar --extract --file ${path}.tgz --directory ${root}`.quiet();
    await $`cmp ${BINARY} ${join(root, "usr/bin/svc")}`;
    expect(await Bun.file(join(root, "usr/lib/systemd/system/svc.service")).text()).toContain(
      "\nExecStart=/usr/bin/svc serve\n",
    );
    expect(await Bun.file(join(root, "usr/share/man/man1/svc-audit-verify.1.gz")).exists()).toBe(true);
  },
  900_000,
);
