/** The owner of a folder puts links in the place of its files, and waits for `sudo svc … --config-dir` on it. */
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { follow, installBinary, testWith, until } from "../support";

const SOMEBODY = 4_242;

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn("skipping tests: only root is attacked");
const asRoot = test.skipIf(!isRoot);
const inNamespace = test.skipIf(!isRoot || Bun.spawnSync(["unshare", "--mount", "true"]).exitCode !== 0);

/** The binary, and a folder of somebody's. @param mode of the folder of root's that it is in. */
function machineOf(mode: number) {
  const machine = installBinary();
  chmodSync(machine.path, mode);
  const folder = join(machine.path, "somebody");
  mkdirSync(join(folder, "run"), { recursive: true, mode: 0o700 });
  for (const path of [folder, join(folder, "run")]) lchownSync(path, SOMEBODY, SOMEBODY);
  return {
    ...machine,
    folder,
    svc: (...words: string[]) => machine.run([...words, "--config-dir", folder]),
    link(target: string, name: string) {
      symlinkSync(target, join(folder, name));
      lchownSync(join(folder, name), SOMEBODY, SOMEBODY);
    },
    [Symbol.dispose]: () => machine[Symbol.dispose](),
  };
}

const FILES = [
  "rest_token",
  "audit.db",
  "history.db",
  "jobs.json",
  "run/tokens.lock",
  "run/serve.lock",
  "run/rest.json",
];

asRoot("no subcommand of root's follows a link there", async () => {
  using machine = machineOf(0o755);
  const precious = join(machine.path, "precious");
  writeFileSync(precious, "{}", { mode: 0o644 });
  const target = join(machine.path, "of-root");
  mkdirSync(target);
  for (const name of FILES) machine.link(precious, name);
  for (const suffix of ["-wal", "-shm", "-journal"]) machine.link(join(target, "new"), `audit.db${suffix}`);
  for (const name of ["audit-archive", "sync", "inbox"]) machine.link(target, name);
  const lines = [
    "token rotate",
    "token add ann --scope read",
    "audit prune --keep 0",
    "history",
    "jobs list",
    "diagnose",
  ];
  await Promise.all(lines.map((line) => machine.svc(...line.split(" "))));
  const { uid, mode } = statSync(precious);
  expect([readFileSync(precious, "utf8"), uid, mode & 0o777]).toEqual(["{}", 0, 0o644]);
  expect(readdirSync(target)).toEqual([]);
});

asRoot("a folder that is itself a link of somebody's is not opened as root", async () => {
  using machine = machineOf(0o755);
  const own = join(machine.path, "of-root");
  mkdirSync(own, { mode: 0o700 });
  machine.link(own, "link");
  const { exitCode } = await machine.run(["jobs", "list", "--config-dir", join(machine.folder, "link")]);
  expect([exitCode, readdirSync(own)]).toEqual([1, []]);
});

// As /var/lib/private, where systemd keeps the state of a service with a user of its own.
for (const [what, mode, run] of [
  ["somebody's folder", 0o755, asRoot],
  ["somebody's folder that only root can reach", 0o700, inNamespace],
] as const) {
  run(`svc runs as the owner of ${what}, says so, and does its work`, async () => {
    using machine = machineOf(mode);
    const said = `svc: runs as uid ${SOMEBODY}, the owner of ${machine.folder}\n`;
    const added = await machine.svc("token", "add", "ann", "--scope", "read");
    expect(added).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(said) });
    for (const name of ["tokens.json", "audit.db", "run/tokens.lock"]) {
      const { uid, gid, mode } = statSync(join(machine.folder, name));
      expect([name, uid, gid, mode & 0o777]).toEqual([name, SOMEBODY, SOMEBODY, 0o600]);
    }
    const server = Bun.spawn(["./svc", "serve", "--port", "0", "--json", "--config-dir", machine.folder], {
      cwd: machine.path,
      stdio: ["ignore", "pipe", "ignore"],
    });
    await follow(server.stdout).says("\n");
    const rights = readFileSync(`/proc/${server.pid}/status`, "utf8");
    for (const line of [
      `Uid:${`\t${SOMEBODY}`.repeat(4)}`,
      `Gid:${`\t${SOMEBODY}`.repeat(4)}`,
      "Groups:\t \n",
      "CapPrm:\t0000000000000000",
    ]) {
      expect(rights).toContain(line);
    }
    expect((await machine.svc("runs", "list")).stdout).toBe("no runs\n");
    server.kill();
    await until("its end", () => !existsSync(join(machine.folder, "run", "rest.json")));
    await server.exited;
  });
}

(isRoot ? testWith("setpriv") : test.skip)(
  "root that lacks the right to become the owner gets an error, and touches nothing",
  async () => {
    using machine = machineOf(0o755);
    const { exitCode, stderr } = await machine.run(
      ["token", "add", "ann", "--scope", "read", "--config-dir", machine.folder],
      {
        before: ["setpriv", "--bounding-set", "-setuid", "--inh-caps", "-setuid", "--"],
      },
    );
    expect([exitCode, stderr]).toEqual([
      1,
      `svc: root cannot become uid ${SOMEBODY}, the owner of ${machine.folder} (EPERM): run svc as uid ${SOMEBODY} (svc help T7)\n`,
    ]);
    expect(readdirSync(machine.folder)).toEqual(["run"]);
  },
);

// The configuration is root's own here.
describe("a file that root names beside somebody's files", () => {
  const LINES: Readonly<Record<string, readonly string[]>> = {
    "audit export": ["audit", "export"],
    "config export": ["config", "export"],
    "a broadcast": ["admin", "broadcast", "script.json", "--on", "all", "--output"],
  };
  for (const [what, words] of Object.entries(LINES)) {
    asRoot(`is written there, and through no link of theirs: ${what}`, async () => {
      using machine = machineOf(0o755);
      writeFileSync(join(machine.path, "script.json"), '[["AC_sleep", {"seconds": 0}]]');
      mkdirSync(machine.configDir, { recursive: true });
      const hosts = [{ label: "closed", base_url: "http://127.0.0.1:9", token: "tokentokentoken", tags: [] }];
      writeFileSync(join(machine.configDir, "admin_hosts.json"), JSON.stringify({ hosts }));
      const precious = join(machine.path, "precious");
      writeFileSync(precious, "precious", { mode: 0o644 });
      const ofRoot = join(machine.path, "of-root");
      mkdirSync(ofRoot);
      machine.link(precious, "linked.jsonl");
      machine.link(ofRoot, "folder");
      for (const name of ["linked.jsonl", "folder/new.jsonl"]) {
        const { exitCode } = await machine.run([...words, join(machine.folder, name)]);
        expect([name, exitCode === 0]).toEqual([name, false]);
      }
      expect([readFileSync(precious, "utf8"), readdirSync(ofRoot)]).toEqual(["precious", []]);
      const { stderr } = await machine.run([...words, join(machine.folder, "plain.jsonl")]);
      expect([stderr, existsSync(join(machine.folder, "plain.jsonl"))]).toEqual([
        expect.not.stringContaining("plain.jsonl"),
        true,
      ]);
    });
  }
});

asRoot("nothing of root's is made below a link of theirs, not even a folder", async () => {
  using machine = machineOf(0o755);
  const ofRoot = join(machine.path, "of-root");
  mkdirSync(ofRoot);
  machine.link(ofRoot, "link");
  const lines = [
    ["token", "rotate", "--token-file", "link/token"],
    ["serve", "--port", "0", "--token-file", "link/token"],
    ["serve", "--port", "0", "--inbox", "link/new/inbox"],
    ["serve", "--port", "0", "--inbox", "new/inbox"],
    ["turn", "--realm", "relay.example", "--user", "u", "--output-dir", "link/bundle"],
    ["turn", "--realm", "relay.example", "--user", "u", "--force", "--output-dir", "link"],
  ];
  for (const line of lines) {
    const [name = "", ...words] = line.toReversed();
    const { exitCode } = await machine.run([...words.reverse(), join(machine.folder, name)]);
    expect([line, exitCode === 0, readdirSync(ofRoot)]).toEqual([line, false, []]);
  }
  expect(readdirSync(machine.folder).toSorted()).toEqual(["link", "run"]);
  const bundle = join(machine.folder, "new", "bundle");
  await machine.run(["turn", "--realm", "relay.example", "--user", "u", "--output-dir", bundle]);
  expect(readdirSync(bundle)).toHaveLength(4);
  const { stderr } = await machine.run([
    "token",
    "rotate",
    "--token-file",
    join(machine.folder, "run", "token"),
  ]);
  expect([stderr, statSync(join(machine.folder, "run", "token")).uid]).toEqual([
    expect.not.stringContaining("cannot"),
    SOMEBODY,
  ]);
});

asRoot("root keeps no inbox in somebody's folder", async () => {
  using machine = machineOf(0o755);
  const inbox = join(machine.folder, "inbox");
  const { exitCode, stderr } = await machine.run(["serve", "--port", "0", "--inbox", inbox]);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`${inbox} belongs to uid ${SOMEBODY}`)]);
});

asRoot("the daemon of the machine stays root's matter where sudo keeps the HOME of its user", async () => {
  using machine = machineOf(0o755);
  const env = { HOME: machine.folder, SVC_CONFIG_DIR: "" };
  const asked = (...flags: string[]) => machine.run(["service", "status", "--print", ...flags], { env });
  expect((await asked("--system")).stderr).toBe("");
  expect((await asked()).stderr).toContain("svc: runs as");
});
