import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHECK_MS } from "../../src/audit/file";
import { auditChainCheck, clockCheck } from "../../src/diagnostics/audit";
import { type Capability, createCapabilities, optionalDepsCheck } from "../../src/diagnostics/capabilities";
import { mouseCheck, screenshotCheck } from "../../src/diagnostics/desktop";
import { diskSpaceCheck } from "../../src/diagnostics/disk";
import { executorCheck } from "../../src/diagnostics/executor";
import { permissionsCheck } from "../../src/diagnostics/permissions";
import { platformCheck } from "../../src/diagnostics/platform";
import { restApiCheck, tlsCertificateCheck } from "../../src/diagnostics/server";
import type { AuditSubject, ServerSubject } from "../../src/diagnostics/subjects";
import { unavailable } from "../../src/lib/errors";
import { temporaryFolder, testServer, testWith } from "../support";
import { executor, finding, subjects } from "./support";

describe("platform", () => {
  test("says what svc runs on", async () => {
    expect(await finding(platformCheck())).toMatchObject({
      ok: true,
      severity: "info",
      extra: { platform: process.platform, arch: process.arch, bun: Bun.version },
    });
  });

  test("a platform that svc is not built for is a warning", async () => {
    expect(await finding(platformCheck("freebsd"))).toMatchObject({ ok: true, severity: "warn" });
  });
});

describe("optional_deps", () => {
  const capability = (name: string, probe: Capability["probe"]): Capability => ({
    name,
    purpose: `what ${name} is for`,
    how: `install ${name}`,
    probe,
  });

  test("what is missing is a warning with what it is for and how to get it", async () => {
    const there = capability("ocr", async () => "tesseract 5.3.0");
    const gone = capability("media", async () => {
      throw unavailable("ffmpeg is not on PATH");
    });
    expect(await finding(optionalDepsCheck([there, gone]))).toMatchObject({
      ok: true,
      severity: "warn",
      detail: "1 of 2 there; missing: media",
      advice: ["media (what media is for): install media"],
      extra: {
        available: [{ name: "ocr", purpose: "what ocr is for", found: "tesseract 5.3.0" }],
        missing: [
          {
            name: "media",
            purpose: "what media is for",
            how: "install media",
            reason: "ffmpeg is not on PATH",
          },
        ],
      },
    });
  });

  test("there are seven, and the display and USB are asked of the features that use them", async () => {
    const noDisplay = async () => {
      throw unavailable("no display");
    };
    const all = createCapabilities(subjects({ desktop: noDisplay }));
    expect(all.map(({ name }) => name)).toEqual([
      "webrtc",
      "media",
      "usb",
      "audio",
      "ocr",
      "computer_vision",
      "gui",
    ]);
    const named = (name: string) => all.filter((one) => one.name === name);
    expect(await finding(optionalDepsCheck(named("usb")))).toMatchObject({ severity: "info" });
    expect(await finding(optionalDepsCheck(named("gui")))).toMatchObject({
      severity: "warn",
      extra: { missing: [{ name: "gui", reason: "no display" }] },
    });
  });

  test("a program counts when it answers, not when it is merely there", async () => {
    using bin = temporaryFolder();
    const path = process.env.PATH;
    const [ocr] = createCapabilities(subjects()).filter(({ name }) => name === "ocr");
    const plant = (script: string) => {
      writeFileSync(join(bin.path, "tesseract"), `#!/bin/sh\n${script}\n`);
      chmodSync(join(bin.path, "tesseract"), 0o755);
    };
    process.env.PATH = bin.path;
    try {
      const signal = new AbortController().signal;
      await expect(ocr?.probe(signal)).rejects.toThrow("tesseract is not on PATH");
      plant("exit 127");
      await expect(ocr?.probe(signal)).rejects.toThrow("failed with status 127");
      plant("echo tesseract 5.3.0; echo leptonica");
      expect(await ocr?.probe(signal)).toBe("tesseract 5.3.0");
    } finally {
      process.env.PATH = path;
    }
  });
});

describe("executor", () => {
  test("an action that was performed is good", async () => {
    const { ok, detail } = await finding(executorCheck(subjects()));
    expect([ok, detail]).toEqual([true, "1 commands, 0 runs going on in this process"]);
  });

  test("one that failed is a failure that says why", async () => {
    const broken = async () =>
      executor(async () => {
        throw unavailable("disk full");
      });
    expect(await finding(executorCheck(subjects({ executor: broken })))).toMatchObject({
      ok: false,
      detail: "AC_diagnose failed: disk full",
    });
  });

  test("one that takes anything is a failure as well", async () => {
    const lax = async () => ({ commands: 1, runs: 0, perform: async () => {} });
    expect(await finding(executorCheck(subjects({ executor: lax })))).toMatchObject({ ok: false });
  });
});

describe("audit_chain", () => {
  const withLog = (different: Partial<AuditSubject>) =>
    subjects({
      audit: async () => ({
        problem: async () => null,
        verify: async () => ({ ok: true, broken_at_id: null, total_rows: 12, reason: null }),
        list: async () => [],
        ...different,
      }),
    });

  test("a whole chain is good", async () => {
    expect(await finding(auditChainCheck(subjects()))).toMatchObject({
      ok: true,
      detail: "chain OK (12 rows)",
    });
  });

  test("a broken one names the row", async () => {
    const verify = async () => ({ ok: false, broken_at_id: 7, total_rows: 12, reason: "its hash is not" });
    expect(await finding(auditChainCheck(withLog({ verify })))).toMatchObject({
      ok: false,
      severity: "error",
      detail: "chain broken at row id 7 of 12: its hash is not",
      extra: { broken_at_id: 7, total_rows: 12 },
    });
  });

  test("a log that takes no rows is a failure, too", async () => {
    const problem = async () => "disk full";
    expect(await finding(auditChainCheck(withLog({ problem })))).toMatchObject({
      ok: false,
      detail: "chain OK (12 rows), and no row can be written: disk full",
    });
  });

  test("a log that is gone under a server is a failure, not a host without one", async () => {
    await using host = await testServer();
    await host.call("/commands");
    rmSync(join(host.configDir, "audit.db"));
    await Bun.sleep(2 * CHECK_MS);
    const { checks } = (await (await host.call("/diagnose?only=audit_chain")).json()) as {
      checks: Array<{ ok: boolean; detail: string }>;
    };
    expect(checks).toMatchObject([{ ok: false, detail: expect.stringContaining("replaced or removed") }]);
  });

  test("a host without a log is told of", async () => {
    const { ok, detail } = await finding(auditChainCheck(subjects({ audit: async () => null })));
    expect([ok, detail]).toEqual([true, "no audit log is kept here"]);
  });
});

describe("clock", () => {
  const at = (time: string) => finding(clockCheck(subjects(), () => new Date(time)));

  test("time after the newest row, or a little before it, is good", async () => {
    expect(await at("2026-04-27T10:31:00Z")).toMatchObject({ ok: true, severity: "info" });
    expect(await at("2026-04-27T10:29:30Z")).toMatchObject({ ok: true });
  });

  test("time that has gone back is a failure that says how far", async () => {
    const { ok, detail } = await at("2026-04-27T09:30:00Z");
    expect(ok).toBe(false);
    expect(detail).toContain("60 min before the newest audit row (id 12)");
  });

  test("a log that cannot be read is not the clock's fault", async () => {
    const log = { ...(await subjects().audit()), list: () => Promise.reject(unavailable("damaged")) };
    expect(await finding(clockCheck({ audit: async () => log as AuditSubject }))).toMatchObject({ ok: true });
  });

  test("an unreadable time is no reason to fail", async () => {
    const log = { ...(await subjects().audit()), list: async () => [{ id: 1, ts: "yesterday" }] };
    const audit = async () => log as AuditSubject;
    expect(await finding(clockCheck(subjects({ audit })))).toMatchObject({ ok: true });
  });
});

describe("screenshot and mouse", () => {
  test("with a display both are good", async () => {
    expect(await finding(screenshotCheck(subjects()))).toMatchObject({ ok: true, extra: { width: 1280 } });
    expect(await finding(mouseCheck(subjects()))).toMatchObject({ ok: true, detail: "at 100, 120" });
  });

  test("without one both fail and say what to do", async () => {
    const desktop = async () => {
      throw unavailable("no display");
    };
    for (const check of [screenshotCheck(subjects({ desktop })), mouseCheck(subjects({ desktop }))]) {
      const { ok, detail, advice } = await finding(check);
      expect([ok, detail]).toEqual([false, "no display"]);
      expect(advice.length).toBeGreaterThan(0);
    }
  });

  test("a picture that is no PNG is a failure", async () => {
    const desktop = async () => ({
      ...(await subjects().desktop()),
      screenshot: async () => ({ width: 1, height: 1, base64: "AAAA" }),
    });
    expect(await finding(screenshotCheck(subjects({ desktop })))).toMatchObject({ ok: false });
  });
});

describe("disk_space", () => {
  const disk = (free: Record<string, number>, devices: Record<string, number> = {}) =>
    finding(
      diskSpaceCheck("/home/lab", "/srv/svc", {
        freeBytes: async (path) => free[path] ?? Number.NaN,
        device: async (path) => devices[path] ?? 1,
      }),
    );

  test.each([
    [1e9, "info", true],
    [1e9 - 1, "warn", true],
    [1e8, "warn", true],
    [1e8 - 1, "error", false],
  ] as const)("%d bytes free is %s", async (bytes, severity, ok) => {
    expect(await disk({ "/home/lab": bytes })).toMatchObject({ severity, ok });
  });

  test("a configuration folder elsewhere has to have room as well", async () => {
    const found = await disk({ "/home/lab": 5e9, "/srv/svc": 5e7 }, { "/srv/svc": 2 });
    expect(found).toMatchObject({ ok: false, extra: { home_free_bytes: 5e9, config_dir_free_bytes: 5e7 } });
    expect(found.detail).toBe("5.0 GB free at the user's home, 50 MB at the configuration folder");
  });

  test("the real one answers", async () => {
    using folder = temporaryFolder();
    const { extra } = await finding(diskSpaceCheck(folder.path, folder.path));
    expect(extra.home_free_bytes).toBeGreaterThan(0);
  });
});

describe("permissions", () => {
  function host(modes: { folder: number; token: number }) {
    const folder = temporaryFolder();
    const token = join(folder.path, "rest_token");
    writeFileSync(token, "secret");
    chmodSync(token, modes.token);
    chmodSync(folder.path, modes.folder);
    const uid = process.getuid?.() ?? 0;
    return {
      check: permissionsCheck(
        {
          configDir: folder.path,
          privateFiles: () => [
            { name: "the token file", path: token, leaked: ["svc token rotate"] },
            { name: "audit.db", path: join(folder.path, "audit.db"), leaked: [] },
          ],
        },
        uid,
      ),
      [Symbol.dispose]: () => folder[Symbol.dispose](),
    };
  }

  test.each([
    [{ folder: 0o700, token: 0o600 }, "info", /private$/],
    [{ folder: 0o755, token: 0o600 }, "info", /private$/],
    [{ folder: 0o700, token: 0o644 }, "warn", /^the token file is open to others \(0644\), behind/],
    [{ folder: 0o755, token: 0o640 }, "error", /^the token file is open to others \(0640\)$/],
    [{ folder: 0o777, token: 0o600 }, "error", /^others can change the configuration folder \(0777\)$/],
  ] as const)("%j is %s", async (modes, severity, detail) => {
    using there = host(modes);
    const found = await finding(there.check);
    expect(found.severity).toBe(severity);
    expect(found.detail).toMatch(detail);
    expect(found.advice.length > 0).toBe(severity !== "info");
  });

  const only = (configDir: string) => ({ configDir, privateFiles: () => [] });

  test("what belongs to somebody else is a failure", async () => {
    using folder = temporaryFolder();
    // Root's own is nobody's to change, and this process may use it.
    if (process.getuid?.() === 0) chownSync(folder.path, 4_242, 4_242);
    expect(await finding(permissionsCheck(only(folder.path), 999_999))).toMatchObject({
      ok: false,
      detail: expect.stringContaining("the configuration folder belongs to user"),
    });
  });

  test("root on somebody else's folder is a warning", async () => {
    using folder = temporaryFolder();
    if (process.getuid?.() === 0) chownSync(folder.path, 4_242, 4_242);
    const found = await finding(permissionsCheck(only(folder.path), 0));
    expect([found.severity, found.detail]).toEqual(["warn", expect.stringContaining("svc runs as root")]);
  });
});

describe("rest_api", () => {
  const server = (different: Partial<ServerSubject> = {}) =>
    subjects({
      server: () => ({
        url: "http://127.0.0.1:9939",
        pid: 42,
        health: async () => ({ status: "ok" }),
        overview: async () => ({ version: "0.1.0", uptimeSeconds: 61.4, auditFailures: 0 }),
        ...different,
      }),
    });

  test("no server is no failure", async () => {
    expect(await finding(restApiCheck(subjects()))).toMatchObject({ ok: true, extra: { running: false } });
  });

  test("one that answers says since when", async () => {
    const { detail } = await finding(restApiCheck(server()));
    expect(detail).toBe("http://127.0.0.1:9939 answers, up for 61 s, svc 0.1.0");
  });

  test("one that does not is a failure", async () => {
    const health = async () => {
      throw unavailable("refused");
    };
    expect(await finding(restApiCheck(server({ health })))).toMatchObject({
      ok: false,
      detail: "process 42 serves http://127.0.0.1:9939 and does not answer: refused",
    });
  });

  test("audit rows that it could not write are a warning", async () => {
    const overview = async () => ({ version: "0.1.0", uptimeSeconds: 1, auditFailures: 3 });
    const { severity, detail } = await finding(restApiCheck(server({ overview })));
    expect(severity).toBe("warn");
    expect(detail).toContain("3 audit rows could not be written");
  });

  test("one that does not take this token is a warning", async () => {
    const overview = async () => {
      throw unavailable("HTTP 401");
    };
    expect(await finding(restApiCheck(server({ overview })))).toMatchObject({ ok: true, severity: "warn" });
  });
});

describe("tls_certificate", () => {
  test("without a server, or without TLS, there is nothing to expire", async () => {
    expect(await finding(tlsCertificateCheck(subjects()))).toMatchObject({ ok: true, extra: { tls: false } });
  });

  /** What is found `days` after a certificate for 30 days was made. */
  async function after(days: number) {
    using folder = temporaryFolder();
    const [key, cert] = [join(folder.path, "key.pem"), join(folder.path, "cert.pem")];
    const flags =
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=lab-01".split(" ");
    Bun.spawnSync(["openssl", ...flags, "-keyout", key, "-out", cert], { stderr: "ignore" });
    using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") },
      fetch: () => new Response(),
    });
    const url = `https://127.0.0.1:${server.port}`;
    const asked = {
      server: () => ({ url, pid: 42, health: async () => {}, overview: () => Promise.reject(new Error()) }),
    };
    return await finding(tlsCertificateCheck(asked, () => new Date(Date.now() + days * 86_400_000)));
  }

  testWith("openssl").each([
    [0, "info", /^valid for \d+ days/],
    [17, "warn", /^valid for 1[23] days/],
    [31, "error", /^expired on /],
    [-1, "error", /^not valid before /],
  ] as const)("%d days into 30 it is %s", async (days, severity, detail) => {
    const found = await after(days);
    expect(found.severity).toBe(severity);
    expect(found.detail).toMatch(detail);
  });

  test("a server that is gone, or does not speak TLS, is a failure", async () => {
    using plain = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
    const server = () => ({
      url: `https://127.0.0.1:${plain.port}`,
      pid: 42,
      health: async () => {},
      overview: () => Promise.reject(new Error()),
    });
    expect(await finding(tlsCertificateCheck({ server }))).toMatchObject({
      ok: false,
      advice: [expect.stringContaining("restart")],
    });
  });
});
