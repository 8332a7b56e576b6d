/**
 * docs/first-fleet.md, walked: its code blocks run as they stand, one after the other in one shell, and print what the page
 * says they print.
 *
 * The desk and the hosts are folders and network namespaces. `ssh`, `scp` and `systemctl` are short scripts that go there;
 * what else differs from the page is in `SUBSTITUTIONS`.
 */
import { expect } from "bun:test";
import { chmodSync, constants, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { blocksOf, readPage } from "../docs/pages";
import { BINARY, temporaryFolder, testWith } from "../support";

const HOSTS = ["lab-1", "lab-2", "lab-3", "lab-4"];

const SUBSTITUTIONS: ReadonlyArray<readonly [onThePage: string, here: string]> = [
  ["_interval: 15s", "_interval: 1s"],
  [
    "sleep 30",
    // Of the hosts of the page: the desk is a target too, and may answer before them.
    `until promtool query instant http://127.0.0.1:9090 'up{svc_tag_lab="true"}' 2>&1 | grep -c '=> 1' | grep -qx 3; do sleep 0.2; done`,
  ],
];

/** The programs of the page that lead elsewhere. */
const PROGRAMS = {
  ssh: `[ "$1" != -t ] || shift
host=$1; shift
exec nsenter --net="/run/netns/$host" env HOME="$FLEET/$host" sh -c "cd && $*"`,
  scp: `for to; do :; done
while [ $# -gt 1 ]; do cp --reflink=auto "$1" "$FLEET/\${to%:}/"; shift; done`,
  systemctl: `[ "$*" = "--user enable --now svc.service" ] || exit 0
program=$(sed -n 's/^ExecStart=//p' ~/.config/systemd/user/svc.service)
setsid sh -c "exec $program" >~/svc.log 2>&1 </dev/null &
until [ -e ~/.svc/run/rest.json ]; do sleep 0.05; done`,
};

/** Marks the beginning of a block in what the shell prints. */
const MARK = "\u001e";

testWith(
  "curl",
  "ip",
  "nsenter",
  "prometheus",
  "promtool",
  "unshare",
)(
  "the blocks of docs/first-fleet.md do what the page says",
  async () => {
    using folder = temporaryFolder();
    const at = (...names: string[]) => join(folder.path, ...names);
    for (const name of ["bin", "desk", ...HOSTS]) mkdirSync(at(name));
    copyFileSync(BINARY, at("desk", "svc"), constants.COPYFILE_FICLONE);
    for (const [name, lines] of Object.entries(PROGRAMS)) {
      writeFileSync(at("bin", name), `#!/bin/sh\nset -eu\n${lines}\n`);
      chmodSync(at("bin", name), 0o700);
    }
    writeFileSync(at("hosts"), HOSTS.map((name, nth) => `10.77.0.${nth + 1} ${name}\n`).join(""));

    const blocks = blocksOf(substituted(readPage("docs/first-fleet.md")));
    const scripts = blocks.filter(({ language }) => language === "sh").map(({ code }) => code);
    expect(scripts.length).toBeGreaterThan(5);
    const script = [networks(), ...scripts].join(`\nprintf '\\n${MARK}\\n'\n`);
    const apart = ["unshare", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child"];
    const child = Bun.spawn([...apart, "bash", "-eu", "-o", "pipefail", "-c", `exec 2>&1\n${script}`], {
      cwd: at("desk"),
      env: {
        FLEET: folder.path,
        HOME: at("desk"),
        PATH: `${at("bin")}:${process.env.PATH}`,
        // Instead of the answers to its prompts.
        SVC_PASSPHRASE: "correct horse battery staple",
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const printed = (await child.stdout.text()).split(MARK);
    expect([await child.exited, printed.length], printed.at(-1)).toEqual([0, scripts.length + 1]);

    let nth = 0;
    for (const { language, code } of blocks) {
      if (language === "sh") nth += 1;
      else expect(missingFrom(printed[nth] ?? "", code), printed[nth]).toEqual([]);
    }
  },
  180_000,
);

function substituted(page: string): string {
  for (const [onThePage] of SUBSTITUTIONS) expect(page).toContain(onThePage);
  return SUBSTITUTIONS.reduce((text, [onThePage, here]) => text.replaceAll(onThePage, here), page);
}

/** A network for each host, and a bridge between them that is the desk's. */
function networks(): string {
  const host = (name: string, nth: number) => `ip netns add ${name}
ip link add port-${nth} master fleet up type veth peer name out netns ${name}
ip -n ${name} address add 10.77.0.${nth + 1}/24 dev out
ip -n ${name} link set out up
ip -n ${name} link set lo up`;
  return `mount -t tmpfs tmpfs /run
mount --bind "$FLEET/hosts" /etc/hosts
ip link set lo up
ip link add fleet up type bridge
ip address add 10.77.0.9/24 dev fleet
${HOSTS.map(host).join("\n")}`;
}

/** The lines of `page` that are not in `printed` in this order; `…` and times stand for any others. */
function missingFrom(printed: string, page: string): string[] {
  const lines = printed.split("\n");
  let from = 0;
  return page.split("\n").filter((line) => {
    const found = lines.findIndex((one, at) => at >= from && patternOf(line).test(one));
    if (found >= 0) from = found + 1;
    return found < 0 && line !== "";
  });
}

function patternOf(line: string): RegExp {
  const literal = line.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = literal
    .replaceAll(/[\d.\\]+(?= ms)/g, "[\\d.]+")
    .replaceAll(/\s+/g, "\\s+")
    .replaceAll("…", ".*");
  return new RegExp(`^\\s*${pattern}\\s*$`);
}
