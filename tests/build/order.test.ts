/** Recording what a start of the binary reads. */
import { expect, test } from "bun:test";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordOrder } from "../../build/order";
import { temporaryFolder } from "../support";

test("a server that says something unexpected is ended", async () => {
  if (process.platform === "win32") return;
  using folder = temporaryFolder();
  const [binary, started] = ["svc", "started"].map((name) => join(folder.path, name)) as [string, string];
  writeFileSync(binary, `#!/bin/sh\necho $$ > ${started}\necho what\nexec sleep 60\n`);
  chmodSync(binary, 0o755);
  await expect(recordOrder(binary)).rejects.toThrow("JSON");
  expect(() => process.kill(Number(readFileSync(started, "utf8")), 0)).toThrow("ESRCH");
});
