import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { certificateNames, machineNames } from "../../src/http/own-names";
import { temporaryFolder, testWith } from "../support";

/** The names of a machine that is called `name` and has these files. */
function namesOf(name: string, hosts: string, resolver: string): string[] {
  using folder = temporaryFolder();
  const files = { hosts: join(folder.path, "hosts"), resolver: join(folder.path, "resolv.conf") };
  writeFileSync(files.hosts, hosts);
  writeFileSync(files.resolver, resolver);
  return [...machineNames(name, files)].sort();
}

test("a machine has its host name, the first label, and that in .local and in its search domains", () => {
  const names = ["lab-1", "lab-1.example", "lab-1.local", "lab-1.one.example", "lab-1.two.example"];
  const resolver = "nameserver 192.0.2.1\nsearch one.example Two.example # home\n";
  expect(namesOf("Lab-1.example", "", resolver)).toEqual(names);
});

test("a machine has the names that its hosts file has beside its own, and no others", () => {
  const hosts = [
    "127.0.0.1 localhost",
    "127.0.1.1\tlab-1.example.org Lab-1 desk # evil.example",
    "127.0.0.1 ads.example",
    "192.0.2.7 lab-2 lab-10",
    "#192.0.2.8 lab-1 old.example",
  ].join("\r\n");
  expect(namesOf("lab-1", hosts, "")).toEqual(["desk", "lab-1", "lab-1.example.org", "lab-1.local"]);
});

test("without these files, a machine has its host name", () => {
  const names = machineNames("lab-1", { hosts: "/nope/hosts", resolver: "" });
  expect([...names].sort()).toEqual(["lab-1", "lab-1.local"]);
});

/** The names of a certificate with these alternative names. */
async function certificate(folder: string, alternatives: string) {
  const out = join(folder, "cert.pem");
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const names = [
    "-subj",
    "/CN=subject.example",
    ...(alternatives ? ["-addext", `subjectAltName=${alternatives}`] : []),
  ];
  const made = Bun.spawn(
    ["openssl", "req", "-x509", ...curve, ...names, "-keyout", join(folder, "key.pem"), "-out", out],
    { stdio: ["ignore", "ignore", "ignore"] },
  );
  expect(await made.exited).toBe(0);
  return certificateNames(readFileSync(out, "utf8"));
}

testWith("openssl")(
  "a certificate has its alternative names; a wildcard is one whole label, the first",
  async () => {
    using folder = temporaryFolder();
    const has = await certificate(
      folder.path,
      "DNS:Lab-1,DNS:*.wild.example,DNS:f*.part.example,IP:192.0.2.1",
    );
    const names = [
      ...["lab-1", "a.wild.example", "a.b.wild.example", "wild.example", ".wild.example", "*.wild.example"],
      ...["foo.part.example", "subject.example", "lab-1.example", "a b", "", "a\0.wild.example"],
    ];
    expect(names.filter(has)).toEqual(["lab-1", "a.wild.example"]);
  },
);

testWith("openssl")("the subject of a certificate is no name of it, even without others", async () => {
  using folder = temporaryFolder();
  const has = await certificate(folder.path, "");
  expect(has("subject.example")).toBe(false);
});

test("what is no certificate has no names", () => {
  expect(certificateNames("-----BEGIN CERTIFICATE-----\n")("lab-1")).toBe(false);
});
