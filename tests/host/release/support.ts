/**
 * What tests of releases need: a key pair as `minisign -G -W` makes one, and files that it has signed.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSecretKey, type SecretKey, signFile } from "../../../build/package/sign";
import { temporaryFolder } from "../../support";

/** A new key in `folder`. */
export function makeKey(folder: string): {
  readonly path: string;
  readonly secret: SecretKey;
  readonly text: string;
} {
  const { privateKey } = process.getBuiltinModule("node:crypto").generateKeyPairSync("ed25519");
  const { d = "", x = "" } = privateKey.export({ format: "jwk" });
  // https://jedisct1.github.io/minisign/#secret-key-format
  const bytes = Buffer.alloc(158);
  bytes.write("Ed\0\0B2", "latin1");
  crypto.getRandomValues(bytes.subarray(54, 62));
  bytes.set(Buffer.from(d, "base64url"), 62);
  bytes.set(Buffer.from(x, "base64url"), 94);
  const path = join(folder, `key-${crypto.randomUUID()}`);
  writeFileSync(path, `untrusted comment: minisign encrypted secret key\n${bytes.toString("base64")}\n`);
  const secret = readSecretKey(path);
  return { path, secret, text: secret.publicKey.text };
}

/** Writes and signs the index of a release without files. @returns its path. */
export async function writeIndex(
  folder: string,
  secret: SecretKey,
  version: string,
  more: object = {},
): Promise<string> {
  const path = join(folder, "release.json");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    path,
    JSON.stringify({ format: 1, version, commit: "abc1234", date: "2026-11-23", files: {}, ...more }),
  );
  await signFile(secret, path, `svc ${version} release.json`);
  return path;
}

/** A folder with a key, and signed files. */
export function publisher() {
  const folder = temporaryFolder();
  const { secret, text } = makeKey(folder.path);
  return {
    ...{ folder: folder.path, secret, text },
    async file(name: string, version = "0.2.0", target = "linux-x64", content = `${version} ${target}`) {
      const path = join(folder.path, name);
      writeFileSync(path, content);
      await signFile(secret, path, `svc ${version} ${target}`);
      return path;
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}
