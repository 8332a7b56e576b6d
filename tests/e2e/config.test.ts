/** `svc config` as the compiled binary, from an empty folder, also when it is killed at any step of an import. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { bundleOf, host } from "../host/config/support";
import { placeBinary, runToEnd, testWith } from "../support";

const BUNDLE = join(import.meta.dir, "..", "fixtures", "bundle-foreign.json");
const OLD = { remote_host_id: "old-remote", viewer_id: "old-viewer", host_fingerprint: undefined };

// An import is killed a few dozen times, and sealing takes a second by design.
setDefaultTimeout(180_000);

/** The binary alone in a folder, on a configuration with `files`. */
function installed(files: Readonly<Record<string, string | undefined>> = {}) {
  const machine = host(files);
  const binary = join(machine.root, "outside", "svc");
  placeBinary(binary);
  const run = async (
    args: readonly string[],
    options: { stdin?: string; env?: Record<string, string> } = {},
  ) => {
    return runToEnd([binary, ...args, "--config-dir", machine.config], {
      cwd: join(machine.root, "outside"),
      env: { PATH: process.env.PATH, HOME: machine.root, ...options.env },
      stdin: options.stdin ?? "",
    });
  };
  return { ...machine, binary, run };
}

test("a bundle made elsewhere goes in and comes out again, through files and pipes", async () => {
  using machine = installed();
  const dry = await machine.run(["config", "import", BUNDLE, "--dry-run"]);
  expect(dry.stdout).toBe(
    "new        admin_hosts.json\nnew        trusted_viewers.json\nnew        viewer_id\n" +
      "dry run: nothing was written\n",
  );
  const real = await machine.run(["config", "import", "-", "--json"], {
    stdin: readFileSync(BUNDLE, "utf8"),
  });
  expect(JSON.parse(real.stdout)).toMatchObject({
    written: ["admin_hosts.json", "trusted_viewers.json", "viewer_id"],
    skipped: [],
    backups: {},
  });
  expect(real.stderr).toContain("this machine now has the identity");
  const file = join(machine.root, "out.json");
  expect(await machine.run(["config", "export", file])).toMatchObject({
    stderr: expect.stringContaining("[warn] the bundle is not encrypted"),
    exitCode: 0,
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const piped = JSON.parse((await machine.run(["config", "export", "-"])).stdout);
  const original = JSON.parse(readFileSync(BUNDLE, "utf8"));
  expect(piped.files).toEqual(original.files);
  expect(JSON.parse(readFileSync(file, "utf8")).files).toEqual(original.files);
});

test("a changed file is shown as a diff without its token, and the backup is named", async () => {
  using machine = installed({
    "admin_hosts.json": JSON.stringify({ hosts: [{ label: "lab-01", token: "another-token" }] }),
  });
  const { stdout, exitCode } = await machine.run(["config", "import", BUNDLE, "--only", "admin_hosts.json"]);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^changed {4}admin_hosts\.json {2}\(was: admin_hosts\.json\.bak\.\d+\)$/m);
  expect(stdout).toContain('"token": "*** (1)"');
  expect(stdout).not.toMatch(/another-token|example-token/);
});

test("--dry-run --exit-code is 3 when something would change, and 0 when nothing would", async () => {
  using machine = installed();
  const dry = () => machine.run(["config", "import", BUNDLE, "--dry-run", "--exit-code"]);
  expect((await dry()).exitCode).toBe(3);
  expect((await machine.run(["config", "import", BUNDLE, "--dry-run"])).exitCode).toBe(0);
  const wrong = await machine.run(["config", "import", BUNDLE, "--exit-code"]);
  expect(wrong).toMatchObject({ exitCode: 2, stderr: "svc: --exit-code: expected with --dry-run only\n" });
  await machine.run(["config", "import", BUNDLE]);
  expect((await dry()).exitCode).toBe(0);
});

test("--merge adds the hosts that are not here, and names those that differ", async () => {
  const own = { label: "lab-01", base_url: "http://10.9.9.9", token: "own-token", tags: [] };
  using machine = installed({ "admin_hosts.json": JSON.stringify({ hosts: [own] }) });
  const lab2 = { ...own, label: "lab-02" };
  const bundle = bundleOf({ "admin_hosts.json": { hosts: [{ ...own, token: "their-token" }, lab2] } });
  const { stdout, stderr } = await machine.run(["config", "import", "-", "--merge"], {
    stdin: JSON.stringify(bundle),
  });
  expect(stdout).toMatch(/^changed {4}admin_hosts\.json {2}\(was: admin_hosts\.json\.bak\.\d+\)$/m);
  expect(stderr).toContain("lab-01: the entry here stays; the bundle has another");
  expect(`${stdout}${stderr}`).not.toMatch(/own-token|their-token/);
  expect(JSON.parse(machine.read("admin_hosts.json"))).toEqual({ hosts: [own, lab2] });
});

test("a refused bundle is exit 1 with every offence; a file that is not there is exit 2", async () => {
  using machine = installed();
  const bad = JSON.stringify({ manifest: { version: 2 }, files: { "../x": {}, "\u001b[2J": {} } });
  const refused = await machine.run(["config", "import", "-"], { stdin: bad });
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toBe(
    "svc: bundle rejected: manifest.version: expected 1 but found 2, of a newer svc; " +
      'files["../x"]: not a file that a bundle may carry; ' +
      'files["\\u001b[2J"]: not a file that a bundle may carry (svc help T97)\n',
  );
  const missing = await machine.run(["config", "import", "nowhere.json"]);
  expect(missing).toMatchObject({ exitCode: 2, stderr: "svc: file: nowhere.json cannot be read (ENOENT)\n" });
});

test("a bundle without files is reported, as is its export", async () => {
  using machine = installed();
  const made = await machine.run(["config", "export", "empty.json"]);
  expect(made.stdout).toBe("empty.json: no files\n");
  const { stdout, exitCode } = await machine.run(["config", "import", "empty.json"]);
  expect([stdout, exitCode]).toEqual(["no files\n", 0]);
});

test("a flag of an import is none of an export: it would carry more than was meant", async () => {
  using machine = installed({ viewer_id: "mine" });
  for (const flag of [["--only", "viewer_id"], ["--dry-run"]]) {
    const { exitCode, stdout } = await machine.run(["config", "export", "-", ...flag]);
    expect([flag, exitCode, stdout]).toEqual([flag, 2, ""]);
  }
  expect((await machine.run(["config", "import", BUNDLE, "--encrypt"])).exitCode).toBe(2);
});

test("with a passphrase and without --encrypt nothing is written in the clear", async () => {
  using machine = installed();
  const file = join(machine.root, "outside", "bundle.json");
  const { exitCode, stderr } = await machine.run(["config", "export", file, "--passphrase-file", file]);
  expect([exitCode, stderr]).toEqual([2, "svc: --passphrase-file: expected with --encrypt only\n"]);
  expect(existsSync(file)).toBe(false);
});

test("a sealed bundle opens with the passphrase of the environment or of a file", async () => {
  using machine = installed(OLD);
  const env = { SVC_PASSPHRASE: "correct horse" };
  const sealed = (await machine.run(["config", "export", "-", "--encrypt"], { env })).stdout;
  expect(sealed).toStartWith("-----BEGIN AGE ENCRYPTED FILE-----\n");
  const opened = await machine.run(["config", "import", "-"], { env, stdin: sealed });
  expect(opened.stdout).toBe("unchanged  remote_host_id\nunchanged  viewer_id\n");
  const secretFile = join(machine.root, "passphrase");
  await Bun.write(secretFile, "wrong horse\n");
  const wrong = await machine.run(["config", "import", "-", "--passphrase-file", secretFile], {
    stdin: sealed,
  });
  expect(wrong.exitCode).toBe(1);
  expect(wrong.stderr).toContain("the passphrase is wrong or the file is damaged");
  const nobody = await machine.run(["config", "export", "x", "--encrypt"]);
  expect(nobody).toMatchObject({
    exitCode: 2,
    stderr: "svc: passphrase: expected --passphrase-file, SVC_PASSPHRASE, or a terminal\n",
  });
});

/** What an import does to its folder, as system calls on Linux. */
const STEPS = "openat link fchmod write pwrite64 fsync rename unlink".split(" ");

for (const step of STEPS) {
  testWith("strace")(
    `killed with SIGKILL at any ${step}, an import leaves each file old or new, never half`,
    async () => {
      const NEW = {
        remote_host_id: "new-remote",
        viewer_id: "new-viewer",
        host_fingerprint: "new-".repeat(50_000),
      };
      const bundle = JSON.stringify(bundleOf(NEW));
      for (let nth = 1; ; nth++) {
        using machine = installed(OLD);
        const killed = await isKilledAt(machine, step, nth, bundle);
        const found = contents(machine);
        for (const name of ["remote_host_id", "viewer_id", "host_fingerprint"] as const) {
          expect([OLD[name], NEW[name]]).toContain(found[name]);
        }
        for (const [name, kept] of Object.entries(found)) {
          if (name.includes(".bak.")) expect(kept).toStartWith("old-");
        }
        if (killed && nth > 1) continue;
        const again = await machine.run(["config", "import", "-"], { stdin: bundle });
        expect(again.exitCode).toBe(0);
        expect(contents(machine)).toMatchObject(NEW);
        if (killed) continue;
        expect(nth).toBeGreaterThan(1);
        break;
      }
    },
  );
}

/** Imports `bundle` under strace, which ends it at the `nth` system call `step`; false when it came to its end. */
async function isKilledAt(
  { binary, config }: ReturnType<typeof installed>,
  step: string,
  nth: number,
  bundle: string,
): Promise<boolean> {
  const child = Bun.spawn(
    [
      ...["strace", "--follow-forks", "--quiet=all", "--output=/dev/null", `--trace=${step}`],
      `--inject=${step}:signal=KILL:when=${nth}`,
      ...[binary, "config", "import", "-", "--config-dir", config],
    ],
    { stdin: Buffer.from(bundle), stdout: "ignore", stderr: "ignore" },
  );
  const exitCode = await child.exited;
  if (child.signalCode === "SIGKILL") return true;
  expect(exitCode).toBe(0);
  return false;
}

function contents({ config, names, read }: ReturnType<typeof installed>): Record<string, string> {
  const files = names().filter((name) => statSync(join(config, name)).isFile());
  return Object.fromEntries(files.map((name) => [name, read(name)]));
}
