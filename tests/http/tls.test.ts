import { describe, expect, setSystemTime, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { callLocalServer } from "../../src/client/local-server";
import { callOperation } from "../../src/core/call";
import { localCaller } from "../../src/core/caller";
import { listCommands } from "../../src/host/runs/operations/commands";
import { type Log, silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { findRunningServer } from "../../src/lib/running-server";
import { spkiPin } from "../../src/lib/spki";
import { makeCertificate, makeKey, parseKey } from "../../src/trust/certificate";
import { certificate, renew, status } from "../../src/trust/operations/tls";
import { nextPin } from "../../src/trust/tls";
import { selfSigned } from "../client/support";
import { post, TOKEN, temporaryFolder, testServer, testService, testWith, until } from "../support";

/** The certificate that a new connection gets, DER. */
async function certificateAt(port: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
    resolve(socket.getPeerCertificate().raw);
    socket.destroy();
  });
  socket.on("error", reject);
  return promise;
}

const pinAt = async (port: number) => spkiPin(await certificateAt(port));

/** A pair in files, which {@link replace} replaces as an operator's tool does. */
function pairFiles(folder: string) {
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const replace = (name: string) => {
    const made = makeKey();
    writeFileSync(key, made);
    writeFileSync(cert, makeCertificate(parseKey(made), name, [name], new Date()));
    return spkiPin(readFileSync(cert));
  };
  return { options: { tls_cert: cert, tls_key: key }, cert, key, pin: replace("one.example"), replace };
}

/** A log that keeps what it is given. */
function keptLog(): Log & { readonly lines: string[] } {
  const lines: string[] = [];
  const keep = (text: string) => void lines.push(text);
  return { ...silentLog, info: keep, warn: keep, error: keep, lines };
}

describe("whether a server speaks TLS", () => {
  const cases: Array<[object, "http:" | "https:"]> = [
    [{}, "http:"],
    [{ tls: true }, "https:"],
    [{ host: "localhost" }, "http:"],
    [{ host: "0.0.0.0" }, "https:"],
    [{ host: "::" }, "https:"],
    [{ host: "0.0.0.0", insecure_http: true }, "http:"],
  ];
  for (const [options, protocol] of cases) {
    test(`with ${JSON.stringify(options)} it is ${protocol}`, async () => {
      await using host = await testServer(options);
      const { url, pin } = host.server;
      expect(new URL(url).protocol).toBe(protocol);
      expect(pin()).toEqual(protocol === "https:" ? expect.stringMatching(/^spki:.{43}$/) : undefined);
      const answer = await fetch(`${url}/health`, { tls: { rejectUnauthorized: false } });
      expect(await answer.json()).toEqual({ status: "ok" });
      // Whoever joins a desk has a pin already.
      expect(existsSync(configFiles(host.configDir).tlsKey)).toBe(true);
    });
  }

  const refused: Array<[object, string]> = [
    [{ tls: true, insecure_http: true }, "insecure_http: expected without tls"],
    [
      { tls_cert: "/c.pem", tls_key: "/k.pem", insecure_http: true },
      "insecure_http: expected without tls_cert",
    ],
    [{ client_ca: "/ca.pem" }, "client_ca: expected with TLS: give tls as well"],
    [{ host: "0.0.0.0", client_ca: "/none/ca.pem" }, "client_ca: /none/ca.pem cannot be read (ENOENT)"],
    [{ tls_cert: "/c.pem" }, "tls_key: missing: a certificate and its key are given together"],
  ];
  for (const [options, message] of refused) {
    test(`${JSON.stringify(options)} is refused`, async () => {
      await using made = testService();
      const starting = (await made.service.rest()).start({ port: 0, ...options });
      await expect(starting).rejects.toThrow(message);
      expect(findRunningServer(made.configDir)).toBeNull();
    });
  }

  test("plain http beyond loopback is warned about at every start; TLS is not", async () => {
    for (const [options, warnings] of [
      [{ host: "0.0.0.0", insecure_http: true }, 1],
      [{ host: "0.0.0.0" }, 0],
      [{ insecure_http: true }, 0],
    ] as const) {
      const log = keptLog();
      await using host = await testServer({ ...options, service: { log } });
      expect(host.server.insecure).toBe(warnings === 1);
      expect(log.lines).toHaveLength(warnings);
    }
  });
});

describe("a running server", () => {
  const trusting = { tls: { rejectUnauthorized: false } };

  test("shows its pin, and the next key as soon as there is one", async () => {
    await using host = await testServer({ tls: true });
    const ask = async () => (await host.call("/status")).json() as Promise<Record<string, unknown>>;
    const pin = await pinAt(host.server.port);
    expect(await ask()).toMatchObject({ tls: true, pin, next_spki: null, next_from: null });
    await host.call("/tls/renew", post({ new_key: true, overlap_s: 600 }));
    const next = await nextPin(configFiles(host.configDir));
    expect(await ask()).toMatchObject({ pin, next_spki: `${next?.pin}`, next_from: `${next?.from}` });
    expect(await pinAt(host.server.port)).toBe(pin);
  });

  test("uses a renewed certificate when the call that asks for it returns", async () => {
    await using host = await testServer({ tls: true });
    const before = await certificateAt(host.server.port);
    const renewed = await host.call("/tls/renew", post({}));
    expect(await renewed.json()).toMatchObject({ pin: spkiPin(before) });
    const now = await certificateAt(host.server.port);
    expect([now.equals(before), spkiPin(now)]).toEqual([false, spkiPin(before)]);
  });

  test("renews a certificate that was made while the clock was ahead, once that is right", async () => {
    setSystemTime(new Date(Date.now() + 400 * 86_400_000));
    try {
      await using host = await testServer({ tls: true });
      const from = async () =>
        Date.parse(new X509Certificate(await certificateAt(host.server.port)).validFrom);
      expect(await from()).toBeGreaterThan(Date.now() - 2 * 86_400_000);
      setSystemTime();
      expect(await from()).toBeGreaterThan(Date.now());
      await host.server.refresh();
      expect(await from()).toBeLessThan(Date.now());
    } finally {
      setSystemTime();
    }
  });

  test("takes no announced key before its time where the clock is set ahead, and says when it will", async () => {
    try {
      await using host = await testServer({ tls: true });
      const old = await pinAt(host.server.port);
      await host.call("/tls/renew", post({ new_key: true, overlap_s: 86_400 }));
      setSystemTime(new Date(Date.now() + 2 * 86_400_000));
      await host.server.refresh();
      expect(await pinAt(host.server.port)).toBe(old);
      const next = await nextPin(configFiles(host.configDir));
      expect(Date.parse(next?.from ?? "") - Date.now()).toBeGreaterThan(86_000_000);
    } finally {
      setSystemTime();
    }
  });

  test("limits connections as before after an exchange, those of both listeners together", async () => {
    await using host = await testServer({ tls: true, max_client_connections: 4 });
    const open = new Set<TLSSocket>();
    const dial = async () => {
      const socket = connect({ host: "127.0.0.1", port: host.server.port, rejectUnauthorized: false });
      open.add(socket);
      socket.on("error", () => {}).on("close", () => open.delete(socket));
      await Promise.race([once(socket, "secureConnect"), once(socket, "close")]).catch(() => {});
    };
    await Promise.all([dial(), dial(), dial()]);
    await host.call("/tls/renew", post({}));
    await Promise.all(Array.from({ length: 12 }, dial));
    // Sooner than silence alone would end them.
    await until("the limit", () => open.size <= 4, { seconds: 8 });
    for (const socket of open) socket.destroy();
  });

  test("uses a new key at once without an overlap, and subcommands here find it", async () => {
    await using host = await testServer({ tls: true });
    process.env.SVC_TOKEN = TOKEN;
    try {
      await callLocalServer(host.configDir, listCommands, {});
      const old = host.server.pin();
      await host.call("/tls/renew", post({ new_key: true, overlap_s: 0 }));
      expect(host.server.pin()).not.toBe(old);
      expect(await pinAt(host.server.port)).toBe(`${host.server.pin()}`);
      expect(findRunningServer(host.configDir)?.pin).toBe(host.server.pin());
      expect((await callLocalServer(host.configDir, listCommands, {})).count).toBeGreaterThan(10);
    } finally {
      delete process.env.SVC_TOKEN;
    }
  });

  test("does not answer a subcommand whose run file has another pin", async () => {
    await using host = await testServer({ tls: true });
    process.env.SVC_TOKEN = TOKEN;
    try {
      const { runFile } = configFiles(host.configDir);
      const other = spkiPin(makeCertificate(parseKey(makeKey()), "other", [], new Date()));
      writeFileSync(runFile, readFileSync(runFile, "utf8").replace(`${host.server.pin()}`, other));
      const asked = callLocalServer(host.configDir, listCommands, {});
      await expect(asked).rejects.toThrow("the key is not the pinned one");
    } finally {
      delete process.env.SVC_TOKEN;
    }
  });

  test("reads the operator's files again once both have changed, and keeps the old ones until then", async () => {
    using folder = temporaryFolder();
    const files = pairFiles(folder.path);
    const log = keptLog();
    await using host = await testServer({ ...files.options, service: { log } });
    const { port } = host.server;
    expect(await pinAt(port)).toBe(files.pin);
    const named = (name: string) =>
      fetch(`https://127.0.0.1:${port}/health`, { ...trusting, headers: { host: name } });
    expect((await named("two.example")).status).toBe(421);
    const oldKey = readFileSync(files.key);
    const next = files.replace("two.example");
    const newKey = readFileSync(files.key);
    writeFileSync(files.key, oldKey);
    await host.server.refresh();
    expect([await pinAt(port), log.lines]).toEqual([files.pin, []]);
    await host.server.refresh();
    expect(log.lines).toEqual([
      expect.stringMatching(/^the old certificate stays in use: .*belong together/),
    ]);
    writeFileSync(files.key, newKey);
    await host.server.refresh();
    expect(await pinAt(port)).toBe(next);
    expect((await named("two.example")).status).toBe(200);
    expect((await named("one.example")).status).toBe(421);
  });

  test("with the operator's files renews nothing, and says what to do", async () => {
    using folder = temporaryFolder();
    const files = pairFiles(folder.path);
    await using host = await testServer(files.options);
    const refused = await host.call("/tls/renew", post({}));
    expect(refused.status).toBe(409);
    expect(((await refused.json()) as { error: string }).error).toBe(
      `the server uses ${files.cert}: replace that file and its key, and it reads them again`,
    );
    const shown = await host.call("/tls/certificate");
    expect(await shown.json()).toMatchObject({ pem: readFileSync(files.cert, "utf8"), pin: files.pin });
  });

  test("no longer answers to a name that it was started with before", async () => {
    await using made = testService();
    const rest = await made.service.rest();
    const statusAfterStart = async (options: { allow_host?: string[] }) => {
      const { url } = await rest.start({ port: 0, tls: true, ...options });
      const answer = await fetch(`${url}/health`, { ...trusting, headers: { host: "svc.example" } });
      await rest.stop();
      return answer.status;
    };
    expect(await statusAfterStart({ allow_host: ["svc.example"] })).toBe(200);
    expect(await statusAfterStart({})).toBe(421);
  });

  test("keeps its key when the files go, and makes no other one", async () => {
    const log = keptLog();
    await using host = await testServer({ tls: true, service: { log } });
    const { tlsKey } = configFiles(host.configDir);
    const [pin, key] = [await pinAt(host.server.port), readFileSync(tlsKey)];
    rmSync(dirname(tlsKey), { recursive: true });
    for (let nth = 0; nth < 3; nth++) await host.server.refresh();
    expect([await pinAt(host.server.port), existsSync(tlsKey)]).toEqual([pin, false]);
    expect(log.lines).toEqual([
      expect.stringMatching(/^the old certificate stays in use: .*key\.pem is missing/),
    ]);
    mkdirSync(dirname(tlsKey));
    writeFileSync(tlsKey, key);
    await host.server.refresh();
    expect(await pinAt(host.server.port)).toBe(pin);
  });

  test("has a certificate with the names and addresses that it is started with", async () => {
    await using host = await testServer({ tls: true, allow_host: ["svc.example", "192.0.2.7"] });
    const body = (await (await host.call("/tls/certificate")).json()) as { names: string[] };
    for (const name of ["svc.example", "192.0.2.7", "127.0.0.1", "localhost"])
      expect(body.names).toContain(name);
  });
});

describe("without a server", () => {
  test("the pin and the certificate are those of the folder, once there are some", async () => {
    await using made = testService();
    const asking = callOperation(made.service, status, {}, localCaller(made.service, "cli"));
    await expect(asking).rejects.toThrow("there is no certificate yet: `svc serve` makes one");
    const call = (operation: typeof renew) =>
      callOperation(made.service, operation, {}, localCaller(made.service, "cli"));
    const { pin } = await call(renew);
    expect(await callOperation(made.service, status, {}, localCaller(made.service, "cli"))).toMatchObject({
      tls: null,
      pin,
    });
    const { pem } = await callOperation(made.service, certificate, {}, localCaller(made.service, "cli"));
    expect(spkiPin(pem)).toBe(pin);
  });
});

testWith("openssl")(
  "with client_ca, a client without a certificate of it gets no answer; subcommands here do",
  async () => {
    using folder = temporaryFolder();
    const client = selfSigned(folder.path, "client", "DNS:client");
    const stranger = selfSigned(folder.path, "stranger", "DNS:stranger");
    const ca = join(folder.path, "ca.pem");
    copyFileSync(client.cert, ca);
    await using host = await testServer({ tls: true, client_ca: ca });
    const health = (pair?: { cert: string; key: string }) =>
      fetch(`${host.server.url}/health`, {
        keepalive: false,
        tls: {
          rejectUnauthorized: false,
          ...(pair && { cert: readFileSync(pair.cert, "utf8"), key: readFileSync(pair.key, "utf8") }),
        },
      }).then(
        ({ status }) => status,
        () => "no answer",
      );
    expect([await health(), await health(stranger), await health(client)]).toEqual([
      "no answer",
      "no answer",
      200,
    ]);
    process.env.SVC_TOKEN = TOKEN;
    try {
      expect((await callLocalServer(host.configDir, listCommands, {})).count).toBeGreaterThan(10);
      // Also with a key of its own that is new.
      await callLocalServer(host.configDir, renew, { new_key: true, overlap_s: 0 });
      expect((await callLocalServer(host.configDir, listCommands, {})).count).toBeGreaterThan(10);
    } finally {
      delete process.env.SVC_TOKEN;
    }
    copyFileSync(stranger.cert, ca);
    await host.server.refresh();
    expect([await health(client), await health(stranger)]).toEqual(["no answer", 200]);
  },
);
