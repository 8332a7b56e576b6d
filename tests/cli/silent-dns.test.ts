/** A command is over when it says so: what it has given up, and hangs in the system, does not keep its process. */
import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatJoinString } from "../../src/wire/join/join-string";
import { SVC, temporaryFolder, testWith } from "../support";

/** A network of which the only DNS server takes every question and answers none. */
const SILENT = `ip link set lo up
ip link add wire up type bridge
ip address add 10.9.9.1/24 dev wire
ip neighbour add 10.9.9.2 lladdr 02:00:00:00:00:01 dev wire
mount --bind "$FOLDER/resolv.conf" /etc/resolv.conf
exec "$@"`;

/** A join string of a desk that has a name. */
const STRING = formatJoinString({
  ...{ address: "lab.example:9939", pin: `spki:${"A".repeat(43)}` },
  ...{ id: "a".repeat(8), secret: "A".repeat(43) },
});

testWith("ip", "unshare").each([
  ["admin poll --timeout 1s", 1],
  ["diagnose --on all --on-timeout 1s", 1],
  // Its limit is its own.
  ["join --file join-string", 15],
] as const)(
  "svc %s ends after its time limit of %d s where the DNS server is silent",
  async (line, seconds) => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "resolv.conf"), "nameserver 10.9.9.2\n");
    writeFileSync(join(folder.path, "join-string"), STRING, { mode: 0o600 });
    const hosts = [{ label: "a", base_url: "https://lab.example:9939", token: "t", tags: [] }];
    writeFileSync(join(folder.path, "admin_hosts.json"), JSON.stringify({ hosts }), { mode: 0o600 });
    const apart = ["unshare", "--map-root-user", "--mount", "--net", "sh", "-euc", SILENT, "sh"];
    const started = performance.now();
    const child = Bun.spawn([...apart, ...SVC, ...line.split(" ")], {
      cwd: folder.path,
      env: { ...process.env, FOLDER: folder.path, SVC_CONFIG_DIR: folder.path },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const printed = `${await child.stdout.text()}${await child.stderr.text()}`;
    expect(await child.exited, printed).toBe(1);
    expect(printed).toContain(`timeout after ${seconds} s`);
    expect(performance.now() - started).toBeLessThan(seconds * 1_000 + 7_000);
  },
  60_000,
);
