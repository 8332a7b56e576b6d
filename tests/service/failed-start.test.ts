import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { fileFaults } from "../../src/service/file-faults";
import { createService } from "../../src/service/service";
import { temporaryFolder, testServer } from "../support";

test("a server whose address cannot be written leaves no socket, which would keep its process from ending", async () => {
  using folder = temporaryFolder();
  const files = configFiles(folder.path);
  mkdirSync(`${files.runFile}/full`, { recursive: true });
  const service = createService({ configDir: folder.path, log: silentLog });
  await expect((await service.rest()).start({ port: 0 })).rejects.toThrow();
  expect(existsSync(files.ownerFile)).toBe(false);
  await service.stop();
});

test("no server starts with a host_key that is broken, and one does again once it is put back", async () => {
  using folder = temporaryFolder();
  const { hostKey } = configFiles(folder.path);
  const start = async () => {
    const service = createService({ configDir: folder.path, log: silentLog });
    try {
      await (await service.rest()).start({ port: 0 });
    } finally {
      await service.stop();
    }
  };
  await start();
  const key = readFileSync(hostKey, "utf8");
  for (const broken of ["", "no key", key.slice(0, 60), `${key.slice(0, 40)}\u0000`]) {
    writeFileSync(hostKey, broken);
    await expect(start()).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/^host_key is (?:not an Ed25519 key|empty)/),
    });
    expect(readFileSync(hostKey, "utf8")).toBe(broken);
  }
  writeFileSync(hostKey, key.replaceAll("\n", "\r\n"));
  await start();
});

test("a certificate that cannot be read is named beside the files on which trust rests", async () => {
  await using host = await testServer();
  const { tlsCert } = configFiles(host.configDir);
  const faults = () => fileFaults(host.configDir, async () => []);
  expect(await faults()).toEqual([]);
  // Root may read any file.
  rmSync(tlsCert, { force: true });
  mkdirSync(tlsCert);
  expect(await faults()).toEqual([
    { file: "tls/cert.pem", problem: expect.stringMatching(/cert\.pem cannot be read \(EISDIR\)/) },
  ]);
});

test.each(["traces", "black-box"])("a server does its work also where %s is no folder", async (name) => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, name), "");
  const service = createService({ configDir: folder.path, log: silentLog });
  try {
    expect(await service.runJobs()).toBeFunction();
  } finally {
    await service.stop();
  }
});

test("a server that stops leaves what another has written in a folder that was put in the place of its own", async () => {
  using folder = temporaryFolder();
  const { runFile, ownerFile } = configFiles(folder.path);
  const service = createService({ configDir: folder.path, log: silentLog });
  await (await service.rest()).start({ port: 0 });
  const others = [runFile, ownerFile].map((file) => {
    const other = { ...JSON.parse(readFileSync(file, "utf8")), pid: 1, key: "0".repeat(64) };
    writeFileSync(file, JSON.stringify(other));
    return [file, other] as const;
  });
  const socket = join(dirname(ownerFile), "svc.sock");
  renameSync(socket, `${socket}.first`);
  const listener = Bun.listen({ unix: socket, socket: { data() {} } });
  await service.stop();
  expect(statSync(socket, { throwIfNoEntry: false })?.isSocket()).toBe(true);
  listener.stop();
  for (const [file, other] of others) expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(other);
});
