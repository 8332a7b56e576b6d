import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hostIdOf, isSignedBy, openSigningKey, readSigningKey } from "../../src/trust/identity";
import { temporaryFolder } from "../support";

test("a key is made once, private to its owner, and stays the same", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "config", "host_key");
  expect(readSigningKey(file)).toBeUndefined();
  const { publicKey } = openSigningKey(file);
  expect(publicKey).toMatch(/^[\w-]{43}$/);
  expect(openSigningKey(file).publicKey).toBe(publicKey);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(folder.path, "config"))).toEqual(["host_key"]);
  expect(hostIdOf(publicKey)).toMatch(/^[0-9a-f]{32}$/);
});

test("processes that want a new key at the same time get the same one", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "host_key");
  const program = `import { openSigningKey } from ${JSON.stringify(join(import.meta.dir, "../../src/trust/identity"))};
    console.log(openSigningKey(process.argv[1] ?? "").publicKey);`;
  const children = Array.from({ length: 4 }, () =>
    Bun.spawn([process.execPath, "-e", program, file], { stdout: "pipe" }),
  );
  const found = await Promise.all(children.map((child) => child.stdout.text()));
  expect(new Set(found).size).toBe(1);
  expect(found[0]).toMatch(/^[\w-]{43}\n$/);
});

test("a signature holds for its message and its key only", () => {
  using folder = temporaryFolder();
  const one = openSigningKey(join(folder.path, "one"));
  const other = openSigningKey(join(folder.path, "other"));
  const signature = one.sign("a message");
  expect(isSignedBy(one.publicKey, "a message", signature)).toBe(true);
  expect(isSignedBy(one.publicKey, "another", signature)).toBe(false);
  expect(isSignedBy(other.publicKey, "a message", signature)).toBe(false);
  expect(isSignedBy("not a key", "a message", signature)).toBe(false);
  expect(isSignedBy(one.publicKey, "a message", "")).toBe(false);
});

test("a file that holds no Ed25519 key is left as it is", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "host_key");
  writeFileSync(file, "not a key");
  expect(() => openSigningKey(file)).toThrow("host_key is not an Ed25519 key");
  expect(readFileSync(file, "utf8")).toBe("not a key");
});
