/** What a person types about keys of witnesses. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { configFiles } from "../../../src/lib/paths";
import { openStore } from "../../../src/wire/witness/store";
import { SVC, temporaryFolder } from "../../support";
import { ownLog } from "./support";

function svc(configDir: string, ...args: string[]) {
  const env = { ...process.env, SVC_CONFIG_DIR: configDir };
  const { exitCode, stdout, stderr } = Bun.spawnSync([...SVC, ...args], { env });
  return { exitCode, out: stdout.toString(), error: stderr.toString() };
}

test("the key of a witness is printed alone, as --witness takes it", () => {
  using folder = temporaryFolder();
  openStore(configFiles(folder.path).witness).close();
  expect(svc(folder.path, "witness", "key").out).toMatch(
    /^svc\.witness\/[0-9a-f]{16}\+[0-9a-f]{8}\+[\w+/]{44}\n$/,
  );
});

test("a wrong key is refused by the name of its flag", () => {
  using folder = temporaryFolder();
  const { vkey } = ownLog(folder.path);
  const proof = `${folder.path}/row.tlog-proof`;
  writeFileSync(proof, "a proof");
  const verify = (...flags: string[]) => svc(folder.path, "audit", "verify-proof", proof, ...flags).error;
  expect(verify("--key", vkey, "--witness", "vkey something")).toContain(
    "--witness: expected a verifier key",
  );
  expect(verify("--key", `a b${vkey}`)).toContain("--key: expected a verifier key");
});
