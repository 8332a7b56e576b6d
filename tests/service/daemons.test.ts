/** What an upgrade, which may be root, asks of a daemon whose user may do less. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { formatOf } from "../../src/lib/format";
import { isLocked } from "../../src/lib/lock";
import { configFiles } from "../../src/lib/paths";
import { claimConfigDir, findRunningServer, writeRunFile } from "../../src/lib/running-server";
import { apartLine, isHealthy, isOfSameService } from "../../src/service/daemons";
import { temporaryFolder, testServer, testWith } from "../support";

test("a daemon is asked without a token, whatever its file and the environment say", async () => {
  using folder = temporaryFolder();
  const seen: (string | null)[] = [];
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      seen.push(request.headers.get("authorization"));
      return Response.json({ status: "ok" });
    },
  });
  const token_file = join(folder.path, "secret");
  writeFileSync(token_file, "secret-of-root-0123456789");
  const before = process.env.SVC_TOKEN;
  process.env.SVC_TOKEN = "another-secret-0123456789";
  try {
    const url = `http://127.0.0.1:${server.port}`;
    expect(await isHealthy(folder.path, { url, pid: 1, token_file })).toBe(true);
  } finally {
    if (before === undefined) delete process.env.SVC_TOKEN;
    else process.env.SVC_TOKEN = before;
  }
  expect(seen).toEqual([null]);
});

test("a server of svc answers without a token", async () => {
  await using made = await testServer();
  expect(await isHealthy(made.configDir, { url: made.server.url, pid: 1 })).toBe(true);
});

test("nobody but this machine is asked", async () => {
  using folder = temporaryFolder();
  // RFC 5737: an address of nobody.
  expect(await isHealthy(folder.path, { url: "http://203.0.113.1:1", pid: 1 })).toBe(false);
});

test("a file that is too large, or that no server can have written, names no server", async () => {
  using folder = temporaryFolder();
  const release = await claimConfigDir(folder.path);
  const { runFile } = configFiles(folder.path);
  const server = { url: "http://127.0.0.1:1", pid: 1 };
  writeRunFile(folder.path, server);
  expect(findRunningServer(folder.path)).toEqual(server);
  writeFileSync(runFile, JSON.stringify({ ...server, more: " ".repeat(70_000) }));
  expect(findRunningServer(folder.path)).toBeNull();
  release?.();
});

testWith("mkfifo")("a pipe in place of a file is not waited for", async () => {
  using folder = temporaryFolder();
  const { runFile, serveLock, format } = configFiles(folder.path);
  const release = await claimConfigDir(folder.path);
  mkdirSync(join(runFile, ".."), { recursive: true });
  await $`mkfifo ${runFile} ${format}`;
  expect(findRunningServer(folder.path)).toBeNull();
  expect(() => formatOf(folder.path)).toThrow("is not what svc writes there");
  release?.();
  await $`rm ${serveLock} && mkfifo ${serveLock}`;
  expect(isLocked(serveLock)).toBe(false);
});

test("a process of the service of a daemon is told from one of a container, a session or another service", () => {
  using proc = temporaryFolder();
  const put = (pid: string, text: string) => {
    mkdirSync(join(proc.path, pid), { recursive: true });
    writeFileSync(join(proc.path, pid, "cgroup"), text);
  };
  const isInside = (own: string, theirs = own) => {
    put("self", own);
    put("7", theirs);
    return isOfSameService(7, proc.path);
  };
  expect(isInside("0::/system.slice/svc.service\n")).toBe(true);
  expect(isInside("0::/\n")).toBe(false);
  expect(isInside("0::/user.slice/user-0.slice/session-1.scope\n")).toBe(false);
  expect(isInside("0::/system.slice/ssh.service\n", "0::/system.slice/svc.service\n")).toBe(false);
  expect(isOfSameService(8, proc.path)).toBe(false);
  expect(isOfSameService(null, proc.path)).toBe(false);
});

test("systemd starts what it was given, whatever it would replace in it", () => {
  const line = apartLine(false, ["/opt/svc", "upgrade-child", "/home/a/$lab/${X}"]);
  expect(line).toEqual([
    ...["systemd-run", "--user", "--collect", "--quiet"],
    ...["/opt/svc", "upgrade-child", "/home/a/$$lab/$${X}"],
  ]);
  expect(apartLine(true, [])).not.toContain("--user");
});
