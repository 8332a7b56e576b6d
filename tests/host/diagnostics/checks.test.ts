import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHECK_MS } from "../../../src/host/audit/open-file";
import { CHECK_NAMES, loadChecks } from "../../../src/host/diagnostics/checks";
import { auditChain } from "../../../src/host/diagnostics/checks/audit-chain";
import { clock } from "../../../src/host/diagnostics/checks/clock";
import { desktops } from "../../../src/host/diagnostics/checks/desktops";
import { diskSpace, judgeSpace } from "../../../src/host/diagnostics/checks/disk-space";
import { executor } from "../../../src/host/diagnostics/checks/executor";
import { mouse } from "../../../src/host/diagnostics/checks/mouse";
import {
  CAPABILITIES,
  type Capability,
  judgeCapabilities,
  optionalDeps,
} from "../../../src/host/diagnostics/checks/optional-deps";
import { judgePermissions } from "../../../src/host/diagnostics/checks/permissions";
import { judgePlatform, platform } from "../../../src/host/diagnostics/checks/platform";
import { restApi } from "../../../src/host/diagnostics/checks/rest-api";
import { screenshot } from "../../../src/host/diagnostics/checks/screenshot";
import { judgeValidity, tlsCertificate } from "../../../src/host/diagnostics/checks/tls-certificate";
import { judgeTokens, tokens } from "../../../src/host/diagnostics/checks/tokens";
import { unavailable } from "../../../src/lib/errors";
import { Requester } from "../../../src/lib/slots";
import { movableClock, temporaryFolder, testServer, testWith } from "../../support";
import { DESKTOP, executorOf, finding, host, LOG, SERVER } from "./support";

describe("platform", () => {
  test("says what svc runs on", async () => {
    expect(await finding(platform)).toMatchObject({
      ok: true,
      severity: "info",
      extra: { platform: process.platform, arch: process.arch, bun: Bun.version },
    });
  });

  test("a platform that svc is not built for is a warning", () => {
    expect(judgePlatform("freebsd")).toMatchObject({ ok: true, severity: "warn" });
  });
});

describe("tokens", () => {
  const now = Date.parse("2026-11-22T12:00:00Z");
  const token = (name: string, days: number | null) => {
    return { name, expires: days === null ? null : new Date(now + days * 86_400_000).toISOString() };
  };

  test("that end, but not soon, are as they should be, and so is a host without any", async () => {
    expect(judgeTokens([token("anna", 8)], null, now)).toMatchObject({ ok: true, severity: "info" });
    expect(await finding(tokens)).toMatchObject({ severity: "info", detail: "named tokens: 0" });
  });

  test("that never end, have ended or end within a week are named in a warning", () => {
    const all = [token("old", null), token("gone", -1), token("soon", 6.9), token("fine", 7.1)];
    expect(judgeTokens(all, null, now)).toMatchObject({
      ok: true,
      severity: "warn",
      detail: "expires within a week: soon; expired: gone; without expiry: old",
      advice: [
        expect.stringContaining("svc token rotate NAME --overlap 24h"),
        expect.stringContaining("svc token remove NAME"),
        expect.stringContaining("--expires 90d"),
      ],
      extra: { count: 4, expired: ["gone"], ending: ["soon"], endless: ["old"] },
    });
  });

  test("the owner's token over the network is a warning for a week", () => {
    expect(judgeTokens([], "2026-11-16", now)).toMatchObject({
      severity: "warn",
      detail: "the owner's token, which allows everything, was used over the network on 2026-11-16",
    });
    expect(judgeTokens([], "2026-11-13", now)).toMatchObject({ severity: "info" });
  });

  test("that work for longer than they were made for, as the clock was ahead, are named in a warning", () => {
    expect(judgeTokens([token("anna", 490)], null, now, ["anna"])).toMatchObject({
      severity: "warn",
      detail: "works for longer than it was made for, as the clock was ahead: anna",
      extra: { late: ["anna"] },
    });
  });

  test("of many, ten are named", () => {
    const many = Array.from({ length: 12 }, (_, nth) => token(`t${nth}`, null));
    expect(judgeTokens(many, null, now).detail).toEndWith("t8, t9 and 2 more");
  });
});

describe("optional_deps", () => {
  const capability = (name: string, probe: Capability["probe"]): Capability => ({
    name,
    purpose: `what ${name} is for`,
    how: [`install ${name}`, "restart svc"],
    probe,
  });

  test("a missing program is a warning with its purpose and how to get it", async () => {
    const there = capability("ocr", async () => "tesseract 5.3.0");
    const gone = capability("media", async () => {
      throw unavailable("ffmpeg is not on PATH");
    });
    expect(await judgeCapabilities([there, gone], host(), new Requester(null))).toMatchObject({
      ok: true,
      severity: "warn",
      detail: "1 of 2 found; missing: media",
      advice: ["media (what media is for): install media", "media (what media is for): restart svc"],
      extra: {
        available: [{ name: "ocr", purpose: "what ocr is for", found: "tesseract 5.3.0" }],
        missing: [
          {
            name: "media",
            purpose: "what media is for",
            how: "install media; restart svc",
            reason: "ffmpeg is not on PATH",
          },
        ],
      },
    });
  });

  test("a host that leaves out the picture of the screen is not warned that there is no screen", async () => {
    const desktop = async () => {
      throw unavailable("no display");
    };
    const skipping = (...names: string[]) => host({ desktop, settings: async () => ({ get: () => names }) });
    expect((await finding(optionalDeps, skipping("mouse"))).severity).toBe("warn");
    expect(await finding(optionalDeps, skipping("screenshot"))).toMatchObject({
      severity: "info",
      extra: { missing: [] },
    });
  });

  test("a host that is meant to have no screen is not warned that there is none", async () => {
    const desktop = async () => {
      throw unavailable("no display");
    };
    const settings = async () => ({
      get: (name: string) => (name === "desktop.screen" ? ["none"] : []),
    });
    expect(await finding(optionalDeps, host({ desktop, settings }))).toMatchObject({
      severity: "info",
      extra: { missing: [] },
    });
  });

  test("what few hosts need is not missed", async () => {
    const rare = { name: "ocr", purpose: "reading", rare: true, how: ["install it"] } as const;
    const probe = async () => {
      throw unavailable("not installed");
    };
    const found = await judgeCapabilities([{ ...rare, probe }], host({}), new Requester(null));
    expect(found).toMatchObject({ severity: "info", detail: "0 of 0 found", extra: { missing: [] } });
  });

  test("how to read text is said where there is a screen, and is no warning", async () => {
    const gui = capability("gui", async () => "1280x800");
    const ocr = {
      ...capability("ocr", async () => Promise.reject(unavailable("none"))),
      rare: true as const,
    };
    const judge = (...all: readonly Capability[]) => judgeCapabilities(all, host(), new Requester(null));
    expect(await judge(gui, { ...ocr, goesWith: "gui" })).toMatchObject({
      ok: true,
      severity: "info",
      detail: "1 of 1 found; without: ocr",
      advice: ["ocr (what ocr is for): install ocr", "ocr (what ocr is for): restart svc"],
      extra: { missing: [], without: [{ name: "ocr", how: "install ocr; restart svc" }] },
    });
    expect(await judge({ ...ocr, goesWith: "gui" })).toMatchObject({ detail: "0 of 0 found", advice: [] });
  });

  test("what reads text is named, and a warning where it has no language", async () => {
    const reading = async (found: string, step?: string) => {
      const desktop = async () => ({ ...DESKTOP, textReader: async () => ({ found, step }) });
      return judgeCapabilities(
        CAPABILITIES.filter(({ name }) => name === "ocr"),
        host({ desktop }),
        new Requester(null),
      );
    };
    expect(await reading("tesseract-wasm 0.11.0 with eng")).toMatchObject({
      severity: "info",
      extra: { available: [{ name: "ocr", found: "tesseract-wasm 0.11.0 with eng" }] },
    });
    expect(await reading("tesseract-wasm 0.11.0", "add one")).toMatchObject({
      severity: "warn",
      advice: ["ocr (reading text on the screen): add one"],
    });
  });

  test("what svc has no use for is named, with why: there are seven in all", async () => {
    const { extra } = await judgeCapabilities(CAPABILITIES, host(), new Requester(null));
    const notTried = extra?.not_tried as ReadonlyArray<{ name: string; why: string }>;
    expect(notTried.map(({ name }) => name)).toEqual(["audio", "computer_vision", "media"]);
    expect(notTried.length + CAPABILITIES.length).toBe(7);
  });

  test("svc lists what it can use and only that, and asks the features that use it", async () => {
    const noDisplay = async () => {
      throw unavailable("no display");
    };
    expect(CAPABILITIES.map(({ name }) => name)).toEqual(["webrtc", "usb", "gui", "ocr"]);
    const asked = (name: string) =>
      judgeCapabilities(
        CAPABILITIES.filter((one) => one.name === name),
        host({ desktop: noDisplay }),
        new Requester(null),
      );
    expect(await asked("usb")).toMatchObject({ severity: "info" });
    expect(await asked("gui")).toMatchObject({
      severity: "warn",
      extra: { missing: [{ name: "gui", reason: "no display" }] },
    });
  });
});

describe("executor", () => {
  test("an action that was performed is good", async () => {
    const { ok, detail } = await finding(executor);
    expect([ok, detail]).toEqual([true, "1 commands, 0 active runs in this process"]);
  });

  test("the commands are those of the server that runs here", async () => {
    const running = { ...SERVER, permits: ["shell"] };
    const { extra } = await finding(executor, host({ runningServer: () => running }));
    expect(extra).toMatchObject({ commands: 2 });
  });

  test("as many commands are counted as /commands has, whatever the server permits", async () => {
    for (const allow_shell of [false, true]) {
      await using server = await testServer({ service: { allow_shell } });
      const { count } = (await (await server.call("/commands")).json()) as { count: number };
      const report = await (await server.call("/diagnose?only=executor")).json();
      expect(report).toMatchObject({ checks: [{ extra: { commands: count } }] });
    }
  });

  test("one that failed is a failure that says why", async () => {
    const broken = async () =>
      executorOf(() => {
        throw unavailable("disk full");
      });
    expect(await finding(executor, host({ executor: broken }))).toMatchObject({
      ok: false,
      detail: "AC_diagnose failed: disk full",
    });
  });

  test("one that takes anything is a failure as well", async () => {
    const lax = async () =>
      executorOf(
        () => {},
        () => true,
      );
    expect(await finding(executor, host({ executor: lax }))).toMatchObject({ ok: false });
  });
});

describe("audit_chain", () => {
  const withLog = (different: Partial<typeof LOG>) =>
    host({ existingAudit: async () => ({ ...LOG, ...different }) });

  test("a whole chain is good", async () => {
    expect(await finding(auditChain)).toMatchObject({
      ok: true,
      detail: "chain OK (12 rows)",
    });
  });

  test("a broken one names the row", async () => {
    const verify = async () => ({ ok: false, broken_at_id: 7, total_rows: 12, reason: "its hash is not" });
    expect(await finding(auditChain, withLog({ verify }))).toMatchObject({
      ok: false,
      severity: "error",
      detail: "chain broken at row id 7 of 12: its hash is not",
      extra: { broken_at_id: 7, total_rows: 12 },
    });
  });

  test("a log that takes no rows is a failure, too", async () => {
    const problem = async () => "disk full";
    expect(await finding(auditChain, withLog({ problem }))).toMatchObject({
      ok: false,
      detail: "chain OK (12 rows), but no row can be written: disk full",
    });
  });

  test("a log that was removed under a server is a failure, not a host without a log", async () => {
    await using host = await testServer();
    await host.call("/commands");
    rmSync(join(host.configDir, "audit.db"));
    using clock = movableClock();
    clock.advance(2 * CHECK_MS);
    const { checks } = (await (await host.call("/diagnose?only=audit_chain")).json()) as {
      checks: Array<{ ok: boolean; detail: string }>;
    };
    expect(checks).toMatchObject([{ ok: false, detail: expect.stringContaining("replaced or removed") }]);
  });

  test("a host without a log is not a failure", async () => {
    const { ok, detail } = await finding(auditChain, host({ existingAudit: async () => null }));
    expect([ok, detail]).toEqual([true, "no audit log is kept here"]);
  });
});

describe("clock", () => {
  /** What is found when the latest row is `seconds` ahead of the clock. */
  const ahead = (seconds: number, lastSeconds = seconds) =>
    withLatest(async () => ({ id: 12, ts: inSeconds(seconds), last_ts: inSeconds(lastSeconds) }));
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
  const withLatest = (latest: (typeof LOG)["latest"]) =>
    finding(clock, host({ existingAudit: async () => ({ ...LOG, latest }) }));

  test("time after the latest row, or a little before it, is good", async () => {
    expect(await ahead(-60)).toMatchObject({ ok: true, severity: "info" });
    expect(await ahead(30)).toMatchObject({ ok: true });
  });

  test("time that has gone back is a failure that says how far", async () => {
    const { ok, detail } = await ahead(3_630);
    expect(ok).toBe(false);
    expect(detail).toContain("60 min before the latest audit row (id 12)");
  });

  test("a clock that was ahead once, and is right since, is a warning that says which row", async () => {
    const { ok, severity, detail } = await ahead(400 * 86_400, -5);
    expect([ok, severity]).toEqual([true, "warn"]);
    expect(detail).toContain("the latest audit row (id 12), and later rows have earlier times");
    expect((await ahead(400 * 86_400, 3_600)).ok).toBe(false);
  });

  test("a log that cannot be read is not the clock's fault", async () => {
    expect(await withLatest(() => Promise.reject(unavailable("damaged")))).toMatchObject({ ok: true });
  });

  test("an unreadable time is no reason to fail", async () => {
    expect(await withLatest(async () => ({ id: 1, ts: "yesterday", last_ts: "yesterday" }))).toMatchObject({
      ok: true,
    });
  });
});

describe("screenshot and mouse", () => {
  test("with a display both are good", async () => {
    expect(await finding(screenshot)).toMatchObject({ ok: true, extra: { width: 1280 } });
    expect(await finding(mouse)).toMatchObject({ ok: true, detail: "at 100, 120" });
  });

  test("the library that encodes videos is named, and one that does not start is no fault", async () => {
    const found = (videoEncoder: () => Promise<string | null>) =>
      finding(screenshot, host({ desktop: async () => ({ ...DESKTOP, videoEncoder }) }));
    expect(await found(async () => "x264 (build 164)")).toMatchObject({
      ok: true,
      detail: "X11 (:0): 1280x800, 1 kB, videos by x264 (build 164)",
      extra: { video_encoder: "x264 (build 164)" },
    });
    expect(await found(() => Promise.reject(unavailable("it crashed")))).toMatchObject({
      ok: true,
      detail: "X11 (:0): 1280x800, 1 kB",
      extra: { video_encoder: null },
    });
  });

  test("without one both fail and say what to do", async () => {
    const desktop = async () => {
      throw unavailable("no display");
    };
    for (const check of [screenshot, mouse] as const) {
      const { ok, detail, advice } = await finding(check, host({ desktop }));
      expect([ok, detail]).toEqual([false, "no display"]);
      expect(advice.length).toBeGreaterThan(0);
    }
  });

  test("what a compositor keeps from programs is a warning, and a failure where it is pictures", async () => {
    const found = (...lacks: string[]) => {
      const way = "Mutter's remote desktop";
      const session = async () => ({ system: "wayland", name: "gnome-shell", way, lacks }) as const;
      return finding(screenshot, host({ desktop: async () => ({ ...DESKTOP, session }) }));
    };
    expect(await found("keys (zwp_virtual_keyboard_manager_v1)")).toMatchObject({
      ...{ ok: true, severity: "warn" },
      detail:
        "Wayland (gnome-shell), by Mutter's remote desktop: 1280x800, 1 kB; no keys (zwp_virtual_keyboard_manager_v1)",
      advice: [expect.stringContaining("svc help desktop")],
      extra: { session: "wayland", session_name: "gnome-shell", session_way: "Mutter's remote desktop" },
    });
    expect(await found("pictures (p)", "keys (k)")).toMatchObject({
      ok: false,
      detail: "Wayland (gnome-shell), by Mutter's remote desktop, offers no pictures (p), no keys (k)",
    });
  });

  test("a picture that is no PNG is a failure", async () => {
    const desktop = async () => ({
      ...DESKTOP,
      screenshot: async () => ({ width: 1, height: 1, base64: "AAAA" }),
    });
    expect(await finding(screenshot, host({ desktop }))).toMatchObject({ ok: false });
  });
});

describe.skipIf(process.platform !== "linux")("desktops", () => {
  const GIB = 2 ** 30;
  const found = (...used: number[]) =>
    finding(
      desktops,
      host({
        desktopTools: async () => ({
          ...{ uses: ["Xvfb", "openbox"], missing: [], hasBus: true },
          disk: {
            limit: 2 * GIB,
            used: used.map((used_bytes, nth) => ({ name: `desktop-${nth}`, used_bytes })),
          },
        }),
      }),
    );

  test("says what their folders may hold, and how that is kept", async () => {
    expect((await found()).detail).toContain("each holds at most 2 GiB of files, or svc ends it");
  });

  test("names the one that holds most, and warns of it from nine tenths on", async () => {
    const half = await found(GIB / 4, GIB);
    expect([half.severity, half.detail.split("; ").at(-1)]).toEqual(["info", "most has desktop-1: 1 GiB"]);
    expect(await found(GIB, 1.9 * GIB)).toMatchObject({
      severity: "warn",
      advice: [expect.stringContaining("svc serve --desktop-disk 4GiB")],
    });
  });
});

describe("disk_space", () => {
  test.each([
    [1e9, "info", true],
    [1e9 - 1, "warn", true],
    [1e8, "warn", true],
    [1e8 - 1, "error", false],
  ] as const)("%d bytes free is %s", (bytes, severity, ok) => {
    expect(judgeSpace(bytes)).toMatchObject({ severity, ok });
  });

  test("a configuration folder elsewhere has to have room as well", () => {
    const found = judgeSpace(5e9, 5e7);
    expect(found).toMatchObject({ ok: false, extra: { home_free_bytes: 5e9, config_dir_free_bytes: 5e7 } });
    expect(found.detail).toBe("5.0 GB free at the user's home, 50 MB at the configuration folder");
  });

  test("the real one answers", async () => {
    using folder = temporaryFolder();
    const { extra } = await finding(diskSpace, host({ configDir: folder.path }));
    expect(extra.home_free_bytes).toBeGreaterThan(0);
  });
});

describe("permissions", () => {
  function found(modes: { folder: number; token: number }) {
    using folder = temporaryFolder();
    const token = join(folder.path, "rest_token");
    writeFileSync(token, "secret");
    chmodSync(token, modes.token);
    chmodSync(folder.path, modes.folder);
    return judgePermissions(folder.path, undefined, process.getuid?.() ?? 0);
  }

  test.each([
    [{ folder: 0o700, token: 0o600 }, "info", /private$/],
    [{ folder: 0o755, token: 0o600 }, "info", /private$/],
    [{ folder: 0o700, token: 0o644 }, "warn", /^the token file is open to others \(0644\), behind/],
    [{ folder: 0o755, token: 0o640 }, "error", /^the token file is open to others \(0640\)$/],
    [{ folder: 0o777, token: 0o600 }, "error", /^others can change the configuration folder \(0777\)$/],
  ] as const)("%j is %s", async (modes, severity, detail) => {
    const { advice, ...verdict } = found(modes);
    expect(verdict.severity).toBe(severity);
    expect(verdict.detail).toMatch(detail);
    expect(advice.length > 0).toBe(severity !== "info");
  });

  test("what desks have applied here, and this desk to others, is private too", () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "state"));
    for (const name of ["state/lab.json", "fleet_states.json"]) {
      writeFileSync(join(folder.path, name), "{}");
      chmodSync(join(folder.path, name), 0o644);
    }
    const { detail, advice } = judgePermissions(folder.path, undefined, process.getuid?.() ?? 0);
    expect(detail).toContain("state/lab.json is open to others (0644)");
    expect(detail).toContain("fleet_states.json is open to others (0644)");
    expect(advice).toContain("change the secrets in the scripts and jobs in it");
  });

  test("what a standby keeps of its desk, and what a desk knows of its standbys, is private too", () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "standby"));
    const names = [
      ...["standby_key", "standby/following.json", "standby/aaaaaaaa.age"],
      ...["standbys.json", "desk_generation.json", "taken_over.json"],
    ];
    for (const name of names) {
      writeFileSync(join(folder.path, name), "{}");
      chmodSync(join(folder.path, name), 0o644);
    }
    const { detail } = judgePermissions(folder.path, undefined, process.getuid?.() ?? 0);
    for (const name of names) expect(detail).toContain(`${name} is open to others (0644)`);
  });

  test("what belongs to somebody else is a failure", async () => {
    using folder = temporaryFolder();
    // Root's own is nobody's to change, and this process may use it.
    if (process.getuid?.() === 0) chownSync(folder.path, 4_242, 4_242);
    expect(judgePermissions(folder.path, undefined, 999_999)).toMatchObject({
      ok: false,
      detail: expect.stringContaining("the configuration folder belongs to user"),
    });
  });

  test("root on somebody else's folder is a warning", async () => {
    using folder = temporaryFolder();
    if (process.getuid?.() === 0) chownSync(folder.path, 4_242, 4_242);
    const found = judgePermissions(folder.path, undefined, 0);
    expect([found.severity, found.detail]).toEqual(["warn", expect.stringContaining("svc runs as root")]);
  });
});

describe("rest_api", () => {
  const found = (different: Partial<typeof SERVER> = {}) =>
    finding(restApi, host({ runningServer: () => ({ ...SERVER, ...different }) }));

  test("no server is no failure", async () => {
    expect(await finding(restApi)).toMatchObject({ ok: true, extra: { running: false } });
  });

  test("one that answers says since when", async () => {
    const { detail } = await found();
    expect(detail).toBe("http://127.0.0.1:9939 answers, up for 61 s, svc 0.1.0");
  });

  test("one that does not is a failure", async () => {
    const health = async () => {
      throw unavailable("refused");
    };
    expect(await found({ health })).toMatchObject({
      ok: false,
      detail: "process 42 serves http://127.0.0.1:9939 and does not answer: refused",
    });
  });

  test("audit rows that it could not write are a warning", async () => {
    const overview = async () => ({ ...(await SERVER.overview()), audit: { failures: 3 } });
    const { severity, detail } = await found({ overview });
    expect(severity).toBe("warn");
    expect(detail).toContain("3 audit rows could not be written");
  });

  test("one that does not take this token is a warning", async () => {
    const overview = async () => {
      throw unavailable("HTTP 401");
    };
    expect(await found({ overview })).toMatchObject({ ok: true, severity: "warn" });
  });
});

describe("tls_certificate", () => {
  test("without a server, or without TLS, there is nothing to expire", async () => {
    expect(await finding(tlsCertificate)).toMatchObject({ ok: true, extra: { tls: false } });
  });

  test("plain http beyond loopback is a failure, and what to do is said", async () => {
    const at = (address: string) =>
      finding(
        tlsCertificate,
        host({ runningServer: () => ({ ...SERVER, url: "http://127.0.0.1:1", host: address }) }),
      );
    expect(await at("0.0.0.0")).toMatchObject({
      ok: false,
      severity: "error",
      detail: "the server speaks plain http on 0.0.0.0: everybody on the way can read its tokens",
      advice: ["start it without --insecure-http"],
    });
    expect(await at("localhost")).toMatchObject({ ok: true, detail: "TLS is off" });
  });

  const DAY_MS = 86_400_000;

  test.each([
    [0, "info", /^valid for 30 days/],
    [17, "warn", /^valid for 13 days/],
    [31, "error", /^expired on /],
    [-1, "error", /^not valid before /],
  ] as const)("%d days into 30 it is %s", (days, severity, detail) => {
    const found = judgeValidity(new Date(0), new Date(30 * DAY_MS), new Date(days * DAY_MS), []);
    expect(found.severity).toBe(severity);
    expect(found.detail).toMatch(detail);
  });

  testWith("openssl")("the certificate that the server uses is read from its port", async () => {
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
    const { detail } = await finding(tlsCertificate, host({ runningServer: () => ({ ...SERVER, url }) }));
    expect(detail).toMatch(/^valid for (29|30) days/);
  });

  test("a server that is gone, or does not speak TLS, is a failure", async () => {
    using plain = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
    const url = `https://127.0.0.1:${plain.port}`;
    expect(await finding(tlsCertificate, host({ runningServer: () => ({ ...SERVER, url }) }))).toMatchObject({
      ok: false,
      advice: [expect.stringContaining("restart")],
    });
  });
});

test("each check has the name that the list gives it, and a summary", async () => {
  const checks = await loadChecks();
  expect(checks.map(({ name }) => name)).toEqual(CHECK_NAMES);
  expect(checks.filter(({ summary }) => !/[^.]$/.test(summary))).toEqual([]);
});
