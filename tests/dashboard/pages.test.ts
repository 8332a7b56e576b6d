/** The pages of the dashboard in Chromium, each on real data of a server. */

import { Database } from "bun:sqlite";
import { beforeAll, expect } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import * as v from "valibot";
import { diagnose } from "../../src/host/diagnostics/operations";
import { listJobs } from "../../src/host/scheduler/operations";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { spkiPin } from "../../src/lib/spki";
import { createService } from "../../src/service/service";
import { addToken, tokenStore } from "../../src/trust/named-tokens";
import { handedText } from "../../src/wire/witness/cosignatures";
import {
  browserTest,
  openPage as openDashboard,
  openTab,
  PAGES,
  settled,
  useBrowser,
  useHost,
  violationsOn,
} from "../browser";
import { selfSigned } from "../client/support";
import { joinWith } from "../desk/join/support";
import { joinDesk } from "../desk/witness/support";
import { newKey, newWitness } from "../host/audit/witness/support";
import { openTerminal, PROGRAMS, SIZE, startDisplay } from "../host/desktop/support";
import { post, serveSource, TOKEN, temporaryFolder, testService, until } from "../support";

const test = browserTest();

const SAMPLE = { rtt_ms: 20, fps: 30, bitrate_kbps: 4_000, packet_loss_pct: 0, jitter_ms: 2 };

const browser = useBrowser();
const host = useHost();
beforeAll(async () => {
  await host.call("/inspector/samples", post({ samples: [SAMPLE] }));
});

/** A tab that is signed in and on a page. */
const openPage = (name: string, options: Parameters<typeof openTab>[2] = {}) =>
  openDashboard(browser, `${host.url}/dashboard#${name}`, { token: TOKEN, ...options });

/** Chooses from the menu of a host. */
async function more(page: Page, label: string, item: string): Promise<void> {
  await page.getByRole("button", { name: `More about ${label}` }).click();
  await page.locator(".host-menu").getByRole("button", { name: item }).click();
}

for (const name of PAGES) {
  test(`the page ${name} is accessible, light and dark, and fits a screen of 360 pixels`, async () => {
    await using tab = await openPage(name);
    const { page } = tab;
    await settled(page);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect([colorScheme, await violationsOn(page, true)]).toEqual([colorScheme, []]);
    }
    await page.setViewportSize({ width: 360, height: 740 });
    // A table without room becomes a list in the next frame, when its width is known.
    await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    expect(await violationsOn(page, true)).toEqual([]);
    // A host without a display says so, which is no fault of the page.
    expect(tab.complaints.filter((text) => !text.includes("503"))).toEqual([]);
  });
}

test("a screen of 360 pixels has room for long names and for tables of many columns", async () => {
  const long = { label: "L".repeat(128), base_url: host.url, token: TOKEN, tags: ["t".repeat(64)] };
  await host.call("/admin/hosts/add", post(long));
  await host.call("/execute", post({ actions: [["AC_rest_api_status"]] }));
  await using tab = await openPage("hosts", { viewport: { width: 360, height: 740 } });
  const { page } = tab;
  await page.getByRole("button", { name: "ttt" }).waitFor();
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  await page.goto(`${host.url}/dashboard#jobs`);
  await page.locator(".stacked").getByText("a list of actions").first().waitFor();
  await host.call("/admin/hosts/remove", post({ label: long.label }));
  expect(tab.complaints).toEqual([]);
});

test("labels and fields that stand side by side are on one line", async () => {
  await using tab = await openPage("hosts", { viewport: { width: 1400, height: 900 } });
  await tab.page.getByLabel("When an action fails on a host").waitFor();
  const tops = await tab.page.evaluate<number[]>(
    `[...document.querySelector(".fields:has(select)").querySelectorAll("label")].map((one) => one.getBoundingClientRect().top)`,
  );
  expect(tops.length).toBeGreaterThan(3);
  expect(new Set(tops).size).toBe(1);
});

test("a flag is on one line, and the overview says once that it is loading", async () => {
  await using tab = await openPage("server", { viewport: { width: 390, height: 844 } });
  const flag = tab.page.locator("code", { hasText: /^--system$/ }).first();
  await flag.waitFor();
  await flag.scrollIntoViewIfNeeded();
  const lines = `[...document.querySelectorAll("code")].find((one) => one.textContent === "--system").getClientRects().length`;
  expect(await tab.page.evaluate<number>(lines)).toBe(1);
  await tab.page.route("**/diagnose", async () => {});
  await tab.page.goto(`${host.url}/dashboard#overview`);
  await tab.page.getByRole("heading", { name: "This host" }).waitFor();
  const loading = tab.page.getByText("Loading…").filter({ visible: true });
  await until("one of them", async () => (await loading.count()) === 1);
});

test("the form to sign in is accessible", async () => {
  await using tab = await openTab(browser, host.url);
  await tab.page.goto(`${host.url}/dashboard`);
  await tab.page.getByLabel("Token").waitFor();
  expect(await violationsOn(tab.page, true)).toEqual([]);
});

test("the packet inspector plots samples as they come, and deletes them on request", async () => {
  await using tab = await openPage("inspector");
  const { page } = tab;
  await host.call("/inspector/reset", post({}));
  await host.call("/inspector/samples", post({ samples: [{ ...SAMPLE, rtt_ms: 12.5 }, SAMPLE] }));
  await page.getByText("2 samples over").waitFor();
  const plot = page.getByRole("img", { name: /Round-trip time in ms: last 20, .*p95 19.6/ });
  const before = await plot.screenshot();
  await host.call("/inspector/samples", post({ samples: [{ ...SAMPLE, rtt_ms: 80 }] }));
  await page.getByText("3 samples over").waitFor();
  const now = page.getByRole("img", { name: /Round-trip time in ms: last 80/ });
  expect((await now.screenshot()).equals(before)).toBe(false);
  expect(await page.getByRole("row").count()).toBe(4);
  await host.call("/inspector/samples", post({ samples: [{ ...SAMPLE, rtt_ms: 5 }], session: "<b>lab</b>" }));
  await page.getByText("4 samples over").waitFor();
  await page.getByLabel("Session", { exact: true }).selectOption("<b>lab</b>");
  await page.getByText("1 sample over").waitFor();
  await page.getByRole("button", { name: "Reset" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
  await page.getByText("No samples in the window.").waitFor();
  expect(tab.complaints).toEqual([]);
});

test("a line bridges the samples of a session that does not measure it", async () => {
  await host.call("/inspector/reset", post({}));
  const nth = Array.from({ length: 40 }, (_, at) => at);
  const idle = { ...SAMPLE, fps: null };
  await host.call(
    "/inspector/samples",
    post({ session: "one", samples: nth.map((at) => ({ ...SAMPLE, age_seconds: at })) }),
  );
  await host.call(
    "/inspector/samples",
    post({ session: "other", samples: nth.map((at) => ({ ...idle, age_seconds: at + 0.5 })) }),
  );
  await using tab = await openPage("inspector");
  const { page } = tab;
  /** Dots of the plot of frames that are not empty. */
  const ink = () =>
    page.evaluate<number>(`(() => {
      const canvas = document.querySelectorAll(".plot canvas")[1];
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, at) => at % 4 === 3 && value > 0).length;
    })()`);
  await page.getByText("80 samples over").waitFor();
  await page.locator(".plot canvas").nth(4).waitFor();
  const together = await ink();
  await page.getByLabel("Session", { exact: true }).selectOption("one");
  await page.getByText("40 samples over").waitFor();
  expect(together / (await ink())).toBeCloseTo(1, 1);
  // Chromium has advice for pages that read what they have drawn.
  expect(tab.complaints.filter((text) => !text.includes("getImageData"))).toEqual([]);
});

test("the REST API page shows what an import would change, and imports after confirmation", async () => {
  await using tab = await openPage("server");
  const { page } = tab;
  const bundle = {
    manifest: { version: 1, exported_at: "2026-04-27T10:30:00Z", platform: "linux", source_root: "/x" },
    files: { viewer_id: { format: "text", content: "viewer-0001" } },
  };
  const choose = (content: string) =>
    page
      .getByLabel("Bundle to import")
      .setInputFiles({ name: "host.json", mimeType: "application/json", buffer: Buffer.from(content) });
  await choose("not JSON");
  await page.getByText("host.json is not JSON.").waitFor();
  await choose(JSON.stringify({ ...bundle, files: { "../evil": { format: "text", content: "x" } } }));
  await page.getByText("bundle rejected").waitFor();
  await Bun.write(`${host.configDir}/viewer_id`, "viewer-0000");
  await choose(JSON.stringify(bundle));
  const dialog = page.getByRole("dialog");
  await dialog.getByText("+viewer-0001").waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByRole("button", { name: "Write 1 file" }).click();
  await page.getByText("Imported: viewer_id.").waitFor();
  await page.getByText("Add the hosts of an import").click();
  const merged = page.waitForRequest(/config\/import\?dry_run=true&merge=true$/);
  await choose(JSON.stringify(bundle));
  await merged;
  await page.getByText("Add the hosts of an import").click();
  expect(await Bun.file(`${host.configDir}/viewer_id`).text()).toMatch("viewer-0001");
  await choose(JSON.stringify(bundle));
  await page.getByText("Nothing to import").waitFor();
  await choose("not JSON");
  await page.getByText("host.json is not JSON.").waitFor();
  expect(await page.getByText("Nothing to import").count()).toBe(0);

  const downloaded = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export…" }).click();
  await dialog.getByRole("button", { name: "Export" }).click();
  const exported = await Bun.file((await (await downloaded).path()) ?? "").json();
  expect(exported.files.viewer_id.content).toBe("viewer-0001");
  expect(tab.complaints.filter((text) => !text.includes("400"))).toEqual([]);
});

test("the address is copied, or the button says that the browser does not allow it", async () => {
  await using tab = await openPage("server", { permissions: ["clipboard-read", "clipboard-write"] });
  const { page } = tab;
  await page.getByText(host.url).waitFor();
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(host.url);
  await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))");
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await page.getByRole("button", { name: "Not allowed" }).waitFor();
  expect(tab.complaints).toEqual([]);
});

test("a server with plain http beyond its machine says so in red, on its first page and on that of the REST API", async () => {
  await using insecure = await serveSource(["--host", "0.0.0.0", "--insecure-http"]);
  for (const name of ["overview", "server"]) {
    const said = async (url: string) => {
      await using tab = await openDashboard(browser, `${url}/dashboard#${name}`, { token: TOKEN });
      await settled(tab.page);
      // What the checks have found stands elsewhere.
      return await tab.page.locator(':is(.page, .stack) > [role="alert"] > .notice.error').allTextContents();
    };
    expect(await said(host.url)).toEqual([]);
    expect(await said(insecure.url)).toEqual([
      "This server speaks plain http: everybody on the way can read the tokens, yours too. Start it without --insecure-http.",
    ]);
  }
});

test("the REST API page says where the server listens and since when, and how it is started and stopped", async () => {
  await using tab = await openPage("server", { permissions: ["clipboard-read", "clipboard-write"] });
  const { page } = tab;
  const fact = (name: string) => page.locator(`dt:text-is("${name}") + dd`);
  await fact("Port").getByText(new URL(host.url).port).waitFor();
  expect(await fact("Listens on").textContent()).toBe("127.0.0.1");
  expect(await fact("TLS").textContent()).toBe("off");
  expect(await fact("Audit log").textContent()).toMatch(/^on, [\d,]+ rows?$/);
  expect(await fact("Running since").textContent()).toMatch(/\d:\d\d.*\(.+\)$/);
  for (const command of ["install", "status", "uninstall"]) {
    await page.getByRole("button", { name: `Copy svc service ${command}` }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(`svc service ${command}`);
    await page.getByRole("button", { name: "Copied" }).waitFor({ state: "detached" });
  }
  expect(tab.complaints).toEqual([]);
});

test("the token is copied by who typed it, and is not shown", async () => {
  await using tab = await openPage("server", { permissions: ["clipboard-read", "clipboard-write"] });
  const { page } = tab;
  await page.getByText("the host's own, which allows everything").waitFor();
  await page.getByRole("button", { name: "Copy token" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(TOKEN);
  expect(await page.content()).not.toContain(TOKEN);
  expect(tab.complaints).toEqual([]);
});

browserTest("openssl")("the REST API page says that TLS is on, and that the audit log is off", async () => {
  using folder = temporaryFolder();
  const { cert, key } = selfSigned(folder.path, "host", "IP:127.0.0.1");
  await using shown = await serveSource(["--tls-cert", cert, "--tls-key", key, "--no-audit"]);
  await using tab = await openDashboard(browser, `${shown.url}/dashboard#server`, {
    token: TOKEN,
    ignoreHTTPSErrors: true,
  });
  const { page } = tab;
  await page.getByText("off (--no-audit)").waitFor();
  expect(await page.locator('dt:text-is("TLS") + dd').textContent()).toBe("on");
  expect(tab.complaints).toEqual([]);
});

test("the address is the one that the browser reached the server by", async () => {
  const url = host.url.replace("127.0.0.1", "localhost");
  await using tab = await openDashboard(browser, `${url}/dashboard#server`, { token: TOKEN });
  await tab.page.getByText(url).waitFor();
  expect(tab.complaints).toEqual([]);
});

test("the USB page switches the watcher on and off", async () => {
  await using tab = await openPage("usb");
  const { page } = tab;
  const watch = page.getByRole("switch", { name: "Watch" });
  await watch.click();
  await page.getByText("No events yet").waitFor();
  expect(await watch.getAttribute("aria-checked")).toBe("true");
  await watch.click();
  await page.getByText("Not watching").waitFor();
  expect(tab.complaints).toEqual([]);
});

/** Appends rows to the log of the server under test, as another process would. */
async function appendRows(details: readonly string[], event_type = "test"): Promise<void> {
  const service = createService({ configDir: host.configDir });
  const log = await service.audit();
  await Promise.all(
    details.map((detail) => log?.append({ event_type, host_id: "lab-01", viewer_id: null, detail })),
  );
  await service.stop();
}

test("the audit page filters, and shows 50 rows at a time of a large log", async () => {
  await appendRows(Array.from({ length: 10_000 }, (_, nth) => `row ${nth}`));
  await using tab = await openPage("audit");
  const { page } = tab;
  await page.getByLabel("Type").selectOption("test");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByRole("cell", { name: "row 9999", exact: true }).waitFor();
  for (const last of ["row 9949", "row 9899", "row 9849"]) {
    await page.getByRole("button", { name: "Older" }).click();
    await page.getByRole("cell", { name: last, exact: true }).waitFor();
    expect(await page.locator("tbody tr").count()).toBe(50);
  }
  await page.getByRole("button", { name: "Newer" }).click();
  await page.getByRole("cell", { name: "row 9899", exact: true }).waitFor();
  expect(await page.locator("tbody tr").count()).toBe(50);
  expect(tab.complaints).toEqual([]);
});

test("the audit page offers the types of all rows, not only of those that it shows", async () => {
  await appendRows(["once"], "rare & <b>odd</b>");
  await appendRows(
    Array.from({ length: 60 }, () => "often"),
    "common",
  );
  await using tab = await openPage("audit");
  const { page } = tab;
  await page.getByText(/^rows /).waitFor();
  await page.getByLabel("Type").selectOption("rare & <b>odd</b>");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByRole("cell", { name: "once", exact: true }).waitFor();
  expect(await page.locator("tbody tr").count()).toBe(1);
  await page.getByRole("button", { name: "Reset" }).click();
  await page.getByRole("cell", { name: "often", exact: true }).first().waitFor();
  expect(await page.getByLabel("Type").inputValue()).toBe("");
  expect(tab.complaints).toEqual([]);
});

test("the audit log is cleared where the server allows it, by a token for admin, after a question", async () => {
  await using shown = await serveSource(["--allow-audit-clear"]);
  const store = tokenStore(configFiles(shown.configDir), silentLog);
  const admin = await addToken(store, { name: "boss", scope: ["admin"] });
  const auditor = await addToken(store, { name: "auditor", scope: ["audit"] });
  const openAudit = async (url: string, token: string) => {
    const status = Promise.withResolvers<void>();
    const tab = await openDashboard(browser, `${url}/dashboard#audit`, {
      token,
      async prepare(page) {
        page.on("response", (answer) => {
          if (answer.url().endsWith("/audit/status")) status.resolve();
        });
      },
    });
    await status.promise;
    await tab.page.getByText(/^rows /).waitFor();
    return tab;
  };
  for (const [url, token] of [
    [shown.url, auditor],
    [host.url, TOKEN],
  ] as const) {
    await using tab = await openAudit(url, token);
    expect(await tab.page.getByRole("button", { name: "Clear log…" }).count()).toBe(0);
    expect(tab.complaints).toEqual([]);
  }
  await using tab = await openAudit(shown.url, admin);
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Clear log…" }).click();
  await dialog.getByText("All rows are removed for good.").waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page
    .getByRole("cell", { name: /token=auditor/ })
    .first()
    .waitFor();
  await page.getByRole("button", { name: "Clear log…" }).click();
  await dialog.getByRole("button", { name: /^Remove \d+ rows$/ }).click();
  await page.getByRole("cell", { name: /^cleared \d+ rows .* by rest \(127.0.0.1\) token=boss;/ }).waitFor();
  expect(await page.getByRole("cell", { name: /token=auditor/ }).count()).toBe(0);
  expect(await page.getByLabel("Type").locator("option").allTextContents()).toContain("audit_cleared");
  await page.getByRole("button", { name: "Verify chain" }).click();
  await page.getByText(/^Chain OK/).waitFor();
  expect(tab.complaints).toEqual([]);
});

test("the audit page verifies the chain, and shows the row at which it is broken", async () => {
  await appendRows(["first", "second", "third"], "tamper");
  await using tab = await openPage("audit");
  const { page } = tab;
  await page.getByRole("button", { name: "Verify chain" }).click();
  await page.getByText(/^Chain OK \([\d,]+ rows\)$/).waitFor();

  const file = new Database(`${host.configDir}/audit.db`);
  // The server under test writes rows meanwhile.
  file.run("PRAGMA busy_timeout = 10000");
  const row = file.query<{ id: number }, []>("SELECT id FROM events WHERE detail = 'second'").get();
  file.run("UPDATE events SET detail = 'altered' WHERE id = ?", [row?.id ?? 0]);
  await page.getByRole("button", { name: "Verify chain" }).click();
  await page.getByText(new RegExp(`^Chain broken at row id ${row?.id} of \\d+$`)).waitFor();
  await page.getByRole("button", { name: "Show the row" }).click();
  await page.locator("tr.broken", { hasText: "altered" }).waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  file.run("UPDATE events SET detail = 'second' WHERE id = ?", [row?.id ?? 0]);
  file.close();
  expect(tab.complaints).toEqual([]);
});

test("text from elsewhere is shown as text, whatever it says", async () => {
  const hostile = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "\u202eevil\u202c \u0000 \u001b[31m",
    "&lt;b&gt;",
    "x".repeat(10_000),
  ];
  await appendRows(hostile, "<svg onload=alert(1)>");
  await using tab = await openPage("audit", { viewport: { width: 360, height: 740 } });
  const { page } = tab;
  page.on("dialog", (dialog) => tab.complaints.push(`dialog: ${dialog.message()}`));
  await page.getByText("<img src=x onerror=alert(1)>").waitFor();
  await page.getByRole("cell", { name: "<svg onload=alert(1)>" }).first().waitFor();
  await page.locator("option", { hasText: "<svg onload=alert(1)>" }).waitFor({ state: "attached" });
  await page.getByText("\\u202eevil\\u202c").waitFor();
  await page.getByText("Show all 10,000 characters").click();
  expect(await page.locator("main img, main script").count()).toBe(0);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  const actions = [["AC_fail", { message: `<img src=x onerror=alert(1)> ${"x".repeat(500)}` }]];
  await host.call("/execute", post({ actions }));
  await page.evaluate("location.hash = 'overview'");
  await page.getByText("<img src=x onerror=alert(1)>").waitFor();
  expect(await page.locator('main img[src="x"]').count()).toBe(0);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  expect(tab.complaints).toEqual([]);
});

test("the audit page says how far witnesses have seen the log, as it happens", async () => {
  await using tab = await openPage("audit");
  const { page } = tab;
  const line = page.locator(".witnessed");
  await line.getByText("not witnessed", { exact: true }).waitFor();
  const [deskKey, member] = [newKey(), { host_id: "a".repeat(32), nonce: "N".repeat(22) }];
  joinDesk(host.configDir, deskKey, member);
  const cosign = async (names: readonly string[], time: number) => {
    const { note } = v.parse(
      v.object({ note: v.string() }),
      await (await host.call("/audit/checkpoint")).json(),
    );
    const witnesses = names.map(newWitness);
    const cosigned = witnesses.reduce((text, one) => one.cosign(text, time), note);
    const handed = { note: cosigned, witnesses: witnesses.map(({ vkey }) => vkey) };
    const body = handedText(deskKey, member, handed);
    expect((await host.call("/audit/cosignatures", { method: "POST", body })).status).toBe(200);
  };
  const now = Math.floor(Date.now() / 1_000);
  await cosign(["svc.witness/desk"], now - 3_600);
  await line.getByText("no longer witnessed", { exact: true }).waitFor();
  await line.getByText(/^up to row [\d,]+ by 1 witness, last 1 h ago, since /).waitFor();
  await cosign(["svc.witness/one", "svc.witness/two"], now);
  await line.getByText(/^witnessed up to row [\d,]+ by [23] witnesses$/).waitFor();
  rmSync(configFiles(host.configDir).desk);
  expect(tab.complaints).toEqual([]);
});

test("the page of scripts checks a script before it runs it, and shows the outcome of each action", async () => {
  await using tab = await openPage("scripts");
  const { page } = tab;
  const { count } = (await (await host.call("/commands")).json()) as { count: number };
  await page.getByText(new RegExp(`^${count} commands, \\d+ more not allowed here$`)).waitFor();
  const editor = page.getByLabel("Script, as JSON");
  await editor.fill("[oops");
  await page.getByRole("button", { name: "Run here" }).click();
  await page.getByText("Line 1, column 2: not JSON: expected a value").waitFor();
  const sent = page.waitForRequest(/\/execute$/);
  await editor.fill('[["AC_focus_window", ["no such window"]], ["AC_rest_api_status"]]');
  await page.getByLabel("When an action fails").selectOption("stop if a window is missing");
  await page.getByRole("button", { name: "Run here" }).click();
  expect((await sent).postDataJSON()).toMatchObject({ stop_on_error: "focus", trace: true });
  await page.getByText("error", { exact: true }).waitFor();
  await editor.fill('[["AC_nope"], ["AC_sleep", {"seconds": "soon"}]]');
  await page.getByRole("button", { name: "Check", exact: true }).click();
  const verdict = page.getByRole("status").filter({ hasText: "AC_nope" });
  await verdict.waitFor();
  expect(await verdict.getByRole("listitem").allTextContents()).toEqual([
    "Step 1, line 1, column 3: unknown command AC_nope",
    expect.stringContaining("Step 2, line 1, column 40: seconds: expected a number"),
  ]);
  expect((await verdict.textContent())?.split("AC_nope")).toHaveLength(2);
  await editor.fill('[["AC_sleep", ["${pause}"]]]');
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("No action sets ${pause}.").waitFor();

  await page.getByLabel("Find").fill("set_VAR  ");
  await page.locator("summary", { hasText: "AC_set_var" }).click();
  await editor.fill("[]");
  await page.getByRole("button", { name: "Insert AC_set_var" }).click();
  expect(JSON.parse(await editor.inputValue())[0][0]).toBe("AC_set_var");

  await editor.fill(
    '[["AC_set_var", {"name": "who", "value": "<b>me</b>"}], ["AC_if_var", {"name": "nobody", "value": 1}]]',
  );
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("2 actions checked, no errors. Nothing has run.").waitFor();
  await page.getByRole("button", { name: "Run here" }).click();
  await page.getByText("error", { exact: true }).waitFor();
  await page.getByRole("cell", { name: '"<b>me</b>"' }).waitFor();
  await page.getByRole("cell", { name: /nobody/ }).waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  await page.reload();
  await page.getByLabel("Script, as JSON").waitFor();
  expect(await editor.inputValue()).toMatch("nobody");
  expect(tab.complaints.filter((text) => !text.includes("400"))).toEqual([]);
});

test("the diagnostics page shows what is wrong and what to do about it, the worst first", async () => {
  await using tab = await openPage("diagnostics");
  const { page } = tab;
  const { checks } = v.parse(diagnose.output, await (await host.call("/diagnose")).json());
  // Whether a host without a screen is meant to have one is asked first.
  const failed = checks.filter(({ ok, detail }) => !ok && !/^no (display|desktop)\b/.test(detail));
  const worst = failed[0] ?? checks.find(({ ok, severity }) => !ok || severity === "warn");
  await page
    .getByText(failed.length > 0 ? `${failed.length} of ${checks.length} checks failed` : /warning|passed/)
    .first()
    .waitFor();
  expect(await page.locator(".checks > li").count()).toBe(checks.length);
  const first = page.locator(".checks > li").first();
  const titles = await page.locator(".checks > li strong").allTextContents();
  expect(titles).toEqual(
    expect.arrayContaining(["Audit chain", "Optional dependencies", "REST API", "TLS certificate"]),
  );
  const [word = ""] = (worst?.name ?? "platform").split("_");
  expect(titles[0]).toMatch(new RegExp(`^${word}`, "i"));
  if (worst?.advice[0]) await first.getByText(worst.advice[0]).waitFor();
  const again = page.waitForResponse(/\/diagnose/);
  await page.getByRole("button", { name: "Run again" }).click();
  expect((await again).ok()).toBe(true);
  await page.getByText(/checked (just now|\d+ s ago)/).waitFor();
  expect(tab.complaints).toEqual([]);
});

test("the jobs page adds, runs, pauses and removes a job, and shows how its runs went", async () => {
  const script = join(host.configDir, "wait.json");
  await Bun.write(script, '[["AC_wait_window", {"title_substring": "no such window", "timeout": 30}]]');
  await using tab = await openPage("jobs");
  const { page } = tab;
  await page.getByText("No jobs").waitFor();
  await page.getByRole("button", { name: "Add…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Script on the host").fill(script);
  await dialog.getByLabel("Name").fill("waiter");
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByRole("button", { name: "Add" }).click();
  await page.getByRole("cell", { name: /^every 15 min/ }).waitFor();
  await page.getByRole("button", { name: "Pause waiter" }).click();
  await page.getByText("paused").waitFor();
  await page.getByRole("button", { name: "Run waiter now" }).click();
  const history = page.getByRole("table", { name: /Past runs/ });
  await history.getByRole("row", { name: /wait.json scheduler · waiter/ }).waitFor();
  await page.getByRole("button", { name: "Remove waiter" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByText("No jobs").waitFor();
  expect(tab.complaints).toEqual([]);
});

test("the jobs page shows the outcomes of a run, and what its script logged", async () => {
  const actions = [
    ["AC_log", { message: "row 3 is done" }],
    ["AC_fail", { message: "no row 4" }],
  ];
  const { run_id } = (await (await host.call("/execute", post({ actions }))).json()) as { run_id: string };
  await using tab = await openPage("jobs");
  const { page } = tab;
  await page.getByRole("button", { name: `Details of run ${run_id.slice(0, 8)}` }).click();
  const details = page.getByRole("region", { name: "Details of a run" });
  await details.getByRole("table", { name: "Log of the run" }).getByText("row 3 is done").waitFor();
  await details.getByRole("table", { name: "Outcomes of the run" }).getByText("no row 4").waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  await details.getByRole("button", { name: "Close" }).click();
  await details.waitFor({ state: "hidden" });
  expect(tab.complaints).toEqual([]);
});

test("the jobs page keeps a form until the server accepts it, and shows the rules of a job", async () => {
  await using tab = await openPage("jobs");
  const { page } = tab;
  await page.getByRole("button", { name: "Add…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Script on the host").fill("/nowhere.json");
  await dialog.getByLabel("Name").fill("nightly");
  await dialog.getByLabel("Runs", { exact: true }).selectOption("by a cron expression");
  await dialog.getByLabel("Cron expression").fill("at night");
  await dialog.getByLabel("Time zone").fill("Europe/Berlin");
  await dialog.getByLabel("Max. runs").fill("3");
  await dialog.getByLabel("If a run was missed").selectOption("run once for all missed runs");
  await dialog.getByLabel("If the last run is still going").selectOption("run when it ends");
  await dialog.getByLabel("Timeout in seconds").fill("600");
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.getByRole("alert").getByText("cron_expression").waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByLabel("Cron expression").fill("30 2 * * *");
  await dialog.getByRole("button", { name: "Add" }).click();
  const row = page.getByRole("row", { name: /nightly/ });
  await row.getByText("Europe/Berlin").waitFor();
  for (const rule of ["missed runs: run once", "if still running: queue", "timeout 10 min", "0 of 3 runs"]) {
    await row.getByText(rule).waitFor();
  }
  await page.getByText("The job was added, but its script cannot run").waitFor();
  const jobs = async () => v.parse(listJobs.output, await (await host.call("/jobs")).json()).jobs;
  expect(await jobs()).toMatchObject([
    { job_id: "nightly", max_runs: 3, if_missed: "once", if_running: "queue", timeout_s: 600 },
  ]);
  await host.call("/jobs/remove", post({ job_id: "nightly" }));

  await page.getByRole("button", { name: "Add…" }).click();
  await dialog.getByLabel("Script on the host").fill("/nowhere.json");
  await dialog.getByLabel("Runs", { exact: true }).selectOption("once, after a delay");
  await dialog.getByRole("button", { name: "Add" }).click();
  await page.getByRole("cell", { name: /^once, after 15 min/ }).waitFor();
  const [once] = await jobs();
  expect(once).toMatchObject({ repeat: false, max_runs: null, if_missed: "skip", if_running: "skip" });
  await host.call("/jobs/remove", post({ job_id: once?.job_id }));
  expect(tab.complaints.filter((text) => !text.includes("400"))).toEqual([]);
});

test("the jobs page cancels a run", async () => {
  const running = host.call("/execute", post({ actions: [["AC_sleep", { seconds: 60 }]] }));
  await using tab = await openPage("jobs");
  const { page } = tab;
  await page.getByText("1 run in progress").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  expect(await (await running).json()).toMatchObject({ ok: false, status: "cancelled" });
  await page.getByText("none in progress").waitFor();
  expect(tab.complaints).toEqual([]);
});

browserTest(...PROGRAMS, "xdotool")(
  "the screen page takes a screenshot on demand, and lists the windows",
  async () => {
    await using display = await startDisplay();
    await using shown = await serveSource([], { env: display.env });
    await using tab = await openDashboard(browser, `${shown.url}/dashboard#screen`, { token: TOKEN });
    const { page } = tab;
    await page.getByText("No screenshot yet").waitFor();
    await page.getByText("No windows", { exact: true }).waitFor();
    await using _xterm = openTerminal(display.env, "Ledger <b>1</b>");
    const mapped = Bun.spawn(["xdotool", "search", "--sync", "--onlyvisible", "--name", "Ledger"], {
      env: display.env,
      stdio: ["ignore", "ignore", "ignore"],
    });
    expect(await mapped.exited).toBe(0);
    await page.getByRole("button", { name: "Take screenshot" }).click();
    await page.getByText(`${SIZE.width} × ${SIZE.height}`).waitFor();
    expect(
      await page
        .getByAltText("The screen of the host")
        .evaluate((image) => Reflect.get(image, "naturalWidth")),
    ).toBe(SIZE.width);
    await page.getByRole("cell", { name: "Ledger <b>1</b>" }).waitFor({ timeout: 15_000 });
    expect(tab.complaints).toEqual([]);
  },
);

browserTest(...PROGRAMS)("a rectangle dragged on a screenshot is an image that svc finds there", async () => {
  await using display = await startDisplay();
  await using _xterm = openTerminal(display.env, "Ledger");
  await using shown = await serveSource([], { env: display.env });
  await using tab = await openDashboard(browser, `${shown.url}/dashboard#screen`, { token: TOKEN });
  const { page } = tab;
  await page.getByRole("cell", { name: "Ledger" }).waitFor({ timeout: 15_000 });
  await page.getByRole("button", { name: "Take screenshot" }).click();
  await page.getByText(`${SIZE.width} × ${SIZE.height}`).waitFor();
  const box = await page.getByAltText("The screen of the host").boundingBox();
  const { x, y, width } = box ?? { x: 0, y: 0, width: 0 };
  const at = (column: number, row: number) =>
    [x + (column * width) / SIZE.width, y + (row * width) / SIZE.width] as const;
  await page.mouse.move(...at(300, 200));
  await page.mouse.down();
  await page.mouse.move(...at(60, 20), { steps: 3 });
  await page.mouse.up();
  await page.getByRole("code").filter({ hasText: "svc locate template.png" }).waitFor();
  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download template.png" }).click();
  const file = await (await downloading).path();
  const image = readFileSync(file).toString("base64");
  const found = (await (await shown.call("/locate", post({ image }))).json()) as { matches: unknown[] };
  expect(found.matches).toHaveLength(1);
  const [match] = found.matches as Array<Record<"x" | "y" | "score", number>>;
  expect([Math.abs((match?.x ?? 0) - 60) <= 2, Math.abs((match?.y ?? 0) - 20) <= 2, match?.score]).toEqual([
    true,
    true,
    1,
  ]);
  expect(tab.complaints).toEqual([]);
});

test("the page of hosts adds them, shows their health, tags them, and broadcasts with results as they come", async () => {
  await using lab = await serveSource([], { token: "lab-token-0123456789" });
  await using slow = await serveSource([], { token: "slow-token-0123456789" });
  await using tab = await openPage("hosts");
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  const add = async (label: string, url: string, token: string, tags: string) => {
    await page.getByRole("button", { name: "Add…" }).click();
    await dialog.getByLabel("Name").fill(label);
    await dialog.getByLabel("Address").fill(url);
    await dialog.getByLabel("Token").fill(token);
    await dialog.getByLabel("Tags").fill(tags);
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.getByRole("gridcell").getByText(label, { exact: true }).waitFor();
  };
  await page.getByText("No hosts").waitFor();
  await page.getByRole("button", { name: "Add…" }).click();
  await dialog.getByLabel("Name").fill("pinned");
  await dialog.getByLabel("Address").fill(lab.url);
  await dialog.getByLabel("Token").fill(lab.token);
  await dialog.getByLabel("Pin", { exact: true }).fill("sha256:no");
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.getByRole("alert").getByText(/pin/).waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  expect(await dialog.getByLabel("Token").inputValue()).toBe(lab.token);
  await page.keyboard.press("Escape");
  await add("lab-01", lab.url, ` ${lab.token} `, "lab");
  await add("slow-01", slow.url, slow.token, "lab, slow");
  await add("<b>wrong</b>", lab.url, "not-its-token", "");
  const row = (label: string) => page.getByRole("row", { name: new RegExp(`Select ${label}`) });
  await row("lab-01").getByText("healthy", { exact: true }).waitFor();
  await row("<b>wrong</b>").getByText("HTTP 401").waitFor();
  expect(await page.content()).not.toMatch(/lab-token|not-its-token/);
  expect(await violationsOn(page, true)).toEqual([]);

  await more(page, "lab-01", "Edit…");
  await dialog.getByLabel("Tags").fill("lab floor-2");
  await dialog.getByRole("button", { name: "Save" }).click();
  await row("lab-01").getByText("floor-2").waitFor();
  await more(page, "lab-01", "Edit…");
  expect(await dialog.getByLabel("Tags").inputValue()).toBe("lab, floor-2");
  expect(await dialog.getByLabel("Token").inputValue()).toBe("");
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByRole("button", { name: "Cancel" }).click();

  await page.getByLabel("Select slow-01").check();
  await more(page, "slow-01", "Edit…");
  await dialog.getByLabel("Name").fill("slow-02");
  await dialog.getByRole("button", { name: "Save" }).click();
  await row("slow-02").getByText("healthy", { exact: true }).waitFor();
  expect(await row("slow-01").count()).toBe(0);
  await page.getByLabel("Select lab-01").check();
  await page.getByRole("button", { name: "Tags of 2 hosts…" }).click();
  await dialog.getByText("Tags now: floor-2, lab, slow.").waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByLabel("Add").fill("floor-9");
  await dialog.getByLabel("Remove").fill("lab");
  await dialog.getByRole("button", { name: "Save" }).click();
  for (const [label, tags] of [
    ["lab-01", "floor-2floor-9"],
    ["slow-02", "slowfloor-9"],
  ] as const) {
    await row(label).getByText("floor-9").waitFor();
    expect(await row(label).locator(".host-tags").textContent()).toBe(tags);
  }

  await page.getByLabel("Select all hosts that are listed").check();
  await page
    .getByLabel("Actions for the hosts")
    .fill('[["AC_sleep", {"seconds": 1}], ["AC_rest_api_status"]]');
  await page.getByRole("button", { name: "Broadcast to 3 hosts…" }).click();
  await dialog.getByRole("button", { name: "Broadcast" }).click();
  const results = page.getByRole("table", { name: /Results/ });
  await results.getByRole("row", { name: /wrong.*unauthorized/ }).waitFor();
  await page.getByText("0 ok, 1 failed, 2 pending").waitFor();
  await page.getByText("2 ok, 1 failed, 0 without a result").waitFor();
  await results.getByRole("row", { name: /slow-02 ok/ }).waitFor();

  await page.getByLabel("Actions for the hosts").fill('[["AC_sleep", {"seconds": 4}]]');
  await page.getByRole("button", { name: "Broadcast to 3 hosts…" }).click();
  await dialog.getByRole("button", { name: "Broadcast" }).click();
  await page.getByText("0 ok, 1 failed, 2 pending").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("0 ok, 1 failed, 2 without a result").waitFor();

  await page.getByLabel("Max. failures").fill("few");
  await page.getByRole("button", { name: "Broadcast to 3 hosts…" }).click();
  await dialog.getByRole("button", { name: "Broadcast" }).click();
  await page.getByText('such as 25% but found "few"').waitFor();

  await more(page, "<b>wrong</b>", "Remove");
  await dialog.getByRole("button", { name: "Remove" }).click();
  // It is struck through while somebody uses the list.
  await page
    .locator(".hosts-space")
    .getByRole("link", { name: "<b>wrong</b>" })
    .waitFor({ state: "detached" });
  expect(tab.complaints.filter((text) => !text.includes("400"))).toEqual([]);
});

browserTest("openssl")(
  "the page of hosts asks how to trust a host, pins the key that it shows, and marks http in red",
  async () => {
    using folder = temporaryFolder();
    const { cert, key } = selfSigned(folder.path, "lab", "IP:127.0.0.1");
    await using lab = await serveSource(["--tls-cert", cert, "--tls-key", key]);
    await using tab = await openPage("hosts");
    const { page } = tab;
    const dialog = page.getByRole("dialog");
    const fill = async (label: string, url: string) => {
      await page.getByRole("button", { name: "Add…" }).click();
      await dialog.getByLabel("Name").fill(label);
      await dialog.getByLabel("Address").fill(url);
      await dialog.getByLabel("Token").fill(lab.token);
      await dialog.getByRole("button", { name: "Add" }).click();
    };
    const row = (label: string) => page.getByRole("row", { name: new RegExp(`Select ${label}`) });
    await fill("by-pin", lab.url);
    await dialog
      .getByRole("alert")
      .getByText(/^pin: missing: the certificate is not trusted/)
      .waitFor();
    await dialog.getByLabel("Pin the key that the host shows now").check();
    await dialog.getByRole("button", { name: "Add" }).click();
    const pin = spkiPin(await Bun.file(cert).text());
    await page
      .getByText(`by-pin: pinned ${pin}. Compare it with what svc pin prints on that host.`)
      .waitFor();
    await row("by-pin").getByText("healthy", { exact: true }).waitFor();

    await fill("plain", "http://192.0.2.1:9");
    await dialog
      .getByRole("alert")
      .getByText(/^insecure_http: expected for http:/)
      .waitFor();
    await dialog.getByText("Without a pin").click();
    await dialog.getByLabel("Accept http, without encryption").check();
    expect(await violationsOn(page, true)).toEqual([]);
    await dialog.getByRole("button", { name: "Add" }).click();
    await row("plain").getByText("not encrypted").waitFor();
    expect(await violationsOn(page, true)).toEqual([]);
    for (const label of ["by-pin", "plain"]) await host.call("/admin/hosts/remove", post({ label }));
  },
);

test("the page of hosts sends a refused token again for who clicks Poll, and replaces it", async () => {
  const token = "first-token-0123456789";
  await using lab = await serveSource([], { token });
  const store = tokenStore(configFiles(lab.configDir), silentLog);
  const named = await addToken(store, { name: "desk", scope: ["read"] });
  await host.call("/admin/hosts/add", post({ label: "lab-02", base_url: lab.url, token: "not-its-token" }));
  await host.call("/admin/poll?on=lab-02");
  await using tab = await openPage("hosts");
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  const row = page.getByRole("row", { name: /Select lab-02/ });
  await row.getByText("HTTP 401: unauthorized (not asked again: Poll on the page Hosts asks)").waitFor();
  await page.getByRole("button", { name: "Poll" }).click();
  await row.getByText("HTTP 401", { exact: true }).waitFor();
  await more(page, "lab-02", "Edit…");
  await dialog.getByLabel("Token").fill(named);
  await dialog.getByRole("button", { name: "Save" }).click();
  await row.getByText("healthy", { exact: true }).waitFor();
  await more(page, "lab-02", "Rotate…");
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByRole("button", { name: "Rotate" }).click();
  await page.getByText(/lab-02: the token desk is replaced\. Old ones work until/).waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  expect(await page.content()).not.toContain(named);
  await host.call("/admin/hosts/remove", post({ label: "lab-02" }));
  expect(tab.complaints).toEqual([]);
});

test("the sync page sends a folder to another host, shows what was sent, and stops", async () => {
  await using other = await serveSource([], { token: "other-token-0123456789" });
  await host.call("/admin/hosts/add", post({ label: "other", base_url: other.url, token: other.token }));
  using folder = temporaryFolder();
  await using tab = await openPage("sync");
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  await page.getByText("No folder is synced").waitFor();
  await page.getByRole("button", { name: "Start…" }).click();
  await dialog.getByLabel("Folder on this host").fill(folder.path);
  await dialog.getByLabel("To").selectOption("other");
  await dialog.getByLabel("Interval in seconds").fill("0.25");
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByRole("button", { name: "Start" }).click();
  const row = page.getByRole("row", { name: /other/ });
  await row.getByText("watching").waitFor();
  await Bun.write(join(folder.path, "<b>report.txt"), "hello");
  await row.getByText("1 file, 5 B").waitFor();
  await row.getByText("connected", { exact: true }).waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  await page.getByRole("link", { name: "Packet inspector" }).click();
  await page.getByRole("table", { name: "Peer sessions" }).getByText("open").waitFor();
  await page.goBack();
  await page.getByRole("button", { name: /Stop the sync/ }).click();
  await dialog.getByRole("button", { name: "Stop" }).click();
  await page.getByText("No folder is synced").waitFor();
  await host.call("/admin/hosts/remove", post({ label: "other" }));
  expect(tab.complaints).toEqual([]);
});

test("the page of hosts makes a join string, shows it once, and a host joins with it", async () => {
  await using desk = await serveSource(["--tls", "--rate-limit", "0"]);
  await using tab = await openDashboard(browser, `${desk.url}/dashboard#hosts`, {
    token: TOKEN,
    ignoreHTTPSErrors: true,
  });
  const { page } = tab;
  await page.getByText("No join strings").waitFor();
  await page.getByRole("button", { name: "Make a join string…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Hosts").fill("2");
  await dialog.getByLabel("Tags").fill("lab, floor-2");
  await dialog.getByLabel("Prefix").fill("lab-");
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByRole("button", { name: "Make" }).click();
  const shown = page.getByLabel("Join string", { exact: true });
  const join_string = await shown.inputValue();
  expect(join_string).toStartWith("svcj1.");
  const row = page.getByRole("row", { name: /0 of 2.*lab, floor-2/ });
  await row.getByText("open").waitFor();
  expect(await violationsOn(page, true)).toEqual([]);

  await using other = testService();
  await joinWith(other, join_string, { direct: "https://127.0.0.1:1" });
  await page.getByRole("button", { name: "Done" }).click();
  expect([await shown.count(), (await page.content()).includes(join_string)]).toEqual([0, false]);
  await page.reload();
  await page.getByRole("row", { name: /1 of 2/ }).waitFor();
  await page.getByRole("button", { name: /Remove the join string/ }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByText("No join strings").waitFor();
  expect(tab.complaints).toEqual([]);
});
