/** The token of a person's yes on disk. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKeptPermission } from "../../../src/host/desktop/kept-permission";
import { createWorker } from "../../../src/host/desktop/worker";
import { silentLog } from "../../../src/lib/log";
import { Requester } from "../../../src/lib/slots";
import { temporaryFolder } from "../../support";
import { desktopOn } from "./support";

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
  const say = (event, ...args) => process.send({ event, args });
  if (method === "permit") known = args[0];
  else if (method === "type") return say("restoring", true);
  else if (method === "focus") say("unasked", args[0] === 1);
  else if (method !== "page") say("permission", method === "liftAll" ? null : "new-token", method === "liftAll");
  const page = { x: 0, y: 0, scale: 1, blocks: [], sheets: [] };
  process.send({ id, answer: method === "clipboard" ? String(known) : method === "page" ? page : undefined });
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
  expect(worker.hasPermission()).toBe(true);
  await worker.call("liftAll", []);
  expect(permission.read()).toBeNull();
  expect(worker.hasPermission()).toBe(true);
  await worker.stop();
});

/** A worker with the child above, and what the log says. @param deadlineMs how long a call may take. */
function workerIn(folder: string, deadlineMs?: number) {
  const permission = keptIn(folder);
  permission.keep(TOKEN);
  const lines: string[] = [];
  const worker = createWorker(
    {
      log: { ...silentLog, warn: (line: string) => void lines.push(line) },
      command: [process.execPath, "-e", CHILD],
      permission,
      ...(deadlineMs !== undefined && { deadlineMs }),
    },
    () => true,
    new Set(),
  );
  return { permission, worker, lines };
}

test("a child that is being let in is not killed by a call that takes too long: what lets it in would be lost", async () => {
  using folder = temporaryFolder();
  const { worker } = workerIn(folder.path, 1_500);
  await worker.call("strike", []);
  const pid = worker.pid();
  await expect(worker.call("type", [])).rejects.toThrow(/did not answer within 1\.5 s$/);
  expect(worker.pid()).toBe(pid);
  expect(await worker.call("clipboard", [])).toBe(TOKEN);
  await worker.stop();
});

test("where a person was asked twice in a row though nobody wanted it, the token is forgotten, and the log says so", async () => {
  using folder = temporaryFolder();
  const { worker, permission, lines } = workerIn(folder.path);
  await worker.call("focus", [1]);
  expect(permission.read()).toBe(TOKEN);
  await worker.call("focus", [1]);
  expect(permission.read()).toBeNull();
  expect(lines).toEqual([expect.stringContaining("Run `svc desktop allow` at its screen")]);
  expect(await worker.call("clipboard", [])).toBe("null");
  await worker.stop();
});

test("a token that is good for svc started in another way is kept, and not used here any more", async () => {
  using folder = temporaryFolder();
  const { worker, permission } = workerIn(folder.path);
  for (let nth = 0; nth < 2; nth++) await worker.call("focus", [0]);
  expect(permission.read()).toBe(TOKEN);
  expect(worker.hasPermission()).toBe(false);
  await worker.stop();
});

test("once a person has allowed it, what a token looks for is looked for by the process that is let in", async () => {
  using folder = temporaryFolder();
  const permission = keptIn(folder.path);
  const command = [process.execPath, "-e", CHILD];
  await using made = desktopOn({ ...process.env }, { command, permission });
  const look = () => made.desktop.page(undefined, { known: [], sheets: 1 }, new Requester("anna"));
  await look();
  expect(made.desktop.childPid).toBeNull();
  permission.keep(TOKEN);
  await look();
  expect(made.desktop.childPid).not.toBeNull();
});
