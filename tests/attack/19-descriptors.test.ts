/** Attack: hold more connections than svc may have file descriptors. It then tried to accept the next one, over and over. */
import { expect } from "bun:test";
import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { BINARY, serveBinary, temporaryFolder, testWith, until } from "../support";

const SOFT = 128;
const HARD = 512;

testWith("prlimit")("connections leave half of the file descriptors free", async () => {
  using folder = temporaryFolder();
  const binary = join(folder.path, "svc");
  writeFileSync(binary, `#!/bin/sh\nexec prlimit --nofile=${SOFT}:${HARD} ${BINARY} "$@"\n`);
  chmodSync(binary, 0o755);
  await using server = await serveBinary(["--rate-limit", "0", "--max-client-connections", "1000"], {
    binary,
  });
  const scrape = await (await server.call("/metrics")).text();
  expect(scrape).toContain(`process_max_fds ${HARD}`);

  const { hostname, port } = new URL(server.url);
  const sockets = Array.from(
    { length: 1_000 },
    (): Socket => connect(Number(port), hostname).on("error", () => {}),
  );
  using _held = { [Symbol.dispose]: () => sockets.forEach((socket) => void socket.destroy()) };
  await until(
    "the end of those that are too many",
    () => readdirSync(`/proc/${server.pid}/fd`).length < HARD / 2,
  );
  expect((await server.call("/overview")).status).toBe(200);
});
