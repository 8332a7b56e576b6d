/**
 * docs/links.md, walked: its code blocks run as they stand, on a desk and on a host that are two folders with a port each. Then the
 * host is linked and healthy.
 */
import { expect } from "bun:test";
import { chmodSync, constants, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { blocksOf, readPage } from "../docs/pages";
import { BINARY, temporaryFolder, testWith } from "../support";

/** Starts the service in the background, as `systemctl --user enable --now` does. */
const SYSTEMCTL = `#!/bin/sh
set -eu
[ "$*" = "--user enable --now svc.service" ] || exit 0
program=$(sed -n 's/^ExecStart=//p' ~/.config/systemd/user/svc.service)
setsid sh -c "exec $program" >~/svc.log 2>&1 </dev/null &
until [ -e ~/.svc/run/rest.json ]; do sleep 0.05; done
`;

/** One machine has one name, and each port once. */
const SUBSTITUTIONS = [
  ["desk.example", "127.0.0.1"],
  ["svc service install\n", "svc service install -- --port 9940\n"],
] as const;

testWith("ip", "unshare")(
  "the blocks of docs/links.md link a host to its desk",
  async () => {
    using folder = temporaryFolder();
    const at = (...names: string[]) => join(folder.path, ...names);
    for (const name of ["bin", "desk", "host"]) mkdirSync(at(name));
    copyFileSync(BINARY, at("bin", "svc"), constants.COPYFILE_FICLONE);
    writeFileSync(at("bin", "systemctl"), SYSTEMCTL);
    chmodSync(at("bin", "systemctl"), 0o700);
    let page = readPage("docs/links.md");
    for (const [onThePage, here] of SUBSTITUTIONS) {
      expect(page).toContain(onThePage);
      page = page.replaceAll(onThePage, here);
    }
    const blocks = blocksOf(page).flatMap(({ language, code }) => (language === "sh" ? code : []));
    expect(blocks).toHaveLength(3);
    const [desk, host, look] = blocks;
    const script = `exec 2>&1
ip link set lo up
on() { export HOME="$FLEET/$1"; cd "$HOME"; }
on desk
${desk}
mv join-string ../host/
on host
${host}
until svc link --json | grep -q '"linked"'; do sleep 0.1; done
svc link
on desk
${look}`;
    const child = Bun.spawn(
      [
        ...["unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"],
        ...["bash", "-eu", "-o", "pipefail", "-c", script],
      ],
      {
        env: { FLEET: folder.path, HOME: folder.path, PATH: `${at("bin")}:${process.env.PATH}` },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const printed = await child.stdout.text();
    expect(await child.exited, printed).toBe(0);
    expect(printed).toMatch(/^desk 127\.0\.0\.1:9939, as lab-01: linked since /m);
    expect(printed).toMatch(/^lab-01 +linked /m);
    expect(printed).toMatch(/^lab-01 +healthy .* link:/m);
  },
  180_000,
);
