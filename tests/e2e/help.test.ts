import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { registry } from "../../commands";
import { findNoun } from "../../src/cli/registry";
import { dispatch } from "../../src/cli/run";
import { isThorough, testWith } from "../support";
import { type Installed, installedBinary } from "./binary";

let svc: Installed;
beforeAll(() => {
  svc = installedBinary();
});
afterAll(() => svc[Symbol.dispose]());

describe("--help", () => {
  /** The words of svc, of each noun, and of its verbs: those of which the binary is asked, and the others. */
  const lines = async () => {
    const [asked, others]: [string[][], string[][]] = [[[]], []];
    for (const name of Object.keys(registry.nouns)) {
      const verbs = Object.keys((await findNoun(registry, name))?.verbs ?? {});
      // A start of the binary for every verb takes long.
      const most = isThorough ? verbs.length : 1;
      asked.push([name], ...verbs.slice(0, most).map((verb) => [name, verb]));
      others.push(...verbs.slice(most).map((verb) => [name, verb]));
    }
    return { asked, others };
  };
  const widthOf = (text: string) => Math.max(...text.split("\n").map((line) => line.length));
  const expectFits = (words: readonly string[], exitCode: number, text: string) => {
    expect([words, exitCode]).toEqual([words, 0]);
    expect(text).toContain(["svc", ...words].join(" "));
    expect([words, widthOf(text) <= 80]).toEqual([words, true]);
  };

  test("of svc, of each noun and of a verb of it fits 80 columns", async () => {
    for (const words of (await lines()).asked) {
      const { stdout, exitCode } = await svc.run([...words, "--help"]);
      expectFits(words, exitCode, stdout);
    }
  });

  test("of each other verb fits 80 columns", async () => {
    using printed = spyOn(console, "log").mockImplementation(() => {});
    for (const words of (await lines()).others) {
      const exitCode = await dispatch(registry, [...words, "--help"]);
      expectFits(words, exitCode, printed.mock.calls.join("\n"));
      printed.mockClear();
    }
  });
});

test("svc alone prints its help, as -h does; a command prints its own with -h", async () => {
  const help = await svc.run(["--help"]);
  expect(help.exitCode).toBe(0);
  for (const words of [[], ["-h"], ["help"]]) expect(await svc.run(words)).toEqual(help);
  expect(await svc.run(["token", "-h"])).toEqual(await svc.run(["token", "--help"]));
  expect(await svc.run(["audit", "list", "-h"])).toEqual(await svc.run(["audit", "list", "--help"]));
});

describe("svc help", () => {
  test("before a command prints the help of that command, and names the page of its name", async () => {
    const asked = await svc.run(["help", "token", "add"]);
    expect(asked).toEqual(await svc.run(["token", "add", "--help"]));
    const { stdout } = await svc.run(["help", "audit"]);
    expect(stdout).toStartWith((await svc.run(["audit", "--help"])).stdout);
    expect(stdout).toEndWith("There is a page, too: svc help audit.md\n");
  });

  test("prints a page that the binary carries, from any folder", async () => {
    const { stdout, exitCode } = await svc.run(["help", "plans"]);
    expect([exitCode, stdout.split("\n")[0]]).toEqual([0, "Plans"]);
    expect((await svc.run(["help", "audit.md"])).stdout).toStartWith("Audit log\n");
  });

  test("prints the entry that an error names", async () => {
    const { stderr } = await svc.run(["execute", '[["AC_shell_command", ["true"]]]']);
    const [, entry = "none"] = /\(svc help (T\d+)\)$/m.exec(stderr) ?? [];
    const { stdout } = await svc.run(["help", entry]);
    expect(stdout).toStartWith("403\n");
  });

  test("--search looks in all pages; exit code 1 where there is nothing", async () => {
    const found = await svc.run(["help", "--search", "exit code"]);
    expect([found.exitCode, found.stdout]).toEqual([0, expect.stringContaining("(svc help turn.md)\n")]);
    expect((await svc.run(["help", "--search", "zzzyx"])).exitCode).toBe(1);
  });
});

describe("what cannot be understood is one line and exit code 2:", () => {
  for (const words of [
    ["nope"],
    ["execute"],
    ["token"],
    ["audit"],
    ["audit", "nope"],
    ["token", "eat"],
    ["token", "show", "--config-dir", "a", "--config-dir", "b"],
    ["audit", "list", "--on", "a", "--on", "b"],
    ["audit", "list", "--on.x", "a"],
    ["audit", "list", "--no-on"],
    ["admin", "export", "no/such/folder.csv"],
  ]) {
    test(`svc ${words.join(" ")}`, async () => {
      const { exitCode, stdout, stderr } = await svc.run(words);
      expect([exitCode, stdout, stderr.trimEnd().split("\n").length]).toEqual([2, "", 1]);
    });
  }
});

test("what follows -- is no flag and no value of one", async () => {
  const { exitCode, stderr } = await svc.run(["config", "import", "--only", "viewer_id", "--", "-x"]);
  expect([exitCode, stderr]).toEqual([2, "svc: file: -x cannot be read (ENOENT)\n"]);
});

describe("what is missing in a command line is named:", () => {
  for (const [words, message] of [
    [["token", "add", "--scope", "read"], "An argument is missing: svc token add <name>"],
    [["execute"], "An argument is missing: svc execute <script>"],
    [["service", "install", "--print", "x"], "Expected flags of svc serve after --, but found x"],
    [["serve", "--", "-x"], "Unknown argument: -x (see `svc serve --help`)"],
    [["token", "eat"], "Unknown command: eat (see `svc token --help`)"],
    [["history", "--nope"], "Unknown argument: --nope (see `svc history --help`)"],
    [
      ["history", "--limt", "3"],
      "Unknown argument: --limt (did you mean --limit?) (see `svc history --help`)",
    ],
    [["audit", "prune", "--no-kep", "x"], "Unknown arguments: --no-kep, x (see `svc audit prune --help`)"],
    [["admn", "list"], "Unknown command: admn (did you mean admin?) (see `svc --help`)"],
    [["admin", "pol"], "Unknown command: pol (did you mean poll?) (see `svc admin --help`)"],
    [["nats", "shw"], "Unknown command: shw (did you mean show?) (see `svc nats --help`)"],
    [["execute", "/nonexistent/a.json"], "script: there is no file /nonexistent/a.json"],
    [["admin", "add", "a", "http://10.0.0.5:9939"], "--token-file: nothing came on standard input"],
    [
      ["execute", '[["AC_sleep", [0]]]', "--var-file", "nowhere.json"],
      "--var-file: nowhere.json cannot be read (ENOENT)",
    ],
    [["audit", "prune", "--keep", ""], "--keep: expected a value"],
    [["audit", "prune", "--keep="], "--keep: expected a value"],
    [["history", "--limit"], "--limit: expected a value"],
    [["diagnose", "--only"], "--only: expected a value"],
    [["token", "show", "--config-dir"], "--config-dir: expected a value"],
    [["turn", "--realm", "a", "--user", "b", "--secret"], "--secret: expected a value"],
    [["config", "import", "a", "--passphrase-file", "--dry-run"], "--passphrase-file: expected a value"],
    [["token", "show", "--config-dir="], "--config-dir: expected a value"],
    [["serve", "--allow-host", ""], "--allow-host: expected a value"],
    [
      ["jobs", "add", "a.json", "--every", "15x"],
      '--every: expected a duration such as 90s or 15m but found "15x"',
    ],
    [["turn"], "Missing required argument: --realm"],
    [["jobs"], "A subcommand is missing (see `svc jobs --help`)"],
    [["serve", "--rate-limit", "Infinity"], '--rate-limit: expected a number but found "Infinity"'],
    [["serve", "--audit=yes"], "--audit: expected no value, true or false"],
    [["config", "import", "no-such-file", "--dry-run=1"], "--dry-run: expected no value, true or false"],
    [["turn", "test"], "An argument is missing: svc turn test <url>"],
    [["execute", "-"], "stdin: expected a list of actions but found nothing"],
    [["jobs", "add", "", "--every", "1h"], "script: must not be empty"],
  ] as const) {
    test(`svc ${words.join(" ")}`, async () => {
      expect(await svc.run(words)).toEqual({ exitCode: 2, stdout: "", stderr: `svc: ${message}\n` });
    });
  }

  test("a choice that is nearly one of those that there are", async () => {
    const { exitCode, stderr } = await svc.run(["diagnose", "--skip", "screensht"]);
    expect(exitCode).toBe(2);
    expect(stderr).toEndWith('but found "screensht" (did you mean screenshot?)\n');
  });

  test("a script that is neither JSON nor a file", async () => {
    const { exitCode, stderr } = await svc.run(["execute", "nope"]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      /^svc: script: expected JSON, or the path of a \.json, \.json5, \.yaml or \.yml file, but found .*nope$/m,
    );
  });

  test("flags after -- are not svc's own", async () => {
    const { exitCode } = await svc.run(["service", "install", "--print", "--", "--port"]);
    expect(exitCode).toBe(0);
  });
});

describe("svc completion", () => {
  const asked = async (program: string[], input: string) => {
    const child = Bun.spawn(program, {
      env: {
        ...process.env,
        PATH: `${svc.folder}:${process.env.PATH}`,
        HOME: svc.folder,
        SVC_CONFIG_DIR: svc.configDir,
      },
      stdio: [new Blob([input]), "pipe", "inherit"],
    });
    const text = await new Response(child.stdout).text();
    await child.exited;
    return text.trim().split(/\s*\n/);
  };

  testWith("bash")("bash", async () => {
    const input = `source <(svc completion bash)
COMP_WORDS=(svc audit ver); COMP_CWORD=2; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
    expect((await asked(["bash"], input)).sort()).toEqual([
      "verify",
      "verify-fork",
      "verify-proof",
      "verify-run",
    ]);
  });

  testWith("bash")("bash, for names with a colon", async () => {
    const token = join(svc.folder, "token-of-lab");
    await Bun.write(token, "not-a-token-of-it");
    const host = ["lab-01", "http://127.0.0.1:9", "--tag", "lab", "--token-file", token];
    const { stderr, exitCode } = await svc.run(["admin", "add", ...host]);
    expect([stderr, exitCode]).toEqual([expect.any(String), 0]);
    const replies = async (words: string, at: number) =>
      asked(
        ["bash"],
        `source <(svc completion bash)
COMP_WORDS=(${words}); COMP_CWORD=${at}; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`,
      );
    expect(await replies("svc usb list --on tag : l", 6)).toEqual(["lab"]);
    expect(await replies("svc usb list --on = lab", 5)).toEqual(["lab-01"]);
  });

  testWith("zsh")("zsh", async () => {
    const input = `autoload -U compinit && compinit -u -D
source <(svc completion zsh)
_describe() { print -l -- "\${(@P)2}" }
words=(svc token ro) CURRENT=3; _svc`;
    expect(await asked(["zsh", "-f"], input)).toEqual([
      "rotate:Replace the host's own token, or a named one",
    ]);
    const choice = input.replace("svc token ro", "svc usb li");
    expect(await asked(["zsh", "-f"], choice)).toEqual(["list:List the USB devices of the host"]);
  });

  testWith("fish")("fish", async () => {
    const input = `svc completion fish | source; complete -C 'svc audit ver'`;
    expect(await asked(["fish", "--no-config"], input)).toEqual([
      "verify\tVerify the chain of the audit log, or of an export",
      "verify-fork\tCheck whether a file proves that an audit log contradicts itself",
      "verify-proof\tVerify a proof that a row is in the audit log of a host, without that host",
      "verify-run\tVerify the receipt of a run or a plan, without its host",
    ]);
  });
});
