/** coturn on loopback, as a relay of this machine alone. */
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { follow, temporaryFolder } from "../support";

/** Starts it; it ends with the scope. `ice` is what `ice.json` holds for one who uses nothing else. */
export async function startCoturn() {
  const home = temporaryFolder();
  const port = randomInt(20_000, 30_000);
  const child = Bun.spawn(
    [
      ...["turnserver", "-n", "--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", `--listening-port=${port}`],
      ...[
        "--lt-cred-mech",
        "--user=lab:secret",
        "--realm=lab",
        "--allow-loopback-peers",
        "--no-cli",
        "--verbose",
      ],
      ...[
        "--no-tls",
        "--no-dtls",
        "--log-file=stdout",
        "--simple-log",
        `--pidfile=${join(home.path, "pid")}`,
      ],
      `--userdb=${join(home.path, "db")}`,
    ],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  const log = follow(child.stdout);
  await log.says("IO method (admin thread)");
  return {
    log,
    ice: {
      ice_servers: [{ urls: `turn:127.0.0.1:${port}`, username: "lab", credential: "secret" }],
      transport_policy: "relay",
    },
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      home[Symbol.dispose]();
    },
  };
}
