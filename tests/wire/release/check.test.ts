/**
 * `svc version --check`: a release index from a file or over https.
 */
import { expect, test } from "bun:test";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { readIndex } from "../../../src/wire/release/check";
import { parsePublicKey } from "../../../src/wire/release/minisign";
import { makeKey, writeIndex } from "../../host/release/support";
import { runToEnd, SOURCE, temporaryFolder, testWith } from "../../support";

test("an index is verified by the key, from its file and from its folder", async () => {
  using folder = temporaryFolder();
  const { secret } = makeKey(folder.path);
  const path = await writeIndex(folder.path, secret, "0.2.0");
  for (const from of [path, folder.path]) {
    const { index, verified } = await readIndex(from, secret.publicKey);
    expect([index.version, verified]).toEqual(["0.2.0", true]);
  }
});

test("an index is refused that was changed, is signed by another key, is not signed, or is too large", async () => {
  using folder = temporaryFolder();
  const { secret } = makeKey(folder.path);
  const path = await writeIndex(folder.path, secret, "0.2.0");
  const other = parsePublicKey(makeKey(folder.path).text);
  await expect(readIndex(path, other)).rejects.toThrow("is signed by the key");
  appendFileSync(path, " ");
  await expect(readIndex(path, secret.publicKey)).rejects.toThrow("does not match the file");
  rmSync(`${path}.minisig`);
  await expect(readIndex(path, secret.publicKey)).rejects.toThrow("has no signature");
  writeFileSync(path, " ".repeat(70_000));
  await expect(readIndex(path, null)).rejects.toThrow("is too large");
  await expect(readIndex(join(folder.path, "none"), null)).rejects.toThrow("cannot be read (ENOENT)");
});

test.each(["http://localhost/release.json", "ftp://localhost/", "https://user:password@localhost/"])(
  "nothing is asked for at %s",
  async (address) => {
    await expect(readIndex(address, null)).rejects.toThrow("expected an https:// address or a path");
  },
);

const svc = async (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  return runToEnd([...SOURCE, "version", ...args], { env: { ...process.env, ...env } });
};

test("the exit code is 3 for a newer release, 0 for none, 1 where nobody can tell, and 2 for wrong usage", async () => {
  using folder = temporaryFolder();
  const { secret, text } = makeKey(folder.path);
  const newer = await svc([
    "--check",
    await writeIndex(join(folder.path, "a"), secret, "0.2.0"),
    "--public-key",
    text,
  ]);
  expect(newer.stdout).toContain("the release is 0.2.0 of 2026-11-23 (verified): newer than 0.0.0-source");
  expect([newer.exitCode, newer.stderr]).toEqual([3, ""]);

  const older = await svc([
    "--check",
    await writeIndex(join(folder.path, "b"), secret, "0.0.0-rc.1"),
    "--json",
  ]);
  expect(JSON.parse(older.stdout)).toMatchObject({
    release_key: null,
    target: "source",
    release: { version: "0.0.0-rc.1", newer: false, verified: false, file: null },
  });
  expect(older.exitCode).toBe(0);
  expect(older.stderr).toContain("the release was not verified: this svc has no release key");

  const other = makeKey(folder.path).text;
  expect((await svc(["--check", join(folder.path, "a"), "--public-key", other])).exitCode).toBe(1);
  expect((await svc(["--check", "http://localhost/"])).exitCode).toBe(2);
  const wrong = await svc(["--check", join(folder.path, "a"), "--public-key", "nowhere"]);
  expect(wrong.stderr).toContain(
    "--public-key: nowhere is neither a public key of minisign nor a file (ENOENT)",
  );
  expect(wrong.exitCode).toBe(2);
});

testWith("openssl")(
  "an index comes over https, through redirects that stay there, within bounds",
  async () => {
    using folder = temporaryFolder();
    const { secret, text } = makeKey(folder.path);
    const path = await writeIndex(folder.path, secret, "0.2.0");
    const [key, cert] = [join(folder.path, "tls.pem"), join(folder.path, "cert.pem")];
    await $`openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ${key} -out ${cert} -subj /CN=localhost -addext subjectAltName=DNS:localhost`.quiet();
    await using server = Bun.serve({
      port: 0,
      tls: { key: Bun.file(key), cert: Bun.file(cert) },
      fetch(request) {
        const { pathname } = new URL(request.url);
        const [, kind, name = ""] = pathname.split("/");
        if (kind === "moved") return Response.redirect(`/at/${name}`);
        if (kind === "nowhere") return new Response(null, { status: 302, headers: { location: "https://" } });
        if (kind === "plain") return Response.redirect(`http://localhost:1/at/${name}`);
        if (kind === "round") return Response.redirect(pathname);
        if (kind === "endless") return new Response(new Blob([new Uint8Array(200_000)]).stream());
        if (kind === "bare" && name.endsWith(".minisig")) return new Response(null, { status: 404 });
        return new Response(Bun.file(name.endsWith(".minisig") ? `${path}.minisig` : path));
      },
    });
    const check = (kind: string) =>
      svc(["--check", `https://localhost:${server.port}/${kind}/`, "--public-key", text], {
        NODE_EXTRA_CA_CERTS: cert,
      });
    for (const kind of ["at", "moved"]) expect([kind, (await check(kind)).exitCode]).toEqual([kind, 3]);
    for (const [kind, message] of [
      ["plain", "redirects to http://localhost:1/at/release.json, where an https:// address was expected"],
      ["nowhere", "redirects to https://, where an https:// address was expected"],
      ["round", "redirects more than 5 times"],
      ["endless", "is too large"],
      ["bare", "has no signature"],
    ] as const) {
      const { stderr, stdout, exitCode } = await check(kind);
      expect(stderr).toContain(message);
      expect([stdout, exitCode]).toEqual(["", 1]);
    }
    const unknown = await svc(["--check", `https://localhost:${server.port}/at/`]);
    expect([unknown.exitCode, unknown.stdout]).toEqual([1, ""]);
  },
);
