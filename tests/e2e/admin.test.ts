/** `svc admin` and `--on` as the compiled binary, against compiled servers and hosts that do not behave. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { PollResult } from "../../src/desk/fleet/results";
import { spkiPin } from "../../src/lib/spki";
import type { Delivery } from "../../src/wire/job/delivery";
import { answering, IDLE_SESSIONS, ok, rawServer, selfSigned } from "../client/support";
import { installBinary, post, serveBinary, TOKEN, temporaryFolder, testWith, until } from "../support";

/** What no terminal should get: controls other than line feed, C1 controls, bidirectional overrides. */
const HOSTILE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

const stack = new AsyncDisposableStack();
let hosts: ReadonlyArray<Awaited<ReturnType<typeof serveBinary>>> = [];
beforeAll(async () => {
  hosts = await Promise.all([1, 2, 3].map(() => serveBinary(["--rate-limit", "0"])));
  for (const host of hosts) stack.use(host);
}, 180_000);
afterAll(() => stack.disposeAsync(), 30_000);

/** A console whose address book has `entries`. */
async function consoleWith(
  entries: ReadonlyArray<{ label: string; base_url: string; token?: string; tags?: string[] }>,
) {
  const machine = installBinary();
  const file = join(machine.path, "hosts.json");
  writeFileSync(
    file,
    JSON.stringify({ hosts: entries.map((entry) => ({ token: TOKEN, tags: [], ...entry })) }),
  );
  const { exitCode, stdout } = await machine.run(["admin", "import", file]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${entries.length} added, 0 replaced\n` });
  return machine;
}

const threeHosts = () =>
  consoleWith(
    hosts.map(({ url }, nth) => ({ label: `lab-${nth + 1}`, base_url: url, tags: nth < 2 ? ["lab"] : [] })),
  );

describe("the token of a host", () => {
  test("is rotated by the desk that has it, also after one that crashed before it had stored the new one", async () => {
    await using host = await serveBinary(["--rate-limit", "0"]);
    using machine = installBinary();
    const add = ["token", "add", "desk", "--scope", "desk", "--config-dir", host.configDir];
    const token = (await machine.run(add)).stdout.trim();
    const file = join(machine.path, "token");
    writeFileSync(file, token);
    await machine.run(["admin", "add", "lab", host.url, "--token-file", file]);
    const send = (path: string, init: RequestInit = {}) =>
      host.call(path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
    // The answer is lost.
    await send("/token/renew", post({}));
    const { stdout, stderr, exitCode } = await machine.run(["admin", "rotate", "lab"]);
    expect({ stdout, stderr, exitCode }).toEqual({
      stdout: expect.stringMatching(/^lab: the token desk is replaced; old ones work until \S+Z\n$/),
      stderr: "",
      exitCode: 0,
    });
    const { stdout: bundle } = await machine.run(["config", "export", "-"]);
    expect(bundle).toContain('"lab"');
    expect(bundle).not.toContain(token);
    expect((await machine.run(["admin", "poll"])).exitCode).toBe(0);
    expect((await send("/jobs")).status).toBe(200);
    expect((await send("/token/renew", post({}))).status).toBe(403);
  }, 180_000);

  test("is sent once by all commands of the desk, when the host refuses it", async () => {
    await using host = await serveBinary(["--rate-limit", "0"]);
    using machine = await consoleWith([{ label: "lab", base_url: host.url, token: "not-its-token" }]);
    const watching = Bun.spawn(["./svc", "admin", "poll", "--watch", "--interval", "0.1", "--json"], {
      cwd: machine.path,
      env: { ...process.env, SVC_CONFIG_DIR: "config" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const errors: Array<string | null> = [];
    let rest = "";
    for await (const piece of watching.stdout) {
      const lines = (rest + new TextDecoder().decode(piece)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) errors.push((JSON.parse(line) as PollResult[])[0]?.error ?? null);
      if (errors.length >= 12) break;
    }
    watching.kill();
    await watching.exited;
    const again = "HTTP 401: unauthorized (not asked again: `svc admin poll --ask-again` asks)";
    expect(errors.slice(0, 12)).toEqual(["HTTP 401", ...Array<string>(11).fill(again)]);
    for (const args of [
      ["admin", "poll"],
      ["admin", "broadcast", '[["AC_rest_api_status"]]', "--on", "lab"],
      ["history", "--on", "lab"],
      ["admin", "rotate", "lab"],
    ]) {
      const { stdout, stderr, exitCode } = await machine.run(args);
      expect([args[1], stdout + stderr, exitCode]).toEqual([args[1], expect.stringContaining(again), 1]);
    }
    expect(await (await host.call("/metrics")).text()).toContain("service_rest_failed_auth_total 1\n");
  }, 180_000);
});

describe("a mixed fleet", () => {
  test("is polled whole: each host has its state, and no host can do harm", async () => {
    const { promise: never } = Promise.withResolvers<void>();
    await using stranger = await answering(ok(IDLE_SESSIONS));
    await using hanging = await rawServer(() => never);
    await using redirecting = await answering(
      `HTTP/1.1 302 Found\r\nLocation: ${stranger.url}/sessions\r\nContent-Length: 0\r\n\r\n`,
    );
    await using html = await answering(ok("<html><body>It works!</body></html>", "text/html"));
    await using escaping = await answering(
      ok(JSON.stringify({ error: "\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e" })).replace(
        "200 OK",
        "500 Oh",
      ),
    );
    let poured = 0;
    await using pouring = await rawServer((socket) => {
      const block = Buffer.alloc(65_536, "a");
      const pour = () => {
        while (!socket.destroyed && poured < 1e9 && socket.write(block)) poured += block.length;
      };
      socket.on("drain", pour).once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40000000\r\n");
        pour();
      });
    });
    const [first = { url: "" }, second = { url: "" }] = hosts;
    using machine = await consoleWith([
      { label: "good", base_url: first.url },
      { label: "hanging", base_url: hanging.url },
      { label: "wrong token", base_url: second.url, token: "not-the-token" },
      { label: "refusing", base_url: "http://127.0.0.1:1" },
      { label: "redirecting", base_url: redirecting.url },
      { label: "pouring", base_url: pouring.url },
      { label: "escaping", base_url: escaping.url },
      { label: "html", base_url: html.url },
      { label: "also good", base_url: `${second.url}/` },
    ]);

    const ended = await machine.run(["admin", "poll", "--json", "--timeout", "1", "--concurrency", "2"]);
    expect(ended.exitCode).toBe(1);
    const results: PollResult[] = JSON.parse(ended.stdout);
    expect(results.map(({ label, healthy, error }) => [label, healthy, error])).toEqual([
      ["good", true, null],
      ["hanging", false, "timeout after 1 s"],
      ["wrong token", false, "HTTP 401"],
      ["refusing", false, "connection refused"],
      ["redirecting", false, "HTTP 302"],
      ["pouring", false, "answer larger than 1 MiB"],
      ["escaping", false, "HTTP 500: \\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202e"],
      ["html", false, "not a svc host"],
      ["also good", true, null],
    ]);
    expect(results[0]).toMatchObject({ sessions: JSON.parse(IDLE_SESSIONS), base_url: first.url });
    expect(stranger.seen).toEqual([]);
    expect(poured).toBeLessThan(100e6);

    const table = await machine.run(["admin", "poll", "--timeout", "1"]);
    expect(table.stdout).toContain("2 of 9 healthy\n");
    // The time until svc gave up says nothing about a host that is down.
    expect(table.stdout).toMatch(/^good +healthy +[\d.]+ ms /m);
    expect(table.stdout).toMatch(/^refusing +DOWN +- /m);
    expect(table.stdout + table.stderr).not.toMatch(HOSTILE);
    expect(table.stdout + ended.stdout + ended.stderr).not.toContain(TOKEN);
    expect((await machine.run(["admin", "poll", "--on", "good,also good"])).exitCode).toBe(0);
  });

  test("is polled with as many connections as there may be: one too many would look like a host that refuses", async () => {
    const { promise: never } = Promise.withResolvers<void>();
    await using hanging = await rawServer(() => never);
    const [{ url } = { url: "" }] = hosts;
    using machine = await consoleWith([
      ...Array.from({ length: 150 }, (_, nth) => ({ label: `dead-${nth}`, base_url: hanging.url })),
      ...Array.from({ length: 20 }, (_, nth) => ({ label: `good-${nth}`, base_url: url })),
    ]);
    const script = "ulimit -n 128; ./svc admin poll --json --timeout 1";
    const polled = Bun.spawn(["sh", "-c", script], {
      cwd: machine.path,
      env: { ...process.env, SVC_CONFIG_DIR: "config" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const results = (await polled.stdout.json()) as PollResult[];
    const errors = new Set(results.map(({ label, error }) => `${label.replace(/-.*/, "")}: ${error}`));
    expect(errors).toEqual(new Set(["dead: timeout after 1 s", "good: null"]));
  }, 180_000);

  testWith("openssl")("over https, by its authority or its pin", async () => {
    using folder = temporaryFolder();
    const { cert, key, sha256 } = selfSigned(folder.path, "host", "IP:127.0.0.1");
    await using host = await serveBinary(["--tls-cert", cert, "--tls-key", key]);
    using machine = installBinary();
    const token = join(folder.path, "token");
    writeFileSync(token, `${TOKEN}\n`);
    const add = (label: string, ...trust: string[]) =>
      machine.run(["admin", "add", label, host.url, "--token-file", token, ...trust]);
    const refused = await add("plain");
    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      `svc: --pin: missing: the certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT). The pin of ${host.url} seems to be ${spkiPin(readFileSync(cert, "utf8"))}: compare it with what \`svc pin\` prints on that host, then give it (svc help T64)\n`,
    ]);
    expect((await add("first", "--trust-first")).stdout).toContain(spkiPin(readFileSync(cert, "utf8")));
    writeFileSync(join(folder.path, "plain.csv"), `label,base_url,token\nplain,${host.url},${TOKEN}\n`);
    await machine.run(["admin", "import", join(folder.path, "plain.csv")]);
    expect((await add("by authority", "--ca", cert)).exitCode).toBe(0);
    expect((await add("by pin", "--pin", `sha256:${sha256}`)).exitCode).toBe(0);
    expect((await add("by wrong pin", "--pin", `sha256:${"00".repeat(32)}`, "--unchecked")).exitCode).toBe(0);
    const { stdout } = await machine.run(["admin", "poll", "--json"]);
    expect((JSON.parse(stdout) as PollResult[]).map(({ label, error }) => [label, error])).toEqual([
      ["first", null],
      ["plain", "the certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)"],
      ["by authority", null],
      ["by pin", null],
      ["by wrong pin", "the certificate is not the pinned one"],
    ]);
  });
});

describe("the address book", () => {
  test("takes the token from standard input or a file, and never prints it", async () => {
    using machine = installBinary();
    const script = `echo ${TOKEN} | ./svc admin add --tag lab lab-01 http://127.0.0.1:1/`;
    const added = Bun.spawnSync(["sh", "-c", script], {
      cwd: machine.path,
      env: { ...process.env, SVC_CONFIG_DIR: "config" },
    });
    expect(added.stdout.toString()).toMatch(/^lab-01 +http:\/\/127\.0\.0\.1:1 +lab +this machine +-$/m);
    const file = join(machine.configDir, "admin_hosts.db");
    const add = ["admin", "add", "lab-02", "http://127.0.0.1:2"];
    expect(await machine.run([...add, "--token-file"])).toMatchObject({
      exitCode: 2,
      stderr: "svc: --token-file: expected a value\n",
    });
    expect(await machine.run(add, { env: { SVC_HOST_TOKEN: TOKEN } })).toMatchObject({ exitCode: 0 });
    expect(await machine.run(["admin", "remove", "lab-02"])).toMatchObject({ exitCode: 0 });
    expect(await machine.run(["admin", "remove", "lab-02"])).toMatchObject({
      exitCode: 1,
      stdout: "",
      stderr: "svc: no host is labelled lab-02\n",
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { stdout: bundle } = await machine.run(["config", "export", "-"]);
    expect(JSON.parse(bundle).files["admin_hosts.json"].content).toEqual({
      hosts: [{ label: "lab-01", base_url: "http://127.0.0.1:1", token: TOKEN, tags: ["lab"] }],
    });
    for (const args of [["list"], ["list", "--json"], ["export"], ["export", "-"], ["targets"], ["poll"]]) {
      const { stdout, stderr } = await machine.run(["admin", ...args]);
      expect(stdout).toContain("127.0.0.1:1");
      expect(stdout + stderr).not.toContain(TOKEN);
    }
  });

  test("that is broken is named, exit 1, and stays as it is until it is given up", async () => {
    using machine = await consoleWith([{ label: "a", base_url: "http://127.0.0.1:1" }]);
    const file = join(machine.configDir, "admin_hosts.db");
    // With it, SQLite mends the file.
    for (const beside of ["-wal", "-shm"]) rmSync(`${file}${beside}`, { force: true });
    writeFileSync(file, "{");
    writeFileSync(join(machine.path, "token"), TOKEN);
    for (const args of [["list"], ["poll"]]) {
      const { exitCode, stderr } = await machine.run(["admin", ...args]);
      expect({ exitCode, named: stderr.includes("admin_hosts.db is not a database") }).toEqual({
        exitCode: 1,
        named: true,
      });
    }
    const add = ["admin", "add", "b", "http://127.0.0.1:1", "--token-file", "token"];
    expect((await machine.run(add)).exitCode).toBe(1);
    expect(readFileSync(file, "utf8")).toBe("{");
    expect((await machine.run(["config", "set-aside", "admin_hosts.db"])).exitCode).toBe(0);
    expect((await machine.run(add)).exitCode).toBe(0);
    const [aside = ""] = [...new Bun.Glob("admin_hosts.db.broken-*").scanSync(machine.configDir)];
    expect(readFileSync(join(machine.configDir, aside), "utf8")).toBe("{");
  });

  test("is selected from by name: an unknown label is exit 2, and nothing is not everything", async () => {
    using machine = await threeHosts();
    for (const on of ["lab-9", "tag:nope", "!lab-1", "all,!all", ""]) {
      expect((await machine.run(["admin", "poll", "--on", on])).exitCode).toBe(2);
    }
    const actions = '[["AC_rest_api_status"]]';
    const unsaid = await machine.run(["admin", "broadcast", actions]);
    expect(unsaid).toMatchObject({ exitCode: 2, stderr: "svc: --on: missing: name the hosts, or all\n" });
    // Whoever forgot --retry does not mean everybody.
    const only = await machine.run(["admin", "broadcast", actions, "--on", "all", "--only", "failed"]);
    expect(only).toMatchObject({
      exitCode: 2,
      stderr: "svc: --only: expected together with retry\n",
      stdout: "",
    });
  });
});

describe("a broadcast", () => {
  const resultsIn = (file: string): Delivery[] =>
    readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  const statuses = (results: readonly Delivery[]) =>
    Object.fromEntries(results.map(({ label, status }) => [label, status]));

  test("has a line for each host and a sum; what was not ok is done again with --retry", async () => {
    const [first = { url: "" }, second = { url: "" }] = hosts;
    using machine = await consoleWith([
      { label: "good", base_url: first.url },
      { label: "dead", base_url: "http://127.0.0.1:1" },
      { label: "locked", base_url: second.url, token: "not-the-token" },
    ]);
    const output = join(machine.path, "results.jsonl");
    const actions = join(machine.path, "actions.json");
    writeFileSync(actions, '{"auto_control": [["AC_rest_api_status"]]}');
    const done = await machine.run(["admin", "broadcast", actions, "--on", "all", "--output", output]);
    expect(done.exitCode).toBe(1);
    expect(done.stdout).toMatch(/^ok +\d\S+ s {2}good/m);
    expect(done.stdout).toEndWith("3 hosts: 1 ok, 1 unreachable, 1 unauthorized\n");
    expect(statuses(resultsIn(output))).toEqual({ good: "ok", dead: "unreachable", locked: "unauthorized" });
    expect(statSync(output).mode & 0o777).toBe(0o600);

    const again = await machine.run(["admin", "broadcast", actions, "--retry", output, "--json"]);
    expect(statuses(JSON.parse(again.stdout))).toEqual({ dead: "unreachable" });
    expect((await machine.run(["admin", "remove", "dead"])).exitCode).toBe(0);
    const gone = await machine.run([
      "admin",
      "broadcast",
      actions,
      "--retry",
      output,
      "--only",
      "unreachable",
    ]);
    expect(gone).toMatchObject({ exitCode: 2, stdout: "" });
    expect(gone.stderr).toContain("no longer in the address book: dead");
    const nothing = await machine.run([
      "admin",
      "broadcast",
      actions,
      "--retry",
      output,
      "--only",
      "timeout",
    ]);
    expect(nothing).toMatchObject({ exitCode: 0, stdout: "" });
  });

  test("whose results cannot be written goes on, and is exit 1 in the end", async () => {
    using machine = await threeHosts();
    const args = ["admin", "broadcast", '[["AC_rest_api_status"]]', "--on", "all", "--output", "/dev/full"];
    const { stdout, stderr, exitCode } = await machine.run(args);
    expect(stdout).toEndWith("3 hosts: 3 ok\n");
    expect({ stderr, exitCode }).toEqual({
      stderr: "svc: --output: /dev/full cannot be written (ENOSPC) (svc help T7)\n",
      exitCode: 1,
    });
  });

  test("is checked here before any host is asked", async () => {
    using machine = await threeHosts();
    const output = join(machine.path, "results.jsonl");
    writeFileSync(output, "of the last time\n");
    const actions = '[["AC_nope"],["AC_sleep"]]';
    const ended = await machine.run(["admin", "broadcast", actions, "--on", "all", "--output", output]);
    expect(ended).toMatchObject({ exitCode: 2, stdout: "" });
    expect(readFileSync(output, "utf8")).toBe("of the last time\n");
    expect(ended.stderr).toContain(
      "script:1:3: actions[0]: unknown command AC_nope\nsvc: script:1:14: actions[1].seconds: missing",
    );
  });

  test("that is interrupted ends cleanly: each host has its result, also in the file", async () => {
    using machine = await threeHosts();
    const output = join(machine.path, "results.jsonl");
    const args = [
      "admin",
      "broadcast",
      '[["AC_sleep", [30]]]',
      "--on",
      "all",
      "--max-parallel",
      "1",
      "--output",
      output,
    ];
    const child = Bun.spawn(["./svc", ...args], {
      cwd: machine.path,
      env: { ...process.env, SVC_CONFIG_DIR: "config" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const running = async () => {
      const listed = (await (await hosts[0]?.call("/runs"))?.json()) as {
        runs: Array<{ run_id: string; status: string }>;
      };
      return listed.runs.find(({ status }) => status === "running")?.run_id;
    };
    await until("a run", running);
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    const { stdout, stderr } = { stdout: await child.stdout.text(), stderr: await child.stderr.text() };
    expect(stdout).toEndWith("3 hosts: 3 cancelled\n");
    expect(stderr).toBe("");
    const results = resultsIn(output);
    expect(results.map(({ label, status, delivered }) => [label, status, delivered])).toEqual([
      ["lab-1", "cancelled", true],
      ["lab-2", "cancelled", false],
      ["lab-3", "cancelled", false],
    ]);
    // The host has ended it.
    expect(await running()).toBeUndefined();
  });
});

describe("--watch", () => {
  const watching = (machine: Awaited<ReturnType<typeof threeHosts>>, ...args: string[]) =>
    Bun.spawn(["./svc", ...args, "--watch", "--interval", "0.1", "--json"], {
      cwd: machine.path,
      env: { ...process.env, SVC_CONFIG_DIR: "config" },
      stdio: ["ignore", "pipe", "inherit"],
    });

  test.each(["admin poll", "inspect --on lab-1"])("svc %s goes on until it is interrupted", async (line) => {
    using machine = await threeHosts();
    const child = watching(machine, ...line.split(" "));
    let lines = 0;
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      lines += text.split("\n").length - 1;
      if (lines >= 3) child.kill("SIGINT");
    }
    expect(await child.exited).toBe(130);
  });

  test("svc admin poll dials a host once, however often it polls", async () => {
    const [{ url } = { url: "" }] = hosts;
    const dialled: string[] = [];
    await using between = await rawServer((socket) => {
      const onward = connect(Number(new URL(url).port), "127.0.0.1");
      socket.once("data", (bytes) => dialled.push(`${bytes}`.split(" ", 2)[1] ?? ""));
      socket.pipe(onward).pipe(socket);
      onward.on("error", () => socket.destroy());
      socket.on("close", () => onward.destroy());
    });
    using machine = await consoleWith([{ label: "lab", base_url: between.url }]);
    const child = watching(machine, "admin", "poll");
    let lines = "";
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      lines += text;
      if (lines.split("\n").length > 5) child.kill("SIGINT");
    }
    await child.exited;
    expect(lines.match(/"healthy":true/g)?.length).toBeGreaterThanOrEqual(5);
    expect(dialled.filter((path) => path === "/sessions")).toEqual(["/sessions"]);
  });

  /**
   * Sixty hosts, each of which has events for as long as somebody follows them, and a console that may have 32 connections.
   *
   * @param follows whether a host takes a stream.
   */
  async function eventfulHosts(follows: (label: string) => boolean = () => true) {
    /** The hosts that were asked, and when: milliseconds. */
    const asked: Array<{ label: string; at: number }> = [];
    let [begun, streams, mostStreams] = [0, 0, 0];
    const fleet = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(request) {
        const [, label = "", path] = new URL(request.url).pathname.split("/");
        if (path === "sessions" || path === "inspector") asked.push({ label, at: performance.now() });
        if (path !== "events") return new Response(path === "sessions" ? IDLE_SESSIONS : '{"jobs":[]}');
        if (!follows(label)) return Response.json({ error: "not found" }, { status: 404 });
        const nth = begun++;
        mostStreams = Math.max(mostStreams, ++streams);
        let timer: Timer;
        const events = new ReadableStream({
          start(to) {
            const happens = () => to.enqueue(`id: a-1\nevent: job.ended\ndata: {}\n\n`);
            // One after the other: svc asks each of them again after three seconds, so always one of them.
            const begin = () => {
              timer = setInterval(happens, 50);
            };
            timer = setTimeout(begin, nth * 375);
          },
          cancel() {
            streams--;
            clearInterval(timer);
          },
        });
        return new Response(events, { headers: { "content-type": "text/event-stream" } });
      },
    });
    const machine = await consoleWith(
      Array.from({ length: 60 }, (_, nth) => {
        const label = `lab-${nth}`;
        return { label, base_url: new URL(label, fleet.url).href };
      }),
    );
    const timesOf = (one: string) => asked.flatMap(({ label, at }) => (label === one ? [at] : []));
    return {
      timesOf,
      mostStreams: () => mostStreams,
      /** Runs `svc LINE --watch` until `condition` holds. */
      async watch(line: string, what: string, condition: () => boolean) {
        const child = Bun.spawn(["sh", "-c", `ulimit -n 128; exec ./svc ${line} --watch --json`], {
          cwd: machine.path,
          env: { ...process.env, SVC_CONFIG_DIR: "config" },
          stdio: ["ignore", "ignore", "ignore"],
        });
        try {
          await until(what, condition);
        } finally {
          child.kill();
          await child.exited;
        }
      },
      async [Symbol.asyncDispose]() {
        await fleet.stop(true);
        machine[Symbol.dispose]();
      },
    };
  }

  test("goes on asking each of more hosts than there may be connections, also while some have events all the time", async () => {
    await using hosts = await eventfulHosts();
    // The first hosts have a stream; the last one has none.
    await hosts.watch(
      "admin poll --interval 5",
      "the last host was asked again and again",
      () => hosts.timesOf("lab-59").length >= 3,
    );
    expect(hosts.timesOf("lab-0").length).toBeGreaterThan(3);
    expect(hosts.mostStreams()).toBe(8);
  }, 60_000);

  test("asks a host that has events all the time no more often than the others where the interval is short", async () => {
    await using hosts = await eventfulHosts();
    await hosts.watch(
      "admin poll --interval 2",
      "the last host was asked again and again",
      () => hosts.timesOf("lab-59").length >= 5,
    );
    expect(hosts.mostStreams()).toBe(8);
    expect(hosts.timesOf("lab-0").length).toBeWithin(4, 7);
  }, 60_000);

  test("follows the next host in place of one that has no events", async () => {
    await using hosts = await eventfulHosts((label) => Number(label.slice("lab-".length)) >= 20);
    await hosts.watch("admin poll --interval 1h", "eight streams", () => hosts.mostStreams() >= 8);
    expect(hosts.mostStreams()).toBe(8);
  }, 60_000);

  test("with --on asks again after the whole interval, also where an event made it ask", async () => {
    await using hosts = await eventfulHosts();
    const times = () => hosts.timesOf("lab-0");
    // At once, when the stream is open, and for the first events after three seconds.
    await hosts.watch(
      "inspect --on lab-0 --interval 3.5",
      "the host was asked again",
      () => times().length >= 4,
    );
    const [, , third = 0, fourth = 0] = times();
    expect(fourth - third).toBeGreaterThan(2_000);
  }, 60_000);

  test("svc events --follow says where it cannot follow all hosts at once", async () => {
    let streams = 0;
    await using silent = await rawServer(() => {
      streams++;
    });
    using machine = await consoleWith(
      Array.from({ length: 40 }, (_, nth) => ({ label: `lab-${nth}`, base_url: silent.url })),
    );
    const child = Bun.spawn(["sh", "-c", "ulimit -n 128; exec ./svc events --follow --on all"], {
      cwd: machine.path,
      env: { ...process.env, SVC_CONFIG_DIR: "config" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    await until("all streams were opened", () => streams >= 28);
    child.kill();
    const said = await child.stderr.text();
    await child.exited;
    expect(streams).toBe(28);
    expect(said).toStartWith("[warn] 28 of 40 hosts are followed at once; the others wait: name fewer");
  });

  test("ends when nobody reads it any more", async () => {
    using machine = await threeHosts();
    const child = watching(machine, "admin", "poll");
    const reader = child.stdout.getReader();
    await reader.read();
    await reader.cancel();
    expect(await child.exited).toBe(0);
  });
});

describe("--on", () => {
  test("asks the same of other hosts, as one table with a host column", async () => {
    using machine = await threeHosts();
    const verify = await machine.run(["audit", "verify", "--on", "tag:lab"]);
    expect(verify).toMatchObject({ exitCode: 0, stderr: "" });
    const lines = verify.stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^HOST +CHAIN +ROWS/);
    expect(lines.slice(1).map((line) => line.split(/ +/).slice(0, 2))).toEqual([
      ["lab-1", "OK"],
      ["lab-2", "OK"],
    ]);
  });

  test("waits for a reader that is slow", async () => {
    const [first = { url: "" }] = hosts;
    const labels = Array.from({ length: 200 }, (_, nth) => ({ label: `h${nth}`, base_url: first.url }));
    using machine = await consoleWith(labels);
    const line =
      "./svc diagnose --only executor,platform,clock,permissions --on all --json | (read -r first; sleep 1; wc -l)";
    const child = Bun.spawn(["sh", "-c", line], {
      cwd: machine.path,
      env: { ...process.env, SVC_CONFIG_DIR: "config" },
    });
    expect((await child.stdout.text()).trim()).toBe("199");
  });

  test("gives a line of JSON a host, and exit 1 when one gave no answer", async () => {
    const [first = { url: "" }] = hosts;
    using machine = await consoleWith([
      { label: "good", base_url: first.url },
      { label: "dead", base_url: "http://127.0.0.1:1" },
    ]);
    const { stdout, stderr, exitCode } = await machine.run(["commands", "--on", "all", "--json"]);
    const answers = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(answers).toMatchObject([
      { label: "good", ok: true, result: { commands: expect.arrayContaining(["AC_sleep"]) } },
      { label: "dead", ok: false, error: "connection refused" },
    ]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("dead: connection refused");
    const jobs = await machine.run(["jobs", "list", "--on", "dead"]);
    expect(jobs).toMatchObject({ exitCode: 1, stdout: expect.not.stringContaining("no jobs") });
  });

  test("writes no image for an answer that is not one", async () => {
    await using host = await answering(ok('{"format":"png","encoding":"base64","data":"bm90IGEgUE5H"}'));
    using machine = await consoleWith([{ label: "odd", base_url: host.url }]);
    const ended = await machine.run(["screenshot", "--on", "odd", "--output", machine.path]);
    expect(ended).toMatchObject({ exitCode: 1, stderr: "[warn] odd: unexpected answer: not a PNG\n" });
    expect(existsSync(join(machine.path, "odd.png"))).toBe(false);
  });

  test("is no flag of svc usb watch, which watches this host only", async () => {
    using machine = installBinary();
    const ended = await machine.run(["usb", "watch", "--on", "lab-1"]);
    expect(ended).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ended.stderr).toStartWith("svc: Unknown argument: --on");
  });

  test.each([
    "diagnose --only executor",
    "usb list",
    "audit list --limit 3",
    "audit verify",
    "inspect",
    "jobs list",
    "history",
    "commands",
  ])("is understood by svc %s", async (line) => {
    using machine = await threeHosts();
    const { stdout, exitCode } = await machine.run([...line.split(" "), "--on", "lab-1,lab-3", "--json"]);
    const answers = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(answers.map(({ label, ok }) => [label, ok])).toEqual([
      ["lab-1", true],
      ["lab-3", true],
    ]);
    expect([0, 1]).toContain(exitCode);
  });
});

testWith("prometheus")(
  "Prometheus discovers three hosts through /admin/targets, and scrapes them",
  async () => {
    using machine = await threeHosts();
    using folder = temporaryFolder();
    // The console is a server too, on the address book of the machine.
    const served = Bun.spawn(["./svc", "serve", "--port", "0", "--json"], {
      cwd: machine.path,
      env: { ...process.env, SVC_CONFIG_DIR: "config", SVC_TOKEN: TOKEN },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const first = await served.stdout.getReader().read();
    const { url }: { url: string } = JSON.parse(new TextDecoder().decode(first.value));
    const token = join(folder.path, "token");
    writeFileSync(token, TOKEN);
    const config = join(folder.path, "prometheus.yml");
    writeFileSync(
      config,
      `scrape_configs:
  - job_name: svc
    scrape_interval: 1s
    authorization: { credentials_file: ${token} }
    http_sd_configs:
      - url: ${url}/admin/targets
        refresh_interval: 1s
        # Prometheus 2.42 sends no type here unless it is given one.
        authorization: { type: Bearer, credentials_file: ${token} }
`,
    );
    const listen = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const address = `127.0.0.1:${listen.port}`;
    listen.stop(true);
    const prometheus = Bun.spawn(
      [
        "prometheus",
        `--config.file=${config}`,
        `--storage.tsdb.path=${folder.path}/tsdb`,
        `--web.listen-address=${address}`,
      ],
      { stdio: ["ignore", "ignore", "ignore"] },
    );
    try {
      const up = async () => {
        const query = encodeURIComponent('up{job="svc", svc_desk=""}');
        const response = await fetch(`http://${address}/api/v1/query?query=${query}`).catch(() => null);
        if (!response?.ok) return [];
        const { data } = (await response.json()) as {
          data: { result: Array<{ metric: Record<string, string>; value: [number, string] }> };
        };
        return data.result
          .map(({ metric, value }) => `${metric.svc_host} lab=${metric.svc_tag_lab ?? ""} up=${value[1]}`)
          .toSorted();
      };
      const wanted = ["lab-1 lab=true up=1", "lab-2 lab=true up=1", "lab-3 lab= up=1"];
      await until("Prometheus to see the three hosts", async () => Bun.deepEquals(await up(), wanted), {
        seconds: 40,
        everyMs: 100,
      });
    } finally {
      prometheus.kill();
      served.kill();
      await Promise.all([prometheus.exited, served.exited]);
    }
  },
  180_000,
);
