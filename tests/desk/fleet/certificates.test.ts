/** The certificates of hosts, for one file of those that Prometheus trusts. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { certificatesOf } from "../../../src/desk/fleet/certificates";
import type { Host } from "../../../src/desk/fleet/host";
import { spkiPin } from "../../../src/lib/spki";
import { makeCertificate, makeKey, parseKey } from "../../../src/trust/certificate";
import { temporaryFolder, testWith } from "../../support";
import { host } from "./support";

/** A host that shows a certificate, and says something else when it is asked. */
function hostWith(key: string, cert: string, more: Partial<Host> = {}) {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { key, cert },
    fetch: () => Response.json({ pem: "\u001b]0;owned\u0007", pin: "spki:x", names: [], valid_until: "" }),
  });
  const url = `https://127.0.0.1:${server.port}`;
  return {
    entry: { ...host("lab-01", url), pin: spkiPin(cert), ...more },
    [Symbol.dispose]: () => server.stop(true),
  };
}

/** A pair as svc makes it. */
function pairFor(...names: string[]) {
  const key = makeKey();
  return [key, makeCertificate(parseKey(key), "lab-01", names, new Date())] as const;
}

const only = async (entry: Host, others: readonly Host[] = []) =>
  (await certificatesOf([entry], [entry, ...others], 60_000))[0];

test("a certificate is the one that the connection showed, whatever the host says of it", async () => {
  const [key, cert] = pairFor("lab-01", "127.0.0.1");
  using shown = hostWith(key, cert);
  expect(await only(shown.entry)).toMatchObject({
    label: "lab-01",
    ok: true,
    result: { pem: cert, pin: spkiPin(cert), names: ["lab-01", "127.0.0.1"] },
  });
});

test("a host with another key than the pinned one gives none", async () => {
  const [key, cert] = pairFor("lab-01");
  using shown = hostWith(key, cert, { pin: spkiPin(pairFor("lab-01")[1]) });
  expect(await only(shown.entry)).toMatchObject({ error: "the key is not the pinned one" });
});

test("a host that speaks plain http gives none", async () => {
  expect(await only(host("lab-01"))).toMatchObject({ error: expect.stringContaining("plain http") });
});

test("a host that is reached over its link has none and needs none: nothing is wrong with it", async () => {
  const linked = host("lab-01", `link:${"0".repeat(32)}`);
  expect(await only(linked)).toEqual({ label: "lab-01", ok: true, result: null });
});

test("a certificate that is also for another host of the address book is refused", async () => {
  const [key, cert] = pairFor("lab-01", "127.0.0.1", "lab-02", "10.0.0.3", "localhost");
  using shown = hostWith(key, cert);
  const of = (...urls: string[]) =>
    only(
      shown.entry,
      urls.map((url) => host("other", url)),
    );
  for (const url of ["https://lab-02:9939", "https://LAB-02", "https://10.0.0.3:1"]) {
    expect(await of(url)).toMatchObject({ error: expect.stringContaining("the host other") });
  }
  // One port further it is the same machine, and loopback is this one.
  const own = new URL(shown.entry.base_url).hostname;
  expect(await of(`https://${own}:1`, "https://localhost:1", "https://lab-03")).toMatchObject({ ok: true });
  const second = { ...host("other", "https://lab-02:9939"), pin: shown.entry.pin };
  expect(await only(shown.entry, [second])).toMatchObject({ ok: true });
});

testWith("openssl")(
  "an authority is refused, and so is a certificate that cannot say it is none",
  async () => {
    using folder = temporaryFolder();
    const at = (name: string) => join(folder.path, name);
    const openssl = (...args: string[]) => {
      const run = Bun.spawnSync(["openssl", ...args], { stderr: "pipe" });
      if (run.exitCode !== 0) throw new Error(run.stderr.toString());
    };
    const read = (name: string) => Bun.file(at(name)).text();
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", at("key"));
    const subject = ["-key", at("key"), "-subj", "/CN=lab-01"];
    openssl(
      "req",
      "-x509",
      "-days",
      "2",
      ...subject,
      "-addext",
      "subjectAltName=DNS:lab-01",
      "-out",
      at("ca"),
    );
    openssl("req", "-new", ...subject, "-out", at("csr"));
    openssl("x509", "-req", "-days", "2", "-in", at("csr"), "-signkey", at("key"), "-out", at("v1"));
    for (const name of ["ca", "v1"]) {
      using shown = hostWith(await read("key"), await read(name));
      expect(await only(shown.entry)).toMatchObject({ error: expect.stringContaining("is an authority") });
    }
  },
);
