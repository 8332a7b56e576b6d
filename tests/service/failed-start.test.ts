import { expect, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { createService } from "../../src/service/service";
import { temporaryFolder } from "../support";

test("a server whose address cannot be written leaves no socket, which would keep its process from ending", async () => {
  using folder = temporaryFolder();
  const files = configFiles(folder.path);
  mkdirSync(`${files.runFile}/full`, { recursive: true });
  const service = createService({ configDir: folder.path, log: silentLog });
  await expect((await service.rest()).start({ port: 0 })).rejects.toThrow();
  expect(existsSync(files.ownerFile)).toBe(false);
  await service.stop();
});
