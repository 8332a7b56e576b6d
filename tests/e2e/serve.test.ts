import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { $ } from "bun";
import { version } from "../../package.json";
import { configFiles } from "../../src/lib/paths";
import { temporaryFolder, testWith, until } from "../support";
import { type Installed, installedBinary, type Running } from "./binary";

let svc: Installed;
beforeAll(() => {
  svc = installedBinary();
});
afterAll(() => svc[Symbol.dispose]());

/** Flags for a `{config_dir}` of its own. */
function ownFolder(): Disposable & { readonly path: string; readonly flags: string[] } {
  const folder = temporaryFolder();
  const path = join(folder.path, "config");
  return {
    path,
    flags: ["--config-dir", path, "--port", "0"],
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const tokenIn = (configDir: string) => readFileSync(configFiles(configDir).token, "utf8").trim();
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const asking = (url: string, token: string, path = "/commands", init: RequestInit = {}) =>
  fetch(url + path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });

test("--version prints the version and the commit", async () => {
  const { stdout, exitCode } = await svc.run(["--version"]);
  expect(stdout).toMatch(new RegExp(`^svc ${RegExp.escape(version)} \\([0-9a-f]{7,40}(-dirty)?\\)\n$`));
  expect(exitCode).toBe(0);
});

test("--enable-audit is --audit, and does not go with --no-audit", async () => {
  for (const [flag, kept] of [
    ["--enable-audit", true],
    ["--no-enable-audit", false],
  ] as const) {
    using own = ownFolder();
    await using server = await svc.serve([...own.flags, flag]);
    expect((await asking(server.url, tokenIn(own.path), "/audit/list")).status).toBe(kept ? 200 : 503);
  }
  using own = ownFolder();
  expect(await svc.run(["serve", ...own.flags, "--enable-audit", "--no-audit"])).toMatchObject({
    exitCode: 2,
    stderr: "svc: --audit, --enable-audit: expected one of them\n",
  });
});

describe("the first line", () => {
  test("is JSON with --json, printed once connections are accepted", async () => {
    using own = ownFolder();
    await using server = await svc.serve(own.flags);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect(JSON.parse(server.firstLine)).toEqual({
      url: `http://127.0.0.1:${server.port}`,
      host: "127.0.0.1",
      port: server.port,
      pid: server.pid,
      pin: null,
      token_file: configFiles(own.path).token,
    });
    expect(server.firstLine.split("\n")).toHaveLength(2);
  });

  test("is for a person without it: where, the dashboard, the token's file but not the token", async () => {
    using own = ownFolder();
    const child = Bun.spawn([svc.binary, "serve", ...own.flags], { stdio: ["ignore", "pipe", "inherit"] });
    const { value } = await child.stdout.getReader().read();
    child.kill();
    const text = new TextDecoder().decode(value);
    expect(text).toMatch(/answers at http:\/\/127\.0\.0\.1:\d+\n/);
    expect(text).toMatch(/dashboard +http:\/\/127\.0\.0\.1:\d+\/dashboard\n/);
    expect(text).toContain(configFiles(own.path).token);
    expect(text).not.toContain(tokenIn(own.path));
    await child.exited;
    expect(child.signalCode).toBe("SIGTERM");
  });

  testWith("script")("shows the token of a first start, and only that, on a terminal", async () => {
    using own = ownFolder();
    const onTerminal = async () => {
      const line = [svc.binary, "serve", ...own.flags].join(" ");
      const child = Bun.spawn(["script", "-qec", line, "/dev/null"], { stdio: ["pipe", "pipe", "inherit"] });
      let text = "";
      let interrupted = false;
      for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        if (interrupted || !text.includes("(svc token show)\r\n")) continue;
        interrupted = true;
        child.stdin.write("\x03");
        child.stdin.flush();
      }
      await child.exited;
      return text;
    };
    const first = await onTerminal();
    expect(first).toContain(tokenIn(own.path));
    expect(await onTerminal()).not.toContain(tokenIn(own.path));
  });
});

describe("a start that fails is one error and exit code 1:", () => {
  const refusal = async (...flags: string[]) => {
    const { exitCode, stdout, stderr } = await svc.run(["serve", "--json", ...flags]);
    expect([exitCode, stderr]).toEqual([1, ""]);
    return JSON.parse(stdout).error;
  };

  test("a taken port", async () => {
    using own = ownFolder();
    using other = ownFolder();
    await using server = await svc.serve(own.flags);
    const said = await refusal("--config-dir", other.path, "--port", String(server.port));
    expect(said).toBe(`port ${server.port} on 127.0.0.1 is taken`);
  });

  test("a second server on the same folder", async () => {
    using own = ownFolder();
    await using _server = await svc.serve(own.flags);
    expect(await refusal(...own.flags)).toBe(`a server already runs on ${own.path}`);
  });

  test("a certificate that is not there", async () => {
    using own = ownFolder();
    const said = await refusal(...own.flags, "--tls-cert", "/nope.pem", "--tls-key", "/nope.pem");
    expect(said).toBe("--tls-cert: /nope.pem cannot be read (ENOENT)");
  });

  test("a folder that cannot be made", async () => {
    const file = join(svc.folder, "a-file");
    writeFileSync(file, "");
    expect(await refusal("--config-dir", join(file, "config"), "--port", "0")).toContain("a-file");
  });
});

describe("what is wrong with the command line is exit code 2:", () => {
  const cases: Array<[string[], RegExp]> = [
    [["--port", "x"], /--port: expected a number/],
    [["--port", "70000"], /port: expected at most 65535 but found 70000/],
    [["--rate-limit", "-1"], /rate-limit: expected at least 0/],
    [["--nope"], /nope/],
    [["--tls-cert", "/x"], /tls-key: missing/],
    [["--trust-proxy", "10.0.0.0/33"], /trust-proxy: expected/],
    [["--inbox", "/dev/null"], /inbox: \/dev\/null cannot be made \(EEXIST\)/],
  ];
  for (const [flags, message] of cases) {
    test(flags.join(" "), async () => {
      using own = ownFolder();
      const { exitCode, stderr } = await svc.run(["serve", "--config-dir", own.path, ...flags]);
      expect([exitCode, stderr.trimEnd().split("\n").length]).toEqual([2, 1]);
      expect(stderr).toMatch(message);
    });
  }
});

describe("the process", () => {
  test("keeps its arguments, and hides them from its children", async () => {
    if (process.platform !== "linux") return;
    using own = ownFolder();
    await using server = await svc.serve([...own.flags, "--max-body", "20", "--allow-host", "lab.example"]);
    const line = readFileSync(`/proc/${server.pid}/cmdline`, "utf8").split("\0");
    expect(line.slice(1, 3)).toEqual(["serve", "--json"]);
    expect(line).toContain("lab.example");
    const token = tokenIn(own.path);
    const large = await asking(server.url, token, "/execute", { method: "POST", body: " ".repeat(21) });
    expect(large.status).toBe(413);
  });

  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGINT", 130],
    ["SIGHUP", 129],
  ] as const) {
    test(`finishes what is in flight on ${signal}, then ends by it and leaves no run file`, async () => {
      using own = ownFolder();
      await using server = await svc.serve([...own.flags, "--rate-limit", "0"]);
      const answer = asking(server.url, tokenIn(own.path), "/execute", {
        method: "POST",
        body: '{"actions":[["AC_sleep",{"seconds":0.5}]]}',
      });
      await running(server, tokenIn(own.path));
      server.kill(signal);
      await refusesConnections(server);
      expect(await (await answer).json()).toMatchObject({ ok: true });
      expect(await server.exited).toBe(code);
      expect(existsSync(configFiles(own.path).runFile)).toBe(false);
      expect(await server.stderr).toBe("");
    });
  }

  test("says on stderr when tokens would travel unencrypted", async () => {
    using own = ownFolder();
    await using server = await svc.serve([...own.flags, "--host", "0.0.0.0", "--insecure-http"]);
    server.kill("SIGTERM");
    expect(await server.stderr).toMatch(/0\.0\.0\.0 is reachable .* unencrypted/);
  });

  test("goes on when what it logs cannot be written", async () => {
    if (process.platform !== "linux") return;
    using own = ownFolder();
    const line = [svc.binary, "serve", "--json", ...own.flags, "--host", "0.0.0.0", "--insecure-http"].join(
      " ",
    );
    const child = Bun.spawn(["sh", "-c", `exec ${line} 2>/dev/full`], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const { value } = await child.stdout.getReader().read();
    const { url }: { url: string } = JSON.parse(new TextDecoder().decode(value));
    for (let nth = 0; nth < 50; nth++) expect((await fetch(`${url}/health`)).status).toBe(200);
    child.kill();
    expect(await child.exited).toBe(143);
  });

  test("that was killed leaves a run file that is stale, and the next one replaces it", async () => {
    using own = ownFolder();
    const first = await svc.serve(own.flags);
    const { runFile } = configFiles(own.path);
    expect(JSON.parse(readFileSync(runFile, "utf8"))).toMatchObject({ url: first.url, pid: first.pid });
    await first[Symbol.asyncDispose]();
    expect(existsSync(runFile)).toBe(true);
    const asked = await svc.run(["usb", "events", "--config-dir", own.path]);
    expect(asked.exitCode).toBe(1);
    await using second = await svc.serve(own.flags);
    expect(JSON.parse(readFileSync(runFile, "utf8"))).toMatchObject({ url: second.url, pid: second.pid });
  });
});

describe("the folder and the token", () => {
  test("are private, whatever the umask", async () => {
    using own = ownFolder();
    const umask = process.umask(0);
    try {
      await using _server = await svc.serve(own.flags);
      expect([own.path, join(own.path, "run")].map(modeOf)).toEqual(["700", "700"]);
      expect([tokenIn(own.path).length, modeOf(configFiles(own.path).token)]).toEqual([32, "600"]);
      expect(modeOf(configFiles(own.path).runFile)).toBe("600");
    } finally {
      process.umask(umask);
    }
  });

  test("a rotated token is accepted at once, and the old token is refused then", async () => {
    using own = ownFolder();
    await using server = await svc.serve(own.flags);
    const old = tokenIn(own.path);
    expect((await asking(server.url, old)).status).toBe(200);
    const rotated = await svc.run(["token", "rotate", "--config-dir", own.path]);
    const token = rotated.stdout.trim();
    expect(token).not.toBe(old);
    expect((await asking(server.url, token)).status).toBe(200);
    expect((await asking(server.url, old)).status).toBe(401);
    expect((await svc.run(["token", "show", "--config-dir", own.path])).stdout).toBe(`${token}\n`);
  });

  test("a token for a scraper is accepted at once, and revoked by name", async () => {
    using own = ownFolder();
    await using server = await svc.serve(own.flags);
    const run = (...args: string[]) => svc.run(["token", ...args, "--config-dir", own.path]);
    const token = (await run("add", "prometheus", "--scope", "metrics")).stdout.trim();
    const status = async () => (await asking(server.url, token, "/metrics")).status;
    expect(await status()).toBe(200);
    expect((await asking(server.url, token, "/commands")).status).toBe(403);
    expect((await run("list")).stdout).toMatch(
      /^NAME +ID +SCOPES +CREATED +EXPIRES +LAST USED +OLD ONE ENDS\nprometheus +\w{8} +metrics +2/,
    );
    expect(await run("add", "prometheus", "--scope", "read")).toMatchObject({
      exitCode: 1,
      stdout: "",
      stderr: "svc: name: prometheus is already taken\n",
    });
    expect(await run("add", "x", "--scope", "root")).toMatchObject({ exitCode: 2, stdout: "" });
    expect((await run("add", "a b", "--scope", "read")).stderr).toContain("name: ");
    expect((await run("remove", "prometheus")).stdout).toBe("prometheus removed\n");
    expect(await status()).toBe(401);
  });

  test("SVC_TOKEN comes before --token-file, that before {config_dir}", async () => {
    using own = ownFolder();
    mkdirSync(own.path, { mode: 0o700 });
    const file = join(own.path, "mine");
    writeFileSync(file, "token-of-the-file\n", { mode: 0o600 });
    {
      await using server = await svc.serve([...own.flags, "--token-file", file], {
        SVC_TOKEN: "token-of-the-environment",
      });
      expect((await asking(server.url, "token-of-the-environment")).status).toBe(200);
      expect(JSON.parse(server.firstLine).token_file).toBeNull();
    }
    await using server = await svc.serve([...own.flags, "--token-file", file]);
    expect((await asking(server.url, "token-of-the-file")).status).toBe(200);
    const token = (verb: string) => svc.run(["token", verb, "--config-dir", own.path]);
    expect((await token("show")).stdout).toBe("token-of-the-file\n");
    expect((await token("rotate")).stdout).toBe(readFileSync(file, "utf8"));
    expect(existsSync(configFiles(own.path).token)).toBe(false);
  });
});

describe("over the wire", () => {
  let own: ReturnType<typeof ownFolder>;
  let server: Running;
  beforeAll(async () => {
    own = ownFolder();
    server = await svc.serve([...own.flags, "--rate-limit", "0"]);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    own[Symbol.dispose]();
  });

  test("HEAD, 405 with Allow, 404, 413 and 421 are what they are from the source tree", async () => {
    const token = tokenIn(own.path);
    const head = await asking(server.url, token, "/commands", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    const wrongMethod = await asking(server.url, token, "/execute");
    expect([wrongMethod.status, wrongMethod.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await asking(server.url, token, "/nope")).status).toBe(404);
    const large = { method: "POST", body: "x".repeat(1_000_001) };
    expect((await asking(server.url, token, "/execute", large)).status).toBe(413);
    const socket = await open(server.port);
    socket.write("GET /health HTTP/1.1\r\nHost: rebound.example\r\n\r\n");
    expect(await socket.until("\r\n\r\n")).toStartWith("HTTP/1.1 421");
  });

  test("a body without a length is cut off at the limit", async () => {
    const socket = await open(server.port);
    const head = `POST /execute HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${tokenIn(own.path)}\r\n`;
    socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    for (let i = 0; i < 17; i++) socket.write(chunk);
    expect(await socket.until("\r\n\r\n")).toStartWith("HTTP/1.1 413");
  });

  test("clients that dawdle are cut off, and others are answered meanwhile", async () => {
    const token = tokenIn(own.path);
    const head = `POST /execute HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n`;
    const dawdlers: Record<string, { first: string; drip?: string }> = {
      "says nothing": { first: "" },
      "stops within its headers": { first: "GET /health HTTP/1.1\r\nHost: loc" },
      "drips its headers": { first: "GET /health HTTP/1.1\r\n", drip: "X-A: b\r\n" },
      "stops within its body": { first: `${head}Content-Length: 100\r\n\r\n{` },
      "drips its body": { first: `${head}Content-Length: 100000\r\n\r\n{`, drip: " " },
      "asks and does not come back": { first: "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" },
    };
    const cutOff = Object.values(dawdlers).map(async ({ first, drip }) => {
      const socket = await open(server.port);
      socket.write(first);
      const dripping = drip ? setInterval(() => socket.write(drip), 500) : undefined;
      await socket.closed;
      clearInterval(dripping);
    });
    for (let i = 0; i < 20; i++) expect((await asking(server.url, token)).status).toBe(200);
    await Promise.all(cutOff);
  }, 180_000);
});

describe("TLS", () => {
  testWith("openssl")("is spoken with the given pair, and nothing else on that port", async () => {
    using own = ownFolder();
    mkdirSync(own.path);
    const [cert, key] = [join(own.path, "cert.pem"), join(own.path, "key.pem")];
    await $`openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout ${key} -out ${cert}`.quiet();
    await using server = await svc.serve([...own.flags, "--tls-cert", cert, "--tls-key", key]);
    expect(server.url).toStartWith("https://127.0.0.1:");
    const health = await fetch(`${server.url}/health`, { tls: { ca: readFileSync(cert, "utf8") } });
    expect(await health.text()).toBe('{"status":"ok"}');
    await expect(fetch(`http://127.0.0.1:${server.port}/health`)).rejects.toThrow();
  });
});

/** A TCP connection to loopback. */
async function open(port: number) {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  const more = new EventTarget();
  socket.on("data", (data) => {
    received += data.toString("latin1");
    more.dispatchEvent(new Event("data"));
  });
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await new Promise((resolve) => socket.once("connect", resolve));
  return {
    closed,
    write: (text: string) => socket.write(text),
    /** All that came, once it holds `text`. */
    async until(text: string): Promise<string> {
      while (!received.includes(text)) {
        await Promise.race([
          new Promise((resolve) => more.addEventListener("data", resolve, { once: true })),
          closed.then(() => {
            if (!received.includes(text)) throw new Error(`closed after ${JSON.stringify(received)}`);
          }),
        ]);
      }
      return received;
    },
  };
}

/** Resolves once a run is active. */
const running = ({ url }: Running, token: string) =>
  until("a run to be active", async () => {
    const { runs }: { runs: unknown[] } = JSON.parse(await (await asking(url, token, "/runs")).text());
    return runs.length > 0;
  });

/** Resolves once `server` accepts no more connections. */
const refusesConnections = ({ port }: Running) =>
  until("connections to be refused", () => {
    const { promise: refused, resolve } = Promise.withResolvers<boolean>();
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(true));
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
    return refused;
  });
