/** A desk elsewhere that answers the command line, and the folder of the service of the machine. */
import { describe, expect, test } from "bun:test";
import { existsSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { registry } from "../../commands";
import { parseFlags } from "../../src/cli/parser";
import { findNoun } from "../../src/cli/registry";
import { machineFolder, machineHint } from "../../src/lib/machine-service";
import { resolveConfigDir } from "../../src/lib/paths";
import { post, runToEnd, SVC, TOKEN, temporaryFolder, testServer, testWith } from "../support";

/** Runs `svc words` on a folder, with `typed` on standard input. */
async function svc(configDir: string, words: readonly string[], typed = "", env: NodeJS.ProcessEnv = {}) {
  const {
    stdout: out,
    stderr: err,
    exitCode: code,
  } = await runToEnd([...SVC, ...words], {
    env: { ...process.env, SVC_CONFIG_DIR: configDir, ...env },
    stdin: typed,
  });
  return { out, err, code };
}

/** A desk with one host in its address book, whose pin is known. */
async function deskWithHost() {
  const desk = await testServer({ tls: true });
  const added = { label: "lab-01", base_url: "http://127.0.0.1:1", token: "its-token" };
  expect((await desk.call("/admin/hosts/add", post(added))).status).toBe(200);
  const { pin } = (await (await desk.call("/status")).json()) as { pin: string };
  return { desk, pin };
}

describe("a desk elsewhere", () => {
  test("is kept privately once its token is known there, and answers in place of this machine", async () => {
    using folder = temporaryFolder();
    const { desk, pin } = await deskWithHost();
    await using _ = desk;
    const { code, out } = await svc(
      folder.path,
      ["login", desk.server.url, "--name", "lab", "--pin", pin],
      TOKEN,
    );
    expect(out).toContain("token: the desk's own (admin)");
    expect(out).toContain(pin);
    expect(out).not.toContain(TOKEN);
    expect(code).toBe(0);
    expect(statSync(join(folder.path, "logins.json")).mode & 0o777).toBe(0o600);
    expect((await svc(folder.path, ["--desk", "lab", "admin", "list"])).out).toContain("lab-01");
    expect((await svc(folder.path, ["admin", "list"], "", { SVC_DESK: "lab" })).out).toContain("lab-01");
    expect((await svc(folder.path, ["admin", "list"])).out).not.toContain("lab-01");
    const listed = await svc(folder.path, ["login", "--list", "--json"], "", { SVC_DESK: "lab" });
    expect(JSON.parse(listed.out)).toMatchObject({ desks: [{ name: "lab", pin, current: true }] });
  });

  test("that shows another key, or refuses the token, is not kept", async () => {
    using folder = temporaryFolder();
    const { desk, pin } = await deskWithHost();
    await using _ = desk;
    const other = `spki:${"A".repeat(43)}`;
    const login = ["login", desk.server.url, "--name", "lab", "--pin"];
    const forged = await svc(folder.path, [...login, other], TOKEN);
    expect(forged.err).toContain(`shows ${pin}`);
    const refused = await svc(folder.path, [...login, pin], "not-its-token");
    expect(refused.err).toContain("refuses the token");
    const unpinned = await svc(folder.path, login.slice(0, -1), TOKEN);
    expect(unpinned.err).toContain("--pin: missing");
    expect([forged.code, refused.code, unpinned.code]).toEqual([1, 1, 2]);
    expect(existsSync(join(folder.path, "logins.json"))).toBe(false);
  });

  test("has a name of its own: that of another desk is not taken without being typed", async () => {
    using folder = temporaryFolder();
    const [first, second] = [await deskWithHost(), await deskWithHost()];
    await using _ = first.desk;
    await using __ = second.desk;
    const login = ({ desk, pin }: typeof first, ...more: readonly string[]) =>
      svc(folder.path, ["login", desk.server.url, "--pin", pin, ...more], TOKEN);
    expect((await login(first)).code).toBe(0);
    expect((await login(first)).code).toBe(0);
    const taken = await login(second);
    expect(taken.err).toContain(`--name: missing: 127.0.0.1 is ${first.desk.server.url} already`);
    expect(taken.code).toBe(2);
    const typed = await login(second, "--name", "127.0.0.1");
    expect(typed.err).toContain(`127.0.0.1 was ${first.desk.server.url}`);
    expect((await svc(folder.path, ["login", "--list", "--json"])).out).toContain(second.desk.server.url);
    const odd = await svc(folder.path, ["login", "http://[::]:1", "--insecure-http"], TOKEN);
    expect(odd.err).toContain("--name: missing: [::] cannot be the name of a desk");
  });

  test("has its broadcasts and plans shown as those of this machine, and a broadcast fails where a host does", async () => {
    using folder = temporaryFolder();
    const { desk, pin } = await deskWithHost();
    await using _ = desk;
    await svc(folder.path, ["login", desk.server.url, "--name", "lab", "--pin", pin], TOKEN);
    const job = ['[["AC_sleep", {"seconds": 0}]]', "--on", "all"];
    const sent = await svc(folder.path, ["--desk", "lab", "admin", "broadcast", ...job]);
    expect(sent.out).toMatch(
      /^unreachable +[\d.]+ s {2}lab-01 {2}connection refused\n1 host: 1 unreachable\n$/,
    );
    expect(sent.code).toBe(1);
    const own = { label: "own", base_url: desk.server.url, token: TOKEN, pin };
    expect((await desk.call("/admin/hosts/add", post(own))).status).toBe(200);
    const program = '[["AC_shell_command", ["uname"]]]';
    const made = await svc(folder.path, ["--desk", "lab", "plan", "new", program, "--on", "own"]);
    expect(made.err).toContain("1 of 1 hosts will refuse it (own): AC_shell_command needs svc to be started");
    expect(made.out).toMatch(/\n {2}svc plan apply \S+ --digest [0-9a-f]{64} --desk lab\n$/);
  });

  test("has its stored scripts run by jobs, and shows the screen of its hosts; the version is that of this program", async () => {
    using folder = temporaryFolder();
    const { desk, pin } = await deskWithHost();
    await using _ = desk;
    await svc(folder.path, ["login", desk.server.url, "--name", "lab", "--pin", pin], TOKEN);
    const there = (...words: readonly string[]) =>
      svc(folder.path, words, "", { SVC_DESK: "lab", PATH: folder.path, DISPLAY: "", WAYLAND_DISPLAY: "" });
    const script = join(folder.path, "greet.json");
    await Bun.write(script, '[["AC_log", ["hello"]]]');
    expect((await there("scripts", "add", "greet", script)).code).toBe(0);
    const job = await there("jobs", "add", "script:greet", "--every", "90m", "--id", "hourly");
    expect(job.out).toContain("hourly runs next at");
    expect((await there("jobs", "list")).out).toMatch(/hourly +every 90m .* script:greet\n/);
    const screen = await there("screen", "lab-01");
    expect(screen.out).toContain(`${desk.server.url}/dashboard/#live:lab-01\n`);
    expect((await there("screen", "lab-02")).err).toContain("no host is labelled lab-02");
    const version = await there("version");
    expect([version.code, version.out]).toEqual([0, expect.stringMatching(/^svc \d/)]);
  });

  test("is not asked for what only works on its machine or on this one", async () => {
    using folder = temporaryFolder();
    const { desk, pin } = await deskWithHost();
    await using _ = desk;
    await svc(folder.path, ["login", desk.server.url, "--name", "lab", "--pin", pin], TOKEN);
    const shown = await svc(folder.path, ["--desk", "lab", "token", "show"]);
    expect(shown.err).toContain(
      "on the machine of the desk only: tokens are read and made on the host itself",
    );
    const served = await svc(folder.path, ["--desk", "lab", "serve"]);
    expect(served.err).toContain("works on this machine only");
    const onHosts = await svc(folder.path, ["--desk", "lab", "jobs", "list", "--on", "all"]);
    expect(onHosts.err).toContain("--on: expected without --desk, and without SVC_DESK");
    const one = '[["AC_log", ["a"]]]';
    const traced = await svc(folder.path, [
      "--desk",
      "lab",
      "execute",
      one,
      "--trace",
      join(folder.path, "run.zip"),
    ]);
    expect([traced.out, traced.err]).toEqual([
      "",
      expect.stringContaining("--trace: expected without --desk"),
    ]);
    const kept = await svc(folder.path, [
      "--desk",
      "lab",
      "admin",
      "broadcast",
      one,
      "--on",
      "all",
      "--output",
      "r.jsonl",
    ]);
    expect(kept.err).toContain("--output, --retry: expected without --desk");
    expect([traced.code, kept.code]).toEqual([2, 2]);
    const path = await svc(folder.path, ["--desk", "lab", "jobs", "add", "here.json", "--every", "1h"]);
    expect(path.err).toContain("names a file on the machine of the desk");
    expect([shown.code, served.code, onHosts.code, path.code]).toEqual([2, 2, 2, 2]);
  });

  test("that is unknown, or does not answer, is named", async () => {
    using folder = temporaryFolder();
    const { desk, pin } = await deskWithHost();
    await svc(folder.path, ["login", desk.server.url, "--name", "lab", "--pin", pin], TOKEN);
    await desk[Symbol.asyncDispose]();
    const unknown = await svc(folder.path, ["--desk", "lap", "admin", "list"]);
    expect(unknown.err).toContain("no desk is named lap: expected lab");
    const gone = await svc(folder.path, ["--desk", "lab", "admin", "list"]);
    expect(gone.err).toContain(`desk lab (${desk.server.url}): connection refused`);
    const out = await svc(folder.path, ["logout", "lab"]);
    expect(out.out).toBe("lab removed\n");
    expect((await svc(folder.path, ["login", "--list"])).out).toContain("no desks");
  });
});

describe("the service of the machine", () => {
  const parsed = async (noun: string, verb: string, ...words: string[]) => {
    const one = (await findNoun(registry, noun, verb))?.verbs[verb];
    if (!one) throw new Error(`no ${noun} ${verb}`);
    return parseFlags(`svc ${noun} ${verb}`, one, words);
  };

  test("has a folder of its own, which --system names for every command", async () => {
    expect(await parsed("token", "show", "--system")).toMatchObject({
      typed: {},
      globals: { configDir: machineFolder() },
    });
    const own = await parsed("service", "status", "--system");
    expect(own).toMatchObject({ typed: { system: true }, globals: { configDir: undefined } });
    await expect(parsed("token", "show", "--system", "--config-dir", "x")).rejects.toThrow(
      "without --config-dir",
    );
  });

  test("is named to whoever looks in an own folder, and to nobody else", () => {
    using folder = temporaryFolder();
    const own = resolveConfigDir(undefined, {});
    expect(machineHint(own, folder.path)).toContain("sudo svc --system");
    // As the folder of a service with a user of its own is for all users but root: a link into what they may not enter.
    symlinkSync(join(folder.path, "closed", "svc"), join(folder.path, "linked"));
    expect(machineHint(own, join(folder.path, "linked"))).toContain("sudo svc --system");
    expect(machineHint(own, join(folder.path, "none"))).toBe("");
    expect(machineHint("/elsewhere", folder.path)).toBe("");
  });
});

/** The title of a window, the screen cleared, a C1 control, text from the right, a carriage return. */
const EVIL = "e\u001b]0;owned\u0007\u001b[2J\u009b31m\u202evil\rr";
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

describe("a desk that is hostile", () => {
  testWith("openssl")(
    "gives the terminal no orders by the names in its certificate, and gets no token",
    async () => {
      using folder = temporaryFolder();
      const [key, cert] = [join(folder.path, "key.pem"), join(folder.path, "cert.pem")];
      const made = Bun.spawnSync([
        ...[
          "openssl",
          "req",
          "-x509",
          "-newkey",
          "rsa:2048",
          "-nodes",
          "-days",
          "3",
          "-keyout",
          key,
          "-out",
          cert,
        ],
        ...["-subj", `/CN=${EVIL}`, "-addext", "subjectAltName=DNS:e\u001b[2J.example"],
      ]);
      expect(made.exitCode).toBe(0);
      let asked = 0;
      using server = Bun.serve({
        port: 0,
        tls: { key: Bun.file(key), cert: Bun.file(cert) },
        fetch() {
          asked += 1;
          return Response.json({});
        },
      });
      const at = `https://127.0.0.1:${server.port}`;
      for (const more of [[], ["--pin", `spki:${"A".repeat(43)}`]]) {
        const { code, out, err } = await svc(folder.path, ["login", at, ...more], TOKEN);
        expect(code).not.toBe(0);
        expect(err).toMatch(/spki:/);
        expect(`${out}${err}`).not.toMatch(OBEYED);
      }
      expect(asked).toBe(0);
      expect(existsSync(join(folder.path, "logins.json"))).toBe(false);
    },
  );

  test("is not followed elsewhere, and what it says is no order", async () => {
    const followed: string[] = [];
    using other = Bun.serve({
      port: 0,
      fetch(request) {
        followed.push(request.headers.get("authorization") ?? "none");
        return Response.json({ name: null, scopes: ["admin"], expires: null });
      },
    });
    type Answer = readonly [status: number, body: string, location?: string];
    const json = (value: object) => JSON.stringify(value);
    const answers: Answer[] = [
      ...[301, 302, 303, 307, 308].map((status): Answer => [status, "", `${other.url}`]),
      ...[400, 401, 403, 404, 409, 429, 500, 503].map(
        (status): Answer => [status, json({ error: EVIL, reason: EVIL, help: EVIL })],
      ),
      [200, json({ name: EVIL, scopes: [EVIL], expires: EVIL })],
      [200, json({ name: EVIL, scopes: ["admin"], expires: EVIL })],
      [200, EVIL],
    ];
    for (const [status, body, location] of answers) {
      using folder = temporaryFolder();
      using server = Bun.serve({
        port: 0,
        fetch: () => new Response(body, { status, headers: location ? { location } : {} }),
      });
      const words = ["login", `http://127.0.0.1:${server.port}`, "--name", "lab"];
      const { out, err } = await svc(folder.path, words, TOKEN);
      expect(`${out}${err}`.length).toBeGreaterThan(0);
      expect(`${out}${err}`).not.toMatch(OBEYED);
      expect(`${out}${err}`).not.toContain(TOKEN);
    }
    expect(followed).toEqual([]);
  }, 120_000);
});
