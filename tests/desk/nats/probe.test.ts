/** The test of a live server: what it finds on real ones. */
import { expect, test } from "bun:test";
import { encodeAccount, newScopedSigner, type UserPermissionsLimits } from "@nats-io/jwt";
import { nkeys } from "@nats-io/nats-core";
import type { Operator } from "../../../src/desk/nats/operator";
import { probeServer } from "../../../src/desk/nats/probe";
import type { ServerPart } from "../../../src/wire/nats/desk-part";
import { nkey } from "../../../src/wire/nats/nkeys";
import { readServerUrl } from "../../../src/wire/nats/server-url";
import { testWith } from "../../support";
import { freePort, startBundle } from "./bundle";

const TIMEOUT_MS = 30_000;

/** What the test finds at `url`, without details of what is good. */
async function found(url: string, pin: string, part?: ServerPart, monitoringPort = freePort()) {
  const parsed = readServerUrl(url);
  if (!parsed) throw new Error(url);
  const trust = { kind: "pin", pins: [pin] } as const;
  const { ok, checks } = await probeServer({
    ...{ url: parsed, trust, part, monitoringPort },
    timeoutMs: TIMEOUT_MS,
  });
  return [ok, ...checks.map((one) => (one.ok ? one.name : `${one.name}: ${one.detail}`))];
}

const RIGHTS = [
  "log in as this desk",
  "rights of a desk",
  "log in as a host",
  "rights of a host",
  "ask a host",
  "ask a host that is off",
];
const OUTSIDE = ["connect", "encrypted", "monitoring", "without credentials", "with forged credentials"];

testWith("nats-server")("a server that runs from the bundle passes", async () => {
  await using nats = await startBundle();
  const [url = ""] = nats.server.urls;
  expect(await found(url, nats.server.pin, nats.first.part)).toEqual([true, ...OUTSIDE, ...RIGHTS]);
});

testWith("nats-server")("a desk that takes no hosts in tests its own rights", async () => {
  await using nats = await startBundle();
  const { host_signer: _, ...part } = nats.first.part;
  const [url = ""] = nats.server.urls;
  expect(await found(url, nats.server.pin, part)).toEqual([true, ...OUTSIDE, ...RIGHTS.slice(0, 2)]);
});

testWith("nats-server")("a server that is open to anybody fails, and one without TLS", async () => {
  await using open = await startBundle({ change: (conf) => conf.slice(0, conf.indexOf("# Who may")) });
  const [url = ""] = open.server.urls;
  const report = await found(url, open.server.pin);
  expect(report).toContain(
    "without credentials: open to anybody: the server asks for no credentials of its own",
  );
  await using plain = await startBundle({ change: (conf) => conf.replace(/^tls \{[^}]*\}/m, "") });
  const [secure = ""] = plain.server.urls;
  expect(await found(secure, plain.server.pin)).toContain(
    "encrypted: the server takes connections without TLS",
  );
});

const EVERYTHING = { subs: -1, data: -1, payload: -1, pub: { allow: [">"] }, sub: { allow: [">"] } };

/** The configuration of a server whose account gives those whom its keys sign what `template` says. */
const giving = (template: Partial<UserPermissionsLimits>) => async (conf: string, keys: Operator) => {
  const limits = {
    subs: -1,
    data: -1,
    payload: -1,
    imports: -1,
    exports: -1,
    wildcards: true,
    conn: -1,
    leaf: 0,
  };
  const signing_keys = [keys.host_signer, keys.desk_signer].map((seed) =>
    newScopedSigner(nkeys.fromPublic(nkey(seed).id), "any", { ...EVERYTHING, ...template }),
  );
  const account = await encodeAccount(
    "FLEET",
    nkeys.fromPublic(keys.account),
    { signing_keys, limits },
    { signer: nkeys.fromSeed(Buffer.from(keys.operator)) },
  );
  return conf.replace(new RegExp(`${keys.account}: .*`), `${keys.account}: ${account}`);
};

testWith("nats-server")("a server that gives hosts more rights than theirs fails", async () => {
  await using nats = await startBundle({ change: giving({}) });
  const [url = ""] = nats.server.urls;
  const report = await found(url, nats.server.pin, nats.first.part);
  expect(report).toContainEqual(
    expect.stringMatching(
      /^rights of a host: it may subscribe >, subscribe svc\.v1\.>, subscribe svc\.v1\.host\.\*\.ask and 14 more$/,
    ),
  );
  expect(report).toContainEqual(expect.stringMatching(/^rights of a desk: it may subscribe >, /));
});

testWith("nats-server")(
  "rights are tried one after the other, also where few subscriptions are allowed",
  async () => {
    await using nats = await startBundle({ change: giving({ subs: 2 }) });
    const [url = ""] = nats.server.urls;
    expect(await found(url, nats.server.pin, nats.first.part)).toContainEqual(
      expect.stringMatching(/^rights of a host: it may .* and 14 more$/),
    );
  },
);

testWith("nats-server")(
  "a server that ends connections is not said to be silent, or to allow much",
  async () => {
    // Without room for a single subscription, it says so and ends the connection within some milliseconds.
    await using nats = await startBundle({ change: giving({ subs: 0 }) });
    const [url = ""] = nats.server.urls;
    const report = (await found(url, nats.server.pin, nats.first.part)).join("\n");
    expect(report).toMatch(/^false\n/);
    expect(report).not.toContain("no answer within");
    expect(report).not.toContain("it may");
  },
);

testWith("nats-server")("a server that shows anybody who is connected fails", async () => {
  const port = freePort();
  await using nats = await startBundle({ change: (conf) => `${conf}\nhttp: "127.0.0.1:${port}"\n` });
  const [url = ""] = nats.server.urls;
  expect(await found(url, nats.server.pin, undefined, port)).toContain(
    `monitoring: anybody sees who is connected at http://127.0.0.1:${port}: let it listen on 127.0.0.1`,
  );
});

testWith("nats-server")("WebSockets of a server that is too old for them fail", async () => {
  const port = freePort();
  await using nats = await startBundle({
    more: { websocket: true, websocket_port: port, server_version: "2.12.6" },
  });
  const report = await found(`wss://127.0.0.1:${port}`, nats.server.pin);
  expect(report.slice(1, 4)).toEqual(["connect", "encrypted", "monitoring"]);
  const [version] = (await Bun.$`nats-server --version`.text()).match(/\d+\.\d+\.\d+/) ?? [];
  if (version?.startsWith("2.9."))
    expect(report[4]).toMatch(/^version: WebSockets need 2\.11\.15 or 2\.12\.6/);
  expect(await found(`wss://127.0.0.1:${port}`, `spki:${"A".repeat(43)}`)).toEqual([
    false,
    "connect: the key is not the pinned one",
  ]);
});

test("what is no NATS server is said to be none", async () => {
  using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("hello") });
  using talker = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { open: (socket) => void socket.write("220 smtp.example.org\r\n"), data() {} },
  });
  const parsed = readServerUrl(`nats://127.0.0.1:${talker.port}`);
  if (!parsed) throw new Error("no URL");
  const trust = { kind: "system" } as const;
  const { checks } = await probeServer({ url: parsed, trust, part: undefined, timeoutMs: TIMEOUT_MS });
  expect(checks).toEqual([{ name: "connect", ok: false, detail: "not a NATS server" }]);
  // One that waits for the client to speak.
  const silent = { ...parsed, port: server.port ?? 0 };
  const late = await probeServer({ url: silent, trust, part: undefined, timeoutMs: 200 });
  expect(late.checks).toEqual([
    { name: "connect", ok: false, detail: "no greeting: a NATS server speaks first" },
  ]);
});

testWith("nats-server")("of what answers in place of the monitoring, the beginning is read", async () => {
  await using nats = await startBundle();
  let sent = 0;
  const pull = (controller: ReadableStreamDefaultController) => {
    sent += 65_536;
    controller.enqueue(Buffer.alloc(65_536, "x"));
  };
  using endless = Bun.serve({
    ...{ port: 0, hostname: "127.0.0.1" },
    fetch: () => new Response(new ReadableStream({ pull }, { highWaterMark: 0 })),
  });
  const [url = ""] = nats.server.urls;
  await found(url, nats.server.pin, undefined, endless.port);
  expect(sent).toBeGreaterThan(0);
  expect(sent).toBeLessThan(32 * 1_048_576);
});
