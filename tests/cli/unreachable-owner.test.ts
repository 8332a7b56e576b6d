/** A command beside a server whose socket is not there. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { tryLock } from "../../src/lib/lock";
import { configFiles } from "../../src/lib/paths";
import { SVC, temporaryFolder } from "../support";

test("a change ends with a sentence where a server owns the folder and cannot be reached", async () => {
  using folder = temporaryFolder();
  const { runFolder, serveLock, ownerLock, ownerFile } = configFiles(folder.path);
  mkdirSync(runFolder, { recursive: true, mode: 0o700 });
  const releases = [tryLock(serveLock), tryLock(ownerLock)];
  writeFileSync(ownerFile, JSON.stringify({ path: "svc.sock", key: "ab".repeat(32), pid: process.pid }));
  const words = ["audit", "log", "test", "--config-dir", folder.path];
  const child = Bun.spawn([...SVC, ...words], { stdio: ["ignore", "pipe", "pipe"] });
  const stderr = await child.stderr.text();
  expect([await child.exited, stderr]).toEqual([1, expect.stringContaining("nothing answers at its socket")]);
  for (const release of releases) release?.();
}, 60_000);
