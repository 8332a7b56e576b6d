/** `svc diagnose` as the compiled binary, from an empty folder: with a display, without one, and with things broken. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { CHECK_NAMES } from "../../src/host/diagnostics/operations";
import { startDisplay } from "../host/desktop/support";
import { BINARY, installBinary, serveBinary, temporaryFolder, testWith } from "../support";

const NO_DISPLAY = { DISPLAY: undefined, WAYLAND_DISPLAY: undefined };
const WITHOUT_DESKTOP = ["diagnose", "--skip", "screenshot,mouse"];

testWith("Xvfb")("with a display it exits 0", async () => {
  using host = installBinary();
  await using display = await startDisplay({ managed: false });
  const { stdout, exitCode } = await host.run(["diagnose"], { env: display.env });
  expect(stdout).toMatch(/^ok {4}screenshot {7}X11 \(:\d+\): 1280x800, \d+ kB(, videos by .+)?$/m);
  expect(stdout).toMatch(/^ok {4}mouse {12}at \d+, \d+$/m);
  expect(stdout).toMatch(/^ok {4}optional_deps {4}4 of 4 found$/m);
  expect(stdout).toContain(`\n${CHECK_NAMES.length} checks; none failed`);
  expect(exitCode).toBe(0);
});

test("without one it exits 1, names the two checks and says what to do", async () => {
  using host = installBinary();
  const { stdout, exitCode } = await host.run(["diagnose"], { env: NO_DISPLAY });
  expect(stdout).toMatch(/^FAIL {2}screenshot .*\n +> run svc in the desktop's session/m);
  expect(stdout).toContain(`\n${CHECK_NAMES.length} checks; 2 failed: screenshot, mouse; `);
  expect(exitCode).toBe(1);
});

test("a host without a desktop on purpose says so once: its checks are left out from then on, also by its server", async () => {
  using host = installBinary();
  const set = await host.run(["config", "set", "diagnose.skip", "screenshot,mouse"]);
  expect(set).toMatchObject({ exitCode: 0, stdout: "diagnose.skip: screenshot,mouse\n" });
  const { stdout, exitCode } = await host.run(["diagnose"], { env: NO_DISPLAY });
  expect(stdout).toContain(`\n${CHECK_NAMES.length - 2} checks; none failed`);
  expect(stdout).toEndWith("left out on this host: screenshot, mouse\n");
  expect(exitCode).toBe(0);
  // Who names a check wants it.
  expect((await host.run(["diagnose", "--only", "mouse"], { env: NO_DISPLAY })).exitCode).toBe(1);

  const bundle = join(host.path, "kiosk.json");
  expect((await host.run(["config", "export", bundle])).stdout).toContain("host_service.json");
  await using kiosk = await serveBinary([], { env: { ...process.env, ...NO_DISPLAY } });
  const report = async () => JSON.parse(await (await kiosk.call("/diagnose")).text());
  expect(await report()).toMatchObject({ ok: false, skipped: [] });
  await host.run(["config", "import", bundle, "--config-dir", kiosk.configDir]);
  expect(await report()).toMatchObject({ ok: true, skipped: ["screenshot", "mouse"] });
}, 180_000);

test("--json prints the report", async () => {
  using host = installBinary();
  const { stdout } = await host.run(["diagnose", "--json", "--only", "platform,mouse"], { env: NO_DISPLAY });
  expect(JSON.parse(stdout)).toMatchObject({
    ok: false,
    checks: [
      { name: "platform", ok: true, severity: "info", advice: [], duration_ms: expect.any(Number) },
      { name: "mouse", ok: false, severity: "error", extra: {} },
    ],
    count: 2,
    failed: 1,
  });
});

test("with a server, svc diagnose counts the commands that /commands of that server has", async () => {
  using host = installBinary();
  for (const flags of [[], ["--allow-shell"]]) {
    await using server = await serveBinary(flags);
    const { count } = (await (await server.call("/commands")).json()) as { count: number };
    const { stdout } = await host.run(["diagnose", "--only", "executor", "--config-dir", server.configDir]);
    expect(stdout).toContain(` ${count} commands, `);
  }
});

test("a tampered audit log is exit 1, and its row is named", async () => {
  using host = installBinary();
  for (const nth of ["first", "second", "third"]) await host.run(["audit", "log", "test", "--detail", nth]);
  expect((await host.run(WITHOUT_DESKTOP)).exitCode).toBe(0);
  using db = new Database(join(host.configDir, "audit.db"));
  db.run("UPDATE events SET detail = 'forged' WHERE id = 2");
  const { stdout, exitCode } = await host.run(WITHOUT_DESKTOP);
  expect(stdout).toMatch(/^FAIL {2}audit_chain {6}chain broken at row id 2 of 3: /m);
  expect(exitCode).toBe(1);
}, 180_000);

test("a server that hangs fails its check within the deadline and leaves the others standing", async () => {
  using host = installBinary();
  await using server = await serveBinary();
  const diagnose = () =>
    host.run([...WITHOUT_DESKTOP, "--json", "--config-dir", server.configDir], {
      env: { SVC_TOKEN: server.token },
    });
  expect(JSON.parse((await diagnose()).stdout)).toMatchObject({ ok: true });
  process.kill(server.pid, "SIGSTOP");
  try {
    const { stdout, exitCode } = await diagnose();
    const failed = JSON.parse(stdout).checks.filter((check: { ok: boolean }) => !check.ok);
    expect(failed).toMatchObject([
      { name: "rest_api", detail: expect.stringContaining("no answer within 4 s") },
    ]);
    expect(exitCode).toBe(1);
  } finally {
    process.kill(server.pid, "SIGCONT");
  }
}, 180_000);

test("a check that there is not is exit 2 and named", async () => {
  using host = installBinary();
  const wrong = await host.run(["diagnose", "--only", "disk"]);
  expect(wrong.exitCode).toBe(2);
  expect(wrong.stderr).toContain("svc: --only: expected platform, environment, ");
  expect(wrong.stderr).toMatch(/ or \w+ but found "disk"/);
  const none = await host.run(["diagnose", "--only", "mouse", "--skip", "mouse"]);
  expect(none).toMatchObject({ exitCode: 2, stderr: "svc: --skip: leaves no check to run\n" });
});

test("over HTTP the server reports the same", async () => {
  await using server = await serveBinary();
  const response = await server.call("/diagnose?only=platform&only=rest_api");
  expect(await response.json()).toMatchObject({
    ok: true,
    checks: [{ name: "platform" }, { name: "rest_api", extra: { running: true, audit_failures: 0 } }],
  });
});

/** Runs the binary in a root that has nothing but the C library; `mount` is a command before it. */
async function runInBareRoot(args: readonly string[], mount = "true") {
  using root = temporaryFolder();
  const listed = await Bun.$`ldd ${BINARY}`.text();
  for (const [library] of listed.matchAll(/\/\S+(?= \(0x)/g)) {
    mkdirSync(join(root.path, dirname(library)), { recursive: true });
    copyFileSync(library, join(root.path, library));
  }
  for (const name of ["proc", "dev", "tmp"]) mkdirSync(join(root.path, name));
  copyFileSync(BINARY, join(root.path, "svc"));
  const script = `cd "$0" && mount --rbind /proc proc && mount --rbind /dev dev && ${mount} && exec chroot . /svc "$@"`;
  const child = Bun.spawn(["unshare", "--map-root-user", "--mount", "sh", "-c", script, root.path, ...args], {
    env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, HOME: "/" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return await child.stdout.text();
}

testWith(
  "unshare",
  "mount",
  "ldd",
)("a library that the system lacks is named, with its package", async () => {
  const said = await runInBareRoot(["diagnose", "--only", "optional_deps"]);
  expect(said).toContain("usb (USB devices that come and go): install libgcc_s.so.1 (Debian: libgcc-s1; ");
});

for (const option of ["noexec", "ro"]) {
  testWith(
    "unshare",
    "mount",
    "ldd",
  )(`native addons load with a /tmp that is mounted ${option}`, async () => {
    const said = await runInBareRoot(
      ["diagnose", "--only", "optional_deps", "--json"],
      `mount -t tmpfs -o ${option} none tmp`,
    );
    expect(said).toContain('"name":"webrtc","purpose":"peer sessions","found"');
  });
}
