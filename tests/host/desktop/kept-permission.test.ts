/** The token of a person's yes on disk. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKeptPermission } from "../../../src/host/desktop/kept-permission";
import { createWorker } from "../../../src/host/desktop/worker";
import { silentLog } from "../../../src/lib/log";
import { temporaryFolder } from "../../support";

const TOKEN = "5a2c6f1e-7b3d-4c8a-9f00-0123456789ab";

/** A file for it, and what the log says. */
function keptIn(folder: string) {
  const lines: string[] = [];
  const file = join(folder, "config", "portal_token");
  const log = { ...silentLog, warn: (line: string) => void lines.push(line) };
  return { file, lines, ...createKeptPermission(file, log) };
}

test("a token is kept where nobody else reads it, and forgotten when it is none any more", () => {
  using folder = temporaryFolder();
  const { file, read, keep, lines } = keptIn(folder.path);
  expect(read()).toBeNull();
  keep(TOKEN);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, "utf8")).toBe(`${TOKEN}\n`);
  expect(read()).toBe(TOKEN);
  keep(null);
  expect(existsSync(file)).toBe(false);
  expect(lines).toEqual([]);
});

test("a file with anything else is no token: the log says so, and nothing of what is in it", () => {
  using folder = temporaryFolder();
  const { file, read, keep, lines } = keptIn(folder.path);
  keep(TOKEN);
  for (const text of ["", "two words\n", "x".repeat(300)]) {
    writeFileSync(file, text);
    expect(read()).toBeNull();
  }
  expect(lines).toEqual(Array(3).fill("portal_token holds no token: `svc desktop allow` makes it anew"));
});

/** A child that says which token it was given, and reports another one. */
const CHILD = `let known = null;
process.on("message", ({ id, method, args }) => {
  if (method === "permit") known = args[0];
  else process.send({ event: "permission", args: [method === "liftAll" ? null : "new-token", method === "liftAll"] });
  process.send({ id, answer: method === "clipboard" ? String(known) : undefined });
});
process.on("disconnect", () => process.exit());`;

test("the helper is told the token before all else, and what it reports is kept; none other is asked where it alone may", async () => {
  using folder = temporaryFolder();
  const permission = keptIn(folder.path);
  permission.keep(TOKEN);
  const command = [process.execPath, "-e", CHILD];
  const worker = createWorker({ log: silentLog, command, permission }, () => true, new Set());
  expect(await worker.call("clipboard", [])).toBe(TOKEN);
  expect(permission.read()).toBe("new-token");
  expect(worker.holdsPermission()).toBe(false);
  await worker.call("liftAll", []);
  expect(permission.read()).toBeNull();
  expect(worker.holdsPermission()).toBe(true);
  await worker.stop();
});
