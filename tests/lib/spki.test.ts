import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { hasPin, parsePin, spkiPin } from "../../src/lib/spki";
import { selfSigned } from "../client/support";
import { temporaryFolder, testWith } from "../support";

/** The RFC's way to make a pin, with openssl. */
function pinByOpenssl(cert: string): string {
  const made = Bun.spawnSync([
    "sh",
    "-c",
    `openssl x509 -in "$1" -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary`,
    "sh",
    cert,
  ]);
  return `spki:${made.stdout.toString("base64url")}`;
}

const AA = "A".repeat(42);

testWith("openssl")("the pin of a key is what openssl makes of it, from DER and from PEM", () => {
  using folder = temporaryFolder();
  const { cert } = selfSigned(folder.path, "host", "IP:127.0.0.1");
  const pem = readFileSync(cert, "utf8");
  expect(spkiPin(pem)).toBe(pinByOpenssl(cert));
  expect(spkiPin(new X509Certificate(pem).raw)).toBe(pinByOpenssl(cert));
  expect(parsePin(spkiPin(pem))).toBe(spkiPin(pem));
});

testWith("openssl")("a certificate has the pin of its key and its own, and nobody else's", () => {
  using folder = temporaryFolder();
  const [ours, other] = ["ours", "other"].map((name) => {
    const { cert, sha256 } = selfSigned(folder.path, name, "IP:127.0.0.1");
    return { der: new X509Certificate(readFileSync(cert)).raw, sha256 };
  });
  if (!ours || !other) throw new Error("no certificates");
  const pins = [spkiPin(ours.der), parsePin(`sha256:${ours.sha256}`) ?? ""];
  expect(pins.map((pin) => hasPin(ours.der, pin))).toEqual([true, true]);
  expect(pins.map((pin) => hasPin(other.der, pin))).toEqual([false, false]);
});

test("what is no certificate has no pin", () => {
  expect(hasPin(new Uint8Array(), `spki:${AA}A`)).toBe(false);
  expect(hasPin(new Uint8Array([1, 2, 3]), `spki:${AA}A`)).toBe(false);
  expect(() => spkiPin(new Uint8Array())).toThrow();
});

test.each([
  [`spki:${AA}A`, `spki:${AA}A`],
  [`spki:${AA}A=`, `spki:${AA}A`],
  [`SHA256:${"AB:".repeat(31)}ab`, `sha256:${"ab".repeat(32)}`],
  [`sha256:${"0f".repeat(32)}`, `sha256:${"0f".repeat(32)}`],
])("%s is a pin", (text, pin) => expect(parsePin(text)).toBe(pin));

test.each([
  "",
  "spki:",
  `spki:${AA}`,
  `spki:${AA}AA`,
  // Two bits that no hash has.
  `spki:${AA}B`,
  `spki:${AA}+`,
  `sha256:${"0f".repeat(31)}`,
  `sha256:${"0f".repeat(33)}`,
  `sha1:${"0f".repeat(32)}`,
  `spki:${AA}A\n`,
])("%j is none", (text) => expect(parsePin(text)).toBeUndefined());
