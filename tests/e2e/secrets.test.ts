/** One run of everything that knows a secret: none is in a command line, a log, an audit row, an error, an address or another file. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { follow, installBinary, post, until } from "../support";

/** The files that hold secrets, by the secret: nothing else may hold it. */
const HOLDERS = /\/(rest_token|admin_hosts\.db(?:-wal|-shm)?|scripts\.json|typed-[a-z.]+)$/;

test("a full run leaves no secret where others can read it", async () => {
  using svc = installBinary();
  const secrets = new Map<string, string>();
  const file = (name: string, content: string) => {
    const path = join(svc.path, `typed-${name}`);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const know = (name: string, secret: string) => {
    expect([name, secret.length > 12]).toEqual([name, true]);
    secrets.set(name, secret);
    return secret;
  };
  const said: string[] = [];
  /** What a command prints, which may be a secret for its user; what it says on stderr may not. */
  const run = async (...args: string[]) => {
    const { stdout, stderr, exitCode } = await svc.run(args);
    said.push(stderr);
    return { text: stdout.trim(), exitCode };
  };
  const shown = async (...args: string[]) => {
    const { text, exitCode } = await run(...args);
    said.push(text);
    return exitCode;
  };

  // Whoever may see the process list.
  const commandLines = new Set<string>();
  const watch = setInterval(() => {
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      try {
        if (!readlinkSync(`/proc/${pid}/exe`).startsWith(svc.path)) continue;
        commandLines.add(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
      } catch {
        // It has ended.
      }
    }
  }, 5);

  const server = Bun.spawn(["./svc", "serve", "--port", "0", "--tls", "--json", "--config-dir", "config"], {
    cwd: svc.path,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err] = [follow(server.stdout), follow(server.stderr)];
  try {
    await out.says("\n");
    const { url } = JSON.parse(out.text()) as { url: string };
    const ask = async (token: string, path: string, init: RequestInit = {}) => {
      const headers = { ...init.headers, authorization: `Bearer ${token}` };
      const response = await fetch(url + path, { ...init, headers, tls: { rejectUnauthorized: false } });
      return { status: response.status, text: await response.text() };
    };
    const owner = know("the owner's", (await run("token", "show")).text);
    const pin = (await run("pin")).text;

    const first = know("a named", (await run("token", "add", "anna", "--scope", "desk")).text);
    const anna = know("a rotated", (await run("token", "rotate", "anna", "--overlap", "1h")).text);
    const renewed = JSON.parse((await ask(anna, "/token/renew", post({}))).text) as { token: string };
    know("a renewed", renewed.token);
    const given = file("given", `${know("a given", "the-word-of-a-person-1")}\n`);
    await shown("token", "add", "wall", "--scope", "read", "--token-file", given);
    const wrong = know("a wrong", "what-somebody-guessed-1");
    const mistyped = know("a mistyped", `${first.slice(0, -3)}xyz`);
    for (const token of [wrong, mistyped]) said.push((await ask(token, "/jobs")).text);
    await shown("token", "add", "again", "--scope", "read", "--token-file", file("mistyped", mistyped));
    await shown("token", "add", "twice", "--scope", "read", "--token-file", given);
    await shown("token", "list");

    const typed = know("an argument", "pa55word-that-is-typed");
    const actions = [
      ["AC_set_var", { name: "password", value: typed }],
      ["AC_write", { write_string: "${password}" }],
    ];
    const script = file("script.json", JSON.stringify(actions));
    await shown("scripts", "add", "login", script, "--parameter", "other");
    await shown("scripts", "list");
    const ci = know("a script's", (await run("token", "add", "ci", "--scope", "run:login")).text);
    const variables = { other: know("a variable", "the-value-of-a-variable") };
    await ask(ci, "/scripts/login/run", post({ variables }));
    said.push((await ask(ci, "/scripts/login/run", post({ variables: { odd: typed } }))).text);
    said.push((await ask(renewed.token, "/execute", post({ actions: [["AC_write", [typed, typed]]] }))).text);
    said.push((await ask(renewed.token, "/runs")).text, (await ask(owner, "/history")).text);

    const book = ["--pin", pin, "--token-file", file("desk", renewed.token)];
    await shown("admin", "add", "self", url, ...book);
    expect(await shown("admin", "poll")).toBe(0);
    await shown("admin", "broadcast", '[["AC_sleep", [0]]]', "--on", "all");
    await shown("admin", "rotate", "self");
    const { files } = JSON.parse((await run("config", "export", "-")).text);
    know("a desk's", files["admin_hosts.json"].content.hosts[0].token);
    const string = (await run("join-token")).text;
    const secretPart = string.split(".").at(-2) ?? "";
    know("a join string's", secretPart);
    const joined = await run(
      "join",
      "--file",
      file("string", string),
      "--config-dir",
      join(svc.path, "other"),
    );
    said.push(joined.text);
    expect(joined.exitCode).toBe(0);
    await shown("join-token", "list");
    await shown("diagnose");
    await shown("audit", "list", "--limit", "1000");
    await shown("token", "remove", "ci");
    said.push(
      (await ask(ci, "/token")).text,
      (await ask(owner, "/metrics")).text,
      (await ask(owner, "/config/list")).text,
    );
    const uses = join(svc.configDir, "token_use.json");
    await until("the note of its use", () => existsSync(uses) && readFileSync(uses).includes("anna"));
  } finally {
    server.kill();
    await server.exited;
    clearInterval(watch);
  }
  said.push(await out.whole, await err.whole);
  expect(commandLines.size).toBeGreaterThan(10);

  const files = readdirSync(svc.path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "svc")
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !HOLDERS.test(path));
  expect(files.length).toBeGreaterThan(8);
  const places: Array<readonly [string, string]> = [
    ...Array.from(commandLines, (line) => ["a command line", line] as const),
    ...said.map((text) => ["what svc says", text] as const),
    ...files.map((path) => [path.slice(svc.path.length), readFileSync(path, "latin1")] as const),
  ];
  const found = [...secrets].flatMap(([name, secret]) =>
    places.filter(([, text]) => text.includes(secret)).map(([place]) => `${name} secret in ${place}`),
  );
  expect(found).toEqual([]);
}, 180_000);
