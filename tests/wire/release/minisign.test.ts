/**
 * Signatures of releases: Debian's minisign verifies ours, and ours verifies its.
 */
import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publicKeyOfBuild, readSecretKey, signFile } from "../../../build/package/sign";
import { parsePublicKey, parseSignature, verify } from "../../../src/wire/release/minisign";
import { temporaryFolder, testWith } from "../../support";

/** Made by minisign 0.11 over "hello\n", for these tests only. */
const KEY = "RWRRql2QQWQcppQyYf5EuvjlaoC1IYdrRha7amV14QoHPrkzhIzYyQlv";
const SECRET = `untrusted comment: minisign encrypted secret key
RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAUapdkEFkHKZsR9UPITkDGDhpc4a73cJYr3JU4WPkji6/MJcTcjHw6ZQyYf5EuvjlaoC1IYdrRha7amV14QoHPrkzhIzYyQlvAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
`;
const SIGNATURE = `untrusted comment: signature from minisign secret key
RURRql2QQWQcpio50KMI6PFGs+UnQDErBtM8CTwo9UAUpBt1l/O67/QGwISHw+Yk7KRGcdaivQX2O6r/daPM40XDXNh7wHhekwI=
trusted comment: svc 0.2.0 linux-x64
3eLR1PXZc0s7U0Wot/6jwolVIMP8cPVXA9wgK3sP/1X6Ne78xV4MiHuUU11RzfJ/+rO2CKxPG6ePKrw+n2oSDw==
`;
const LEGACY = `untrusted comment: signature from minisign secret key
RWRRql2QQWQcpjgwRHaFTspp64X9Urm+zNFYE+rPCU0R5NJoLq6StyPOKE5rPqoOlvkZvd0c61ggxgY9l0KB5DGdJ7pcyK9+YAE=
trusted comment: timestamp:1795397700	file:f
uzaeMziTZQnQ74oARt1lY0rnwpc9Y9grhu256g2OCOJTH3Cdqyh2z05G7sWi2NhDzpi6xAfebDZhri0sRFkSAg==
`;
/** The key of minisign's own releases, from its page. */
const OTHER_KEY = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";

async function* pieces(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}

const failure = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return undefined;
};

describe("a signature by minisign", () => {
  test("verifies, and its trusted comment is returned", async () => {
    const comment = await verify(parsePublicKey(KEY), parseSignature(SIGNATURE), pieces("hel", "lo\n"));
    expect(comment).toBe("svc 0.2.0 linux-x64");
  });

  test("verifies with the line ends of Windows, and with a key from its file", async () => {
    const key = parsePublicKey(`untrusted comment: minisign public key\r\n${KEY}\r\n`);
    expect(key).toMatchObject({ id: "A61C6441905DAA51", text: KEY });
    const signature = parseSignature(SIGNATURE.replaceAll("\n", "\r\n"));
    expect(await verify(key, signature, pieces("hello\n"))).toBe("svc 0.2.0 linux-x64");
  });

  test.each([
    ["a changed file", pieces("hello"), KEY, SIGNATURE, "the signature does not match the file"],
    ["another key", pieces("hello\n"), OTHER_KEY, SIGNATURE, "signed by the key A61C6441905DAA51, expected"],
    ["another version", pieces("hello\n"), KEY, SIGNATURE.replace("0.2.0", "0.3.0"), "trusted comment"],
    ["a changed signature", pieces("hello\n"), KEY, SIGNATURE.replace("io50K", "io50L"), "does not match"],
  ])("is refused for %s", async (_, file, key, signature, message) => {
    await expect(verify(parsePublicKey(key), parseSignature(signature), file)).rejects.toThrow(message);
  });

  test("is refused under the id of the key by another key", async () => {
    const own = Buffer.from(KEY, "base64");
    const forged = Buffer.concat([own.subarray(0, 10), Buffer.from(OTHER_KEY, "base64").subarray(10)]);
    const key = parsePublicKey(forged.toString("base64"));
    await expect(verify(key, parseSignature(SIGNATURE), pieces("hello\n"))).rejects.toThrow("does not match");
  });

  test("is refused in the legacy form, which the message names", () => {
    expect(failure(() => parseSignature(LEGACY))).toContain("legacy form: sign the file again, without -l");
  });

  test.each([
    ["", "not one of minisign"],
    [`${SIGNATURE}more\n`, "not one of minisign"],
    [SIGNATURE.split("\n").slice(0, 2).join("\n"), "not one of minisign"],
    [SIGNATURE.replace("trusted comment: svc", "comment: svc"), "not one of minisign"],
    [SIGNATURE.replace("RURR", "RVhR"), "an algorithm"],
    [SIGNATURE.replace("RURR", "RU-R"), "not one of minisign"],
  ])("is refused when it is malformed (%#)", (text, message) => {
    expect(failure(() => parseSignature(text))).toContain(message);
  });
});

test.each(["", "RWRR", `x${KEY}`, SECRET, SIGNATURE])(
  "no public key is read from anything else (%#)",
  (text) => {
    expect(failure(() => parsePublicKey(text))).toContain("not a public key of minisign");
  },
);

describe("a secret key", () => {
  test("signs what its public half verifies", async () => {
    using folder = temporaryFolder();
    const [file, secret] = [join(folder.path, "f"), join(folder.path, "key")];
    writeFileSync(file, "hello\n");
    writeFileSync(secret, SECRET);
    const key = readSecretKey(secret);
    expect(key.publicKey.text).toBe(KEY);
    const signature = await signFile(key, file, "svc 0.2.0 linux-x64");
    // Ed25519 has one signature of a message by a key: the same bytes as minisign's.
    expect(readFileSync(signature, "utf8").split("\n").slice(1)).toEqual(SIGNATURE.split("\n").slice(1));
  });

  test("is refused with a password, damaged, or when it is another file; no message has a part of it", () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "key");
    const [, line = ""] = SECRET.split("\n");
    for (const [text, message] of [
      [SECRET.replace("RWQAAEIy", "RWRTY0Iy"), "minisign -G -W"],
      [SECRET.replace("UapdkEFkHKZsR9UP", "UapdkEFkHKZsR9UQ"), "is damaged"],
      [SIGNATURE, "is not a secret key of minisign"],
    ] as const) {
      writeFileSync(path, text);
      const found = failure(() => readSecretKey(path));
      expect(found).toContain(message);
      expect(found).not.toContain(line.slice(100, 120));
    }
    expect(failure(() => readSecretKey(join(folder.path, "none")))).toContain("cannot be read (ENOENT)");
  });

  test("gives the build its public key, which a different one in the environment contradicts", () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "key");
    writeFileSync(path, SECRET);
    expect(publicKeyOfBuild({})).toBe("");
    expect(publicKeyOfBuild({ SVC_RELEASE_SECRET_KEY: path })).toBe(KEY);
    expect(publicKeyOfBuild({ SVC_RELEASE_PUBLIC_KEY: OTHER_KEY })).toBe(OTHER_KEY);
    const both = { SVC_RELEASE_SECRET_KEY: path, SVC_RELEASE_PUBLIC_KEY: OTHER_KEY };
    expect(failure(() => publicKeyOfBuild(both))).toContain("is not the public key of");
    expect(failure(() => publicKeyOfBuild({ SVC_RELEASE_PUBLIC_KEY: "x" }))).toContain(
      "SVC_RELEASE_PUBLIC_KEY: ",
    );
  });
});

testWith("minisign")(
  "minisign verifies ours, svc verifies its own, and both refuse what was changed",
  async () => {
    using folder = temporaryFolder();
    const [file, secret, pub] = ["f", "key", "key.pub"].map((name) => join(folder.path, name)) as [
      string,
      string,
      string,
    ];
    const minisign = (...args: string[]) => Bun.spawnSync(["minisign", ...args]);
    expect(minisign("-G", "-W", "-p", pub, "-s", secret).exitCode).toBe(0);
    writeFileSync(file, crypto.getRandomValues(new Uint8Array(50_000)));

    await signFile(readSecretKey(secret), file, "svc 1.2.3 linux-arm64");
    const verified = minisign("-V", "-H", "-p", pub, "-m", file);
    expect(verified.stdout.toString()).toContain("Trusted comment: svc 1.2.3 linux-arm64");
    expect(verified.exitCode).toBe(0);

    expect(minisign("-S", "-s", secret, "-m", file, "-t", "theirs ü").exitCode).toBe(0);
    const key = parsePublicKey(readFileSync(pub, "utf8"));
    const signature = parseSignature(readFileSync(`${file}.minisig`, "utf8"));
    expect(await verify(key, signature, file)).toBe("theirs ü");

    appendFileSync(file, "x");
    expect(minisign("-V", "-p", pub, "-m", file).exitCode).toBe(1);
    await expect(verify(key, signature, file)).rejects.toThrow("does not match");
  },
);

test("a file that is missing is named", async () => {
  await expect(verify(parsePublicKey(KEY), parseSignature(SIGNATURE), "/nowhere/svc")).rejects.toThrow(
    "/nowhere/svc cannot be read (ENOENT)",
  );
});

test("a large file is hashed in bounded memory", async () => {
  const piece = new Uint8Array(65_536);
  async function* large() {
    for (let sent = 0; sent < 140_000_000; sent += piece.length) yield piece;
  }
  const before = process.memoryUsage.rss();
  await expect(verify(parsePublicKey(KEY), parseSignature(SIGNATURE), large())).rejects.toThrow(
    "does not match",
  );
  expect(process.memoryUsage.rss() - before).toBeLessThan(64_000_000);
});
