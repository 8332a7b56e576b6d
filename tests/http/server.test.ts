import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { field, NO_INPUT, secret } from "../../src/core/fields";
import { operation } from "../../src/core/operation";
import { BODY_DEADLINE_MS, readJson } from "../../src/http/body";
import type { RestServerOptions } from "../../src/http/options";
import { failureResponse } from "../../src/http/responses";
import { conflict } from "../../src/lib/errors";
import { type Log, silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { claimConfigDir, findRunningServer } from "../../src/lib/running-server";
import { operations } from "../../src/operations";
import { version } from "../../src/version";
import {
  movableClock,
  nextTurn,
  post,
  runActions,
  TOKEN,
  temporaryFolder,
  testServer,
  testService,
} from "../support";

const bodyOf = async (response: Response) => (await response.json()) as Record<string, unknown>;

/** The operations of svc and one of the test. */
const withOperation = (run: () => Promise<{ done: boolean }> | { done: boolean }) => ({
  operations: [
    ...operations,
    operation({
      name: "test.own",
      summary: "Do what the test says",
      scope: "operate",
      http: { method: "POST", path: "/test" },
      input: v.strictObject({
        text: field(v.optional(v.string()), "Any text"),
        count: field(v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(9))), "A digit"),
        password: field(v.optional(secret(v.pipe(v.string(), v.maxLength(8)))), "A secret"),
      }),
      output: v.object({ done: v.boolean() }),
      run,
    }),
  ],
});

describe("public paths", () => {
  test("health is exactly {status: ok} and needs no token", async () => {
    await using host = await testServer();
    const response = await fetch(`${host.server.url}/health`);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('{"status":"ok"}');
  });

  test("take any query", async () => {
    await using host = await testServer();
    for (const path of ["/health?x=y", "/health?x=y&x=z", "/health?", "/dashboard?x=y", "/docs?x"]) {
      expect([path, (await fetch(host.server.url + path)).status]).toEqual([path, 200]);
    }
  });

  test("with fields in their query read those", async () => {
    const tide = operation({
      name: "tide.measure",
      summary: "Measure the tide",
      scope: "read",
      http: { method: "GET", path: "/tide", public: true },
      input: v.strictObject({ old: field(v.optional(v.number(), 0), "The last one") }),
      output: v.object({ old: v.number() }),
      run: (_service: object, { old }) => ({ old }),
    });
    await using host = await testServer({ service: { operations: [...operations, tide] } });
    expect(await (await fetch(`${host.server.url}/tide?old=7`)).json()).toEqual({ old: 7 });
    expect((await fetch(`${host.server.url}/tide?older=7`)).status).toBe(400);
  });

  test("are not limited", async () => {
    await using host = await testServer({ rate_limit: 1, rate_burst: 1 });
    for (let i = 0; i < 20; i++) expect((await fetch(`${host.server.url}/health`)).status).toBe(200);
  });

  test("with another method are 405 without a token", async () => {
    await using host = await testServer();
    const response = await fetch(`${host.server.url}/health`, { method: "DELETE" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});

describe("without a valid token", () => {
  test("every other known path is 401, with WWW-Authenticate", async () => {
    await using host = await testServer();
    for (const path of ["/commands", "/metrics", "/openapi.json", "/commands/x", "/execute"]) {
      const response = await fetch(host.server.url + path);
      expect([path, response.status]).toEqual([path, 401]);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(await response.json()).toEqual({ error: "unauthorized", help: "T15" });
    }
  });

  test("an unknown path is 404 however often, and no guess", async () => {
    await using host = await testServer();
    const get = (path: string) =>
      rawExchange(
        host.server.port,
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\nConnection: close\r\n\r\n`,
      );
    const unknown = [
      "/nope",
      "//",
      "/health/",
      "/commands/",
      "/dashboard/../x",
      "/dashboard/%2e%2e/x",
      "/dashboard/..\\x",
      "/dashboard/..%2fx",
      "/%",
      "/a%00b",
    ];
    for (const path of unknown) {
      const answer = await get(path);
      expect([path, answer.slice(0, 12)]).toEqual([path, "HTTP/1.1 404"]);
    }
    expect((await host.call("/commands")).status).toBe(200);
  });

  test("an unknown path spends from the limit of refused requests, with the right token too", async () => {
    await using host = await testServer({ rate_limit: 60, rate_burst: 2 });
    const statuses = async (...paths: string[]) => {
      const found: number[] = [];
      for (const path of paths) found.push((await host.call(path)).status);
      return found;
    };
    expect(await statuses("/nope", "/nope", "/nope", "/commands")).toEqual([404, 404, 429, 200]);
    expect((await fetch(`${host.server.url}/commands`)).status).toBe(429);
  });

  test("no answer to an unknown path shows whether a token is right", async () => {
    await using host = await testServer({ rate_limit: 60, rate_burst: 1 });
    const wrong = { headers: { authorization: "Bearer wrong" } };
    await host.call("/nope", wrong);
    expect((await host.call("/nope", wrong)).status).toBe(429);
    expect((await host.call("/nope")).status).toBe(429);
  });

  test("the body is not read: 401 comes before a large one has arrived", async () => {
    await using host = await testServer();
    const head = "POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n{";
    expect(await rawExchange(host.server.port, head)).toStartWith("HTTP/1.1 401");
  });

  test("eight wrong tokens lock the client out, with Retry-After", async () => {
    await using host = await testServer();
    const wrong = { headers: { authorization: "Bearer wrong" } };
    for (let i = 0; i < 8; i++) expect((await host.call("/commands", wrong)).status).toBe(401);
    const response = await host.call("/commands");
    expect(response.status).toBe(429);
    expect(Number(response.headers.get("retry-after"))).toBeWithin(1, 61);
    expect(await response.json()).toEqual({ error: "too many failed auth attempts", help: "T26" });
  });

  test("a spent bucket is 429 with Retry-After", async () => {
    await using host = await testServer({ rate_limit: 60, rate_burst: 2 });
    await host.call("/commands");
    await host.call("/commands");
    const response = await host.call("/commands");
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await response.json()).toEqual({ error: "rate limited", help: "T23" });
  });
});

describe("routing", () => {
  test("an unknown path is 404", async () => {
    await using host = await testServer();
    expect((await host.call("/nope")).status).toBe(404);
  });

  test("a known path with another method is 405 with Allow", async () => {
    await using host = await testServer();
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"]) {
      const response = await host.call("/commands", { method });
      expect([method, response.status, response.headers.get("allow")]).toEqual([method, 405, "GET, HEAD"]);
    }
    expect((await host.call("/execute")).headers.get("allow")).toBe("POST");
  });

  test("HEAD answers as GET does, without the body", async () => {
    await using host = await testServer();
    const { byteLength } = await (await host.call("/commands")).arrayBuffer();
    const response = await host.call("/commands", { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(response.headers.get("content-length")).toBe(`${byteLength}`);
    expect((await host.call("/nope", { method: "HEAD" })).status).toBe(404);
  });

  test("no answer may be sniffed, and none allows another origin", async () => {
    await using host = await testServer();
    for (const path of ["/health", "/commands", "/nope", "/metrics"]) {
      const response = await host.call(path, { headers: { origin: "https://evil.example" } });
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
    }
  });

  for (const bound of ["127.0.0.1", "0.0.0.0"]) {
    test(`bound to ${bound}, another Host is 421, which names it and what to add`, async () => {
      await using host = await testServer({ host: bound, insecure_http: true, allow_host: ["lab.example"] });
      const get = (name: string) => {
        const head = `GET /health HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`;
        return rawExchange(host.server.port, head);
      };
      const refused = await get("Rebound.example:80");
      expect(refused).toStartWith("HTTP/1.1 421");
      const { error } = JSON.parse(refused.slice(refused.indexOf("{")));
      expect(error).toBe(
        'this server does not answer to the host name "rebound.example": to accept it, start svc with --allow-host NAME',
      );
      for (const name of ["lab.example:1", "localhost", "192.0.2.1", "[::1]", hostname()]) {
        expect([name, (await get(name)).slice(9, 12)]).toEqual([name, "200"]);
      }
    });
  }
});

describe("bad input is a 400 that names the field:", () => {
  const cases: Array<[string, unknown, RegExp]> = [
    ["not JSON", "{", /body: expected JSON/],
    ["not UTF-8", new Uint8Array([0x22, 0xff, 0x22]), /body: expected JSON in UTF-8/],
    ["not an object", "[]", /expected an object but found an array/],
    ["null", "null", /expected an object but found null/],
    ["an unknown field", '{"nope":1}', /nope: unknown field/],
    ["an ill-typed field", '{"text":1}', /text: expected a text but found 1/],
    ["a number out of range", '{"count":10}', /count: expected at most 9 but found 10/],
    ["part of a whole number", '{"count":1.5}', /count: expected a whole number but found 1.5/],
    ["a field named __proto__", '{"__proto__":1}', /__proto__: unknown field/],
  ];
  for (const [name, body, message] of cases) {
    test(name, async () => {
      await using host = await testServer({ service: withOperation(() => ({ done: true })) });
      const response = await host.call("/test", { method: "POST", body: body as string });
      expect(response.status).toBe(400);
      expect((await bodyOf(response)).error).toMatch(message);
    });
  }

  test("a secret is not quoted", async () => {
    await using host = await testServer({ service: withOperation(() => ({ done: true })) });
    const { error } = await bodyOf(await host.call("/test", post({ password: "hunter2-and-more" })));
    expect(error).toMatch(/^password: expected/);
    expect(error).not.toContain("hunter2");
  });

  test("many unknown fields, of which the rest are counted", async () => {
    await using host = await testServer();
    const names = Array.from({ length: 100 }, (_, nth) => `f${nth}`);
    const { error } = await bodyOf(await host.call(`/commands?${names.join("&")}`));
    expect(error).toMatch(/^f0: unknown field; .*; and 91 more unknown fields$/);
  });

  test("one of very many that are wrong", async () => {
    await using host = await testServer();
    const tags = Array(100_000).fill(0);
    const { error } = await bodyOf(await host.call("/admin/hosts/tag", post({ label: "a", tags })));
    expect(error).toBe("tags: expected at most 64 items but found 100000");
  });

  test("a query on a POST", async () => {
    await using host = await testServer();
    const actions = [["AC_rest_api_status"]];
    expect((await host.call("/execute?actions=1", post({ actions }))).status).toBe(400);
  });

  test("an unknown or repeated query field", async () => {
    await using host = await testServer();
    expect(await bodyOf(await host.call("/commands?x=1"))).toMatchObject({ error: "x: unknown field" });
    expect(await bodyOf(await host.call("/commands?x=1&x=2"))).toMatchObject({
      error: "x: given more than once",
    });
  });
});

describe("a body", () => {
  const UNENDING = [
    ["a declared one", "Content-Length: 3\r\n\r\n{"],
    ["a streamed one", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"],
  ] as const;
  const readingServer = (read: (request: Request) => Promise<unknown>) => {
    const server = Bun.serve({
      port: 0,
      fetch: (request) =>
        read(request).then(
          () => new Response(),
          (failure) => failureResponse(failure),
        ),
    });
    return { port: server.port ?? 0, [Symbol.dispose]: () => void server.stop(true) };
  };

  test("over the limit is 413, declared or streamed", async () => {
    await using host = await testServer({ max_body: 1_000 });
    const declared = await host.call("/execute", { method: "POST", body: "x".repeat(1_001) });
    expect(declared.status).toBe(413);
    const chunk = `${(600).toString(16)}\r\n${"x".repeat(600)}\r\n`;
    const head = `POST /execute HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`;
    const streamed = await rawExchange(
      host.server.port,
      `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}`,
    );
    expect(streamed).toStartWith("HTTP/1.1 413");
  });

  test("of exactly the limit is read", async () => {
    await using host = await testServer({
      max_body: 1_000,
      service: withOperation(() => ({ done: true })),
    });
    const body = JSON.stringify({ text: "x".repeat(1_000 - '{"text":""}'.length) });
    expect((await host.call("/test", { method: "POST", body })).status).toBe(200);
  });

  test("of a declared length is read at once: a reader of the stream takes 320 KiB for the smallest", async () => {
    const request = new Request("http://localhost/", {
      method: "POST",
      body: "[1]",
      headers: { "content-length": "3" },
    });
    Object.defineProperty(request, "body", { get: () => expect.unreachable() });
    expect(await readJson(request, { maxBytes: 1_000 })).toEqual([1]);
  });

  for (const [kind, head] of UNENDING) {
    test(`${kind} that does not come to an end is cut off at the deadline`, async () => {
      expect(BODY_DEADLINE_MS).toBeLessThanOrEqual(10_000);
      using server = readingServer((request) => readJson(request, { maxBytes: 1_000, deadlineMs: 5 }));
      const answer = await rawExchange(server.port, `POST / HTTP/1.1\r\nHost: localhost\r\n${head}`);
      expect(answer).toStartWith("HTTP/1.1 408");
    });

    test(`${kind} whose connection ends before it does is bad input`, async () => {
      const begun = Promise.withResolvers<void>();
      const read = Promise.withResolvers<unknown>();
      using server = readingServer((request) => {
        const reading = readJson(request, { maxBytes: 1_000 });
        reading.then(read.resolve, read.resolve);
        begun.resolve();
        return reading;
      });
      const socket = connect(server.port, "127.0.0.1");
      await once(socket, "connect");
      socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\n${head}`);
      await begun.promise;
      socket.destroy();
      // `rejects` would hold up the event loop that sees the connection end.
      expect(await read.promise).toMatchObject({
        code: "bad_input",
        message: "body: the connection ended before it did",
      });
    });
  }
});

describe("a handler", () => {
  const collecting = () => {
    const lines: string[] = [];
    const log: Log = {
      info() {},
      warn() {},
      error: (text, thrown) => lines.push(`${text} ${(thrown as Error)?.stack}`),
    };
    return { lines, log };
  };

  test("that throws is a plain 500, logged with its stack, and the server goes on", async () => {
    const { lines, log } = collecting();
    const failing = withOperation(() => {
      throw new Error("a bug with a secret path /etc/x");
    });
    await using host = await testServer({ service: { ...failing, log } });
    const response = await host.call("/test", post({}));
    expect([response.status, await response.json()]).toEqual([500, { error: "internal error", help: "T28" }]);
    expect(lines.join()).toMatch(/test\.own failed: a bug.*server\.test\.ts/s);
    expect((await host.call("/commands")).status).toBe(200);
  });

  test("that fails as expected answers with its status and message", async () => {
    const failing = withOperation(() => {
      throw conflict("already there");
    });
    await using host = await testServer({ service: failing });
    const response = await host.call("/test", post({}));
    expect([response.status, await response.json()]).toEqual([409, { error: "already there" }]);
  });
});

describe("stopping", () => {
  test("lets a request in flight finish, then frees the port and the folder", async () => {
    const started = Promise.withResolvers<void>();
    const mayFinish = Promise.withResolvers<void>();
    const slow = withOperation(async () => {
      started.resolve();
      await mayFinish.promise;
      return { done: true };
    });
    const host = await testServer({ service: slow });
    const answer = host.call("/test", post({}));
    await started.promise;
    const stopped = host.server.stop();
    mayFinish.resolve();
    expect(await bodyOf(await answer)).toEqual({ done: true });
    await stopped;
    expect(existsSync(configFiles(host.configDir).runFile)).toBe(false);
    expect(findRunningServer(host.configDir)).toBeNull();
    expect(fetch(`${host.server.url}/health`)).rejects.toThrow();
    await host[Symbol.asyncDispose]();
  });

  test("twice ends when the first stop ends: requests in flight are finished for both", async () => {
    const started = Promise.withResolvers<void>();
    const mayFinish = Promise.withResolvers<void>();
    const slow = withOperation(async () => {
      started.resolve();
      await mayFinish.promise;
      return { done: true };
    });
    await using host = await testServer({ service: slow });
    const answer = host.call("/test", post({}));
    await started.promise;
    const rest = await host.service.rest();
    let stopped = 0;
    const stops = [rest.stop(), rest.stop()].map((stop) => stop.then(() => void stopped++));
    await nextTurn();
    expect(stopped).toBe(0);
    mayFinish.resolve();
    expect(await bodyOf(await answer)).toEqual({ done: true });
    await Promise.all(stops);
  });

  test("while it is starting leaves no server behind", async () => {
    const made = testService();
    const rest = await made.service.rest();
    const starting = rest.start({ port: 0 });
    await expect(rest.start({ port: 0 })).rejects.toThrow("is already starting");
    await made[Symbol.asyncDispose]();
    await expect(fetch((await starting).url)).rejects.toThrow();
  });

  test("frees the folder also when its run file cannot be removed", async () => {
    await using host = await testServer();
    const { runFile } = configFiles(host.configDir);
    rmSync(runFile);
    mkdirSync(runFile);
    const rest = await host.service.rest();
    await rest.stop();
    rmdirSync(runFile);
    await rest.start({ port: 0 });
  });

  test("does not wait for idle connections", async () => {
    const host = await testServer();
    const idle = connect(host.server.port, "127.0.0.1");
    await new Promise((resolve) => idle.once("connect", resolve));
    const closed = new Promise((resolve) => idle.once("close", resolve));
    await host[Symbol.asyncDispose]();
    idle.destroy();
    await closed;
  });
});

describe("one server a folder", () => {
  test("a second one is refused, and says on which folder", async () => {
    await using host = await testServer();
    await using other = testService({ configDir: host.configDir });
    const rest = await other.service.rest();
    expect(rest.start({ port: 0 })).rejects.toThrow(`a server already runs on ${host.configDir}`);
  });

  test("a taken port is one clear failure that leaves the folder free", async () => {
    await using host = await testServer();
    await using other = testService();
    const rest = await other.service.rest();
    await expect(rest.start({ port: host.server.port })).rejects.toThrow(
      `port ${host.server.port} on 127.0.0.1 is taken`,
    );
    await rest.start({ port: 0 });
  });

  test("one that cannot say where it answers does not go on listening", async () => {
    await using made = testService();
    const rest = await made.service.rest();
    const { runFile } = configFiles(made.configDir);
    mkdirSync(runFile, { recursive: true });
    const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const { port } = probe;
    probe.stop(true);
    await expect(rest.start({ port })).rejects.toThrow();
    rmdirSync(runFile);
    await rest.start({ port });
  });

  test("the running one is found by its file; that of a dead one is recognised, and the next server removes it", async () => {
    await using folder = await testServer();
    const { url } = folder.server;
    expect(findRunningServer(folder.configDir)).toEqual({
      host: "127.0.0.1",
      url,
      pid: process.pid,
      token_file: null,
      permits: ["server_control"],
      version,
    });
    using stale = temporaryFolder();
    mkdirSync(join(stale.path, "run"));
    writeFileSync(configFiles(stale.path).runFile, '{"url":"http://127.0.0.1:1","pid":1}');
    const before = readdirSync(stale.path, { recursive: true });
    expect(findRunningServer(stale.path)).toBeNull();
    expect(readdirSync(stale.path, { recursive: true })).toEqual(before);
    (await claimConfigDir(stale.path))?.();
    expect(existsSync(configFiles(stale.path).runFile)).toBe(false);
  });
});

describe("an option", () => {
  const cases: Array<[RestServerOptions, RegExp]> = [
    [{ port: 65_536 }, /^port: expected at most 65535 but found 65536/],
    [{ rate_limit: Number.NaN }, /^rate_limit: expected/],
    [{ rate_burst: 0 }, /^rate_burst: expected at least 1/],
    [{ max_body: -1 }, /^max_body: expected at least 1/],
    [{ host: "" }, /^host: must not be empty/],
    [{ trust_proxy: ["nowhere"] }, /^trust_proxy: expected an IP address or a CIDR block/],
    [{ tls_cert: "cert.pem" }, /^tls_key: missing/],
    [{ tls_key: "key.pem" }, /^tls_cert: missing/],
  ];
  for (const [options, message] of cases) {
    test(`out of range is refused by its name: ${JSON.stringify(options)}`, async () => {
      await using made = testService();
      const rest = await made.service.rest();
      await expect(rest.start(options)).rejects.toThrow(message);
      expect(existsSync(configFiles(made.configDir).runFile)).toBe(false);
    });
  }
});

describe("TLS", () => {
  test("files that cannot be read or are no pair are refused by name", async () => {
    await using made = testService();
    const rest = await made.service.rest();
    const missing = { tls_cert: join(made.configDir, "none.pem"), tls_key: join(made.configDir, "none.pem") };
    await expect(rest.start({ port: 0, ...missing })).rejects.toThrow(
      /tls_cert: .*none\.pem cannot be read \(ENOENT\)/,
    );
    const junk = join(made.configDir, "junk.pem");
    writeFileSync(junk, "junk");
    await expect(rest.start({ port: 0, tls_cert: junk, tls_key: junk })).rejects.toThrow(
      /tls_cert: the certificate and its key are not/,
    );
  });
});

describe("the token", () => {
  const startOn = async (configDir: string) => {
    const made = testService({ configDir });
    const server = await (await made.service.rest()).start({ port: 0, rate_limit: 0 });
    return { made, server };
  };
  const statusWith = async (url: string, token: string) =>
    (await fetch(`${url}/commands`, { headers: { authorization: `Bearer ${token}` } })).status;

  test("is made on first start (32 URL-safe characters, 0600) and survives a restart", async () => {
    using folder = temporaryFolder();
    const first = await startOn(folder.path);
    const token = first.server.token.current();
    expect(token).toMatch(/^[A-Za-z0-9_-]{32}$/);
    expect(statSync(configFiles(folder.path).token).mode & 0o777).toBe(0o600);
    await first.made[Symbol.asyncDispose]();
    const second = await startOn(folder.path);
    expect([second.server.token.current(), second.server.token.created]).toEqual([token, false]);
    await second.made[Symbol.asyncDispose]();
  });

  test("stays in force when its file cannot be looked at any more", async () => {
    using folder = temporaryFolder();
    using clock = movableClock();
    const { made, server } = await startOn(folder.path);
    const token = server.token.current();
    const { token: file } = configFiles(folder.path);
    rmSync(file);
    symlinkSync(file, file);
    clock.advance(1_010);
    expect(await statusWith(server.url, token)).toBe(200);
    await made[Symbol.asyncDispose]();
  });

  test("that no client could send is refused at the start, without being quoted", async () => {
    await using made = testService();
    writeFileSync(configFiles(made.configDir).token, "two words\n");
    const rest = await made.service.rest();
    await expect(rest.start({ port: 0 })).rejects.toThrow(/rest_token: expected a token of 8 to 512 visible/);
    expect(readFileSync(configFiles(made.configDir).token, "utf8")).toBe("two words\n");
  });

  test("in a file that is not readable is one clear failure", async () => {
    if (process.getuid?.() === 0) return;
    await using made = testService();
    writeFileSync(configFiles(made.configDir).token, "a-good-token");
    chmodSync(configFiles(made.configDir).token, 0);
    expect((await made.service.rest()).start({ port: 0 })).rejects.toThrow(/cannot be read \(EACCES\)/);
  });

  test("given by a caller in this process is visible to it, never over HTTP", async () => {
    await using host = await testServer();
    expect(host.server.token.current()).toBe(TOKEN);
    const response = await host.call("/execute", post({ actions: [["AC_rest_api_status"]] }));
    expect(await bodyOf(response)).toMatchObject({
      result: { 'execute: ["AC_rest_api_status"]': { running: true, url: host.server.url, token: null } },
    });
    expect(await statusWith(host.server.url, TOKEN)).toBe(200);
  });
});

test("a warning says that tokens travel unencrypted, also when an action started the server", async () => {
  const warnings: string[] = [];
  await using made = testService({ log: { ...silentLog, warn: (text) => warnings.push(text) } });
  await runActions(made.service, [["AC_rest_api_start", { host: "0.0.0.0", port: 0, insecure_http: true }]]);
  expect(warnings).toEqual([expect.stringMatching(/^0\.0\.0\.0 is reachable .* unencrypted/)]);
});

test("an operation without a route is not reachable over HTTP", async () => {
  await using host = await testServer({
    service: {
      operations: [
        operation({
          name: "test.hidden",
          summary: "Be called by nobody",
          scope: "read",
          input: NO_INPUT,
          output: v.null(),
          run: () => null,
        }),
      ],
    },
  });
  expect((await host.call("/commands")).status).toBe(404);
});

/** Sends `bytes` as they are and gives what comes back until the server closes, or its head has come. */
function rawExchange(port: number, bytes: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let received = "";
  const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
  socket.on("data", (data) => {
    received += data.toString("latin1");
    if (received.includes("\r\n\r\n")) socket.destroy();
  });
  socket.on("error", reject);
  socket.on("close", () => resolve(received));
  return promise;
}
