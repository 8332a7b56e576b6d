import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { configFiles } from "../../src/lib/paths";
import { spkiPin } from "../../src/lib/spki";
import { createAnnouncement } from "../../src/trust/announcement";
import { makeCertificate, makeKey, parseKey } from "../../src/trust/certificate";
import { nextPin, ownPair, readPair, renewPair, unchangedTime } from "../../src/trust/tls";
import { selfSigned } from "../client/support";
import { temporaryFolder, testWith } from "../support";

const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000);

function place() {
  const folder = temporaryFolder();
  return { files: configFiles(join(folder.path, "config")), ...folder };
}

test("a server that starts again with the same names keeps its certificate", async () => {
  using made = place();
  const wanted = ["lab.example", "10.1.2.3"];
  const { cert } = await ownPair(made.files, { wanted });
  expect((await ownPair(made.files, { wanted })).cert).toBe(cert);
});

describe("a certificate", () => {
  const certified = (names: string[], now = new Date()) =>
    new X509Certificate(makeCertificate(parseKey(makeKey()), "a-host", names, now));

  test("is for its names and addresses, and for no others", () => {
    const made = certified(["lab-01", "lab-01.example", "10.1.2.3", "fd00::1"]);
    for (const name of ["lab-01", "lab-01.example"]) expect(made.checkHost(name)).toBe(name);
    for (const address of ["10.1.2.3", "fd00::1"]) expect(made.checkIP(address)).toBe(address);
    expect(made.checkHost("a-host", { subject: "never" })).toBeUndefined();
    expect(made.checkIP("10.1.2.4")).toBeUndefined();
  });

  test("leaves out what is neither a name nor an address", () => {
    const made = certified(["näme", "a b", "", "*.example", "lab-01"]);
    expect(made.subjectAltName).toBe("DNS:lab-01");
  });

  test("is valid from a day ago for 397 days, also after 2049", () => {
    for (const now of [new Date("2026-11-22T09:00:00Z"), new Date("2049-06-01T00:00:00Z")]) {
      const { validFrom, validTo } = certified([], now);
      expect(new Date(validFrom).getTime()).toBe(now.getTime() - DAY_MS);
      expect(new Date(validTo).getTime()).toBe(now.getTime() + 396 * DAY_MS);
    }
  });

  test("has many names and a long subject", () => {
    const names = Array.from({ length: 300 }, (_, nth) => `host-${nth}.example`);
    const made = new X509Certificate(
      makeCertificate(parseKey(makeKey()), "x".repeat(300), names, new Date()),
    );
    expect(made.checkHost("host-299.example")).toBe("host-299.example");
    expect(made.subject).toBe(`CN=${"x".repeat(64)}`);
  });

  testWith("openssl")("is what openssl takes for a server and for a client, and no authority", () => {
    using at = temporaryFolder();
    const file = join(at.path, "cert.pem");
    writeFileSync(file, makeCertificate(parseKey(makeKey()), "a-host", ["lab-01"], new Date()));
    const openssl = (...args: string[]) => Bun.spawnSync(["openssl", ...args]).stdout.toString();
    for (const purpose of ["sslserver", "sslclient"]) {
      const args = ["-x509_strict", "-purpose", purpose, "-CAfile", file, file];
      expect(openssl("verify", ...args)).toBe(`${file}: OK\n`);
    }
    expect(openssl("x509", "-in", file, "-noout", "-text")).toContain("CA:FALSE");
  });
});

describe("the pair of a configuration folder", () => {
  test("is made once, is private, and has the names of the machine", async () => {
    using at = place();
    const made = await ownPair(at.files);
    expect(await ownPair(at.files)).toEqual(made);
    expect(readFileSync(at.files.tlsKey, "utf8")).toBe(made.key);
    for (const file of [at.files.tlsKey, at.files.tlsCert]) expect(statSync(file).mode & 0o777).toBe(0o600);
    const certificate = new X509Certificate(made.cert);
    for (const name of [hostname().toLowerCase(), "localhost"])
      expect(certificate.checkHost(name)).toBe(name);
    expect(certificate.checkIP("127.0.0.1")).toBe("127.0.0.1");
  });

  test("has a certificate with the names that are wanted, and keeps them when it is renewed", async () => {
    using at = place();
    const { cert: before } = await ownPair(at.files);
    const { cert } = await ownPair(at.files, { wanted: ["svc.example", "10.1.2.3"] });
    expect(new X509Certificate(cert).checkHost("svc.example")).toBe("svc.example");
    expect(new X509Certificate(cert).checkIP("10.1.2.3")).toBe("10.1.2.3");
    expect(spkiPin(cert)).toBe(spkiPin(before));
    await renewPair(at.files, { new_key: false, overlap_s: 0 });
    const renewed = await ownPair(at.files);
    expect(renewed.cert).not.toBe(cert);
    expect(new X509Certificate(renewed.cert).checkHost("svc.example")).toBe("svc.example");
  });

  test("renews its certificate 30 days before it expires, for the same key", async () => {
    using at = place();
    const made = await ownPair(at.files);
    expect(Math.round((unchangedTime(made).to - Date.now()) / DAY_MS)).toBe(366);
    expect(await ownPair(at.files, { now: inDays(365) })).toEqual(made);
    const renewed = await ownPair(at.files, { now: inDays(367) });
    expect(renewed.key).toBe(made.key);
    expect(new Date(new X509Certificate(renewed.cert).validTo) > inDays(700)).toBe(true);
  });

  test("renews a certificate of a date that was wrong", async () => {
    using at = place();
    const { cert } = await ownPair(at.files, { now: inDays(1_000) });
    expect((await ownPair(at.files)).cert).not.toBe(cert);
  });

  test("replaces a certificate that is not the key's, as a crash between the two leaves it", async () => {
    using at = place();
    const { key, cert } = await ownPair(at.files);
    writeFileSync(at.files.tlsCert, makeCertificate(parseKey(makeKey()), "other", [], new Date()));
    const mended = await ownPair(at.files);
    expect(mended.key).toBe(key);
    expect(spkiPin(mended.cert)).toBe(spkiPin(cert));
  });

  test("never replaces a key that cannot be used", async () => {
    using at = place();
    await ownPair(at.files);
    writeFileSync(at.files.tlsKey, "no key");
    await expect(ownPair(at.files)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("is no usable key"),
    });
    expect(readFileSync(at.files.tlsKey, "utf8")).toBe("no key");
  });

  test("is made once by many who ask at the same time", async () => {
    using at = place();
    const pairs = await Promise.all(Array.from({ length: 20 }, () => ownPair(at.files)));
    expect(new Set(pairs.map(({ key }) => key)).size).toBe(1);
  });
});

describe("a new key", () => {
  test("is announced, and takes the place of the old one when a server that runs says so", async () => {
    using at = place();
    const old = await ownPair(at.files);
    const next = await renewPair(at.files, { new_key: true, overlap_s: 600 });
    expect(await nextPin(at.files)).toEqual(next);
    expect(await ownPair(at.files, { now: inSeconds(610) })).toEqual(old);
    const now = await ownPair(at.files, { takesNext: true });
    expect(`${next?.pin}`).toBe(spkiPin(now.cert));
    expect(now.key).not.toBe(old.key);
    expect([await nextPin(at.files), existsSync(at.files.tlsNext)]).toEqual([null, false]);
  });

  test("is announced for a while by a server that was down meanwhile", async () => {
    using at = place();
    const old = await ownPair(at.files);
    await renewPair(at.files, { new_key: true, overlap_s: 86_400 });
    const later = new Date(inDays(3));
    expect(await ownPair(at.files, { starts: true, now: later })).toEqual(old);
    expect(Date.parse((await nextPin(at.files))?.from ?? "")).toBe(later.getTime() + 3_600_000);
  });

  test("is announced for as long as was asked for, whatever the time is set to meanwhile", async () => {
    using at = place();
    await ownPair(at.files);
    const begun = Date.now();
    let [time, passed] = [begun, 0];
    const announcement = createAnnouncement(at.files, { now: () => time, steady: () => passed });
    expect(announcement.isOver()).toBe(false);
    await renewPair(at.files, { new_key: true, overlap_s: 86_400 });
    const from = async () => Date.parse((await nextPin(at.files))?.from ?? "");
    expect(announcement.isOver()).toBe(false);
    [time, passed] = [begun + 400 * DAY_MS, 3_600_000];
    expect(announcement.isOver()).toBe(false);
    // A server that starts now goes on from there.
    expect(Math.abs((await from()) - (time + 23 * 3_600_000))).toBeLessThan(10_000);
    const started = createAnnouncement(at.files, { now: () => time, steady: () => 0 });
    expect(started.isOver()).toBe(false);
    [time, passed] = [begun - 400 * DAY_MS, 2 * 3_600_000];
    expect(announcement.isOver()).toBe(false);
    expect(Math.abs((await from()) - (time + 22 * 3_600_000))).toBeLessThan(10_000);
    passed = 24 * 3_600_000 + 10_000;
    expect(announcement.isOver()).toBe(true);
  });

  test("that was announced while the clock was ahead is announced for no longer than was asked for", async () => {
    using at = place();
    const old = await ownPair(at.files);
    await renewPair(at.files, { new_key: true, overlap_s: 600 }, inDays(400));
    const now = new Date();
    expect((await ownPair(at.files, { starts: true, now })).key).toBe(old.key);
    expect(Date.parse((await nextPin(at.files))?.from ?? "")).toBe(now.getTime() + 600_000);
  });

  test("is in its place at once without an overlap; one that was announced is that one", async () => {
    using at = place();
    const old = await ownPair(at.files);
    expect(await renewPair(at.files, { new_key: true, overlap_s: 0 })).toBeNull();
    const second = await ownPair(at.files);
    expect(second.key).not.toBe(old.key);
    const next = await renewPair(at.files, { new_key: true, overlap_s: 600 });
    await expect(renewPair(at.files, { new_key: true, overlap_s: 600 })).rejects.toMatchObject({
      code: "conflict",
    });
    await renewPair(at.files, { new_key: true, overlap_s: 0 });
    expect(spkiPin((await ownPair(at.files)).cert)).toBe(`${next?.pin}`);
  });

  test("does not come without being asked for: a new certificate keeps the key", async () => {
    using at = place();
    const old = await ownPair(at.files);
    await renewPair(at.files, { new_key: false, overlap_s: 0 });
    const renewed = await ownPair(at.files);
    expect([renewed.key, renewed.cert === old.cert]).toEqual([old.key, false]);
  });
});

testWith("openssl")("the operator's certificate and key have to belong together", () => {
  using at = temporaryFolder();
  const [one, other] = [selfSigned(at.path, "one", "DNS:a"), selfSigned(at.path, "other", "DNS:a")];
  expect(readPair(one.cert, one.key).cert).toBe(readFileSync(one.cert, "utf8"));
  const usable = "tls_cert: the certificate and its key are not a usable pair";
  expect(() => readPair(one.cert, other.key)).toThrow(`${usable} (they do not belong together)`);
  expect(() => readPair(one.key, one.key)).toThrow(usable);
  expect(() => readPair(join(at.path, "none"), one.key)).toThrow("tls_cert: ");
});
