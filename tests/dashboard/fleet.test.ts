/** The page Overview of a desk, and of a host with and without a screen, in Chromium. */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { addToken, tokenStore } from "../../src/trust/named-tokens";
import { browserTest, openPage, settled, useBrowser, violationsOn } from "../browser";
import { post, serveSource, TOKEN } from "../support";

const test = browserTest();
const browser = useBrowser();

/** A picture of one pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const NOW = new Date().toISOString();

/** A host that needs somebody, as the server answers it. */
const rowOf = (label: string, more: object = {}) => ({
  ...{ label, base_url: `link:${label}`, tags: [], trust: "identity", way: "link", state: "down" },
  ...{ why: "the link was lost", since: NOW, seen: NOW, version: "0.3.0", rtt_ms: 1 },
  ...{ plan: null, clients: 0, jobs: 0, broken: false, twin: false, ...more },
});

/** What the checks find: all is well but for these. */
const reportOf = (...more: object[]) => {
  const common = { ok: true, severity: "info", detail: "as it should be", advice: [], extra: {} };
  const checks = [{ name: "platform" }, ...more].map((one) => ({ ...common, duration_ms: 1, ...one }));
  return { ok: true, checks, count: checks.length, failed: 0, skipped: [] };
};

const answer = (page: Page, path: RegExp, json: object) =>
  page.route(path, (route) => route.fulfill({ json }));

/** A server with one host in its address book, which is itself. */
async function desk() {
  const server = await serveSource(["--rate-limit", "0"]);
  const host = { label: "here", base_url: server.url, token: TOKEN };
  expect((await server.call("/admin/hosts/add", post(host))).status).toBe(200);
  return server;
}

const tokenFor = (server: { readonly configDir: string }, name: string, ...scope: ("read" | "operate")[]) =>
  addToken(tokenStore(configFiles(server.configDir), silentLog), { name, scope });

test("a desk says in a line what needs somebody, names it with the way to mend it, and shows the plans that run", async () => {
  await using server = await desk();
  const made = await server.call("/plans/new", post({ actions: [["AC_sleep", [0]]], on: "all" }));
  expect(made.status).toBe(200);
  const { plans } = (await (await server.call("/plans")).json()) as { plans: Array<{ id: string }> };
  const [plan] = plans;
  const running = { ...plan, state: "running", wave: 2, waves: [1, 15, 30], total: 30 };
  const paused = { ...plan, id: crypto.randomUUID(), state: "paused", total: 10, reason: "1 failed" };
  const waiting = {
    ...{ id: "a1", what: "jobs_add", detail: "adds a job", digest: null, asked_by: "agent-1", client: null },
    ...{ needs: "operate", state: "waiting", asked_at: NOW, expires_at: NOW, decided_by: null },
    ...{ decided_at: null, may_decide: true },
  };
  const why = "HTTP 401: unauthorized (not asked again: `svc admin poll --ask-again` asks)";
  const lost = Array.from({ length: 12 }, (_, nth) => rowOf(`till-${nth + 10}`, { tags: ["floor-1"] }));
  await using tab = await openPage(browser, `${server.url}/dashboard#overview`, {
    token: TOKEN,
    async prepare(page) {
      await answer(page, /\/admin\/fleet\?q=/, [...lost, rowOf("lab-20", { why })]);
      await answer(page, /\/admin\/poll/, []);
      await answer(page, /\/diagnose$/, reportOf());
      await answer(page, /\/approvals$/, { approvals: [waiting], waiting: 1 });
      await answer(page, /\/plans$/, {
        plans: [
          { ...running, counts: { failed: 28, ok: 2 } },
          { ...paused, counts: { failed: 1, planned: 9 } },
        ],
      });
    },
  });
  const { page } = tab;
  const line = page.getByRole("region", { name: "State" });
  for (const name of ["1 failing", "12 lost", "1 waits for you", "1 plan to look at", "1 plan running"])
    await line.getByRole("link", { name, exact: true }).waitFor();
  expect(await line.getByText("All well").count()).toBe(0);
  const needs = page.getByRole("table", { name: "What needs you" });
  await needs
    .getByRole("row", { name: /failing lab-20 HTTP 401: unauthorized \(not asked again: Poll on the page/ })
    .waitFor();
  await needs
    .getByRole("row", {
      name: /lost 12 hosts of floor-1 the link was lost: till-10, till-11, till-12 and 9 more/,
    })
    .waitFor();
  await needs
    .getByRole("row", { name: /waits agent-1 jobs_add/ })
    .getByRole("link", { name: "Decide" })
    .waitFor();
  await needs.getByRole("row", { name: /paused: 1 of 10 hosts failed, 1 failed \(AC_sleep\)/ }).waitFor();
  expect(await needs.getByRole("link", { name: "Show 12 hosts of floor-1" }).getAttribute("href")).toBe(
    `#hosts?q=${encodeURIComponent('lost tag:floor-1 why:"the link was lost"')}`,
  );
  const runs = page.getByRole("table", { name: "What runs" });
  await runs.getByRole("row", { name: /AC_sleep on all wave 2 of 3 28 failed 2 ok of 30/ }).waitFor();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect([colorScheme, await violationsOn(page, true)]).toEqual([colorScheme, []]);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  await needs.getByRole("link", { name: "Fix lab-20" }).press("Enter");
  await page.waitForURL(/#hosts\/lab-20$/);
});

test("a desk where all is well has one green line and no boxes; a host that is lost is there at once, one that never was is not", async () => {
  await using server = await desk();
  const begin = Promise.withResolvers<void>();
  const down = { base_url: "link:x", error: "the link was lost", at: NOW };
  const events = [
    { ...down, label: "never", seen: null },
    { ...down, label: "till-1", seen: NOW },
  ];
  await using tab = await openPage(browser, `${server.url}/dashboard#overview`, {
    token: await tokenFor(server, "wall", "read", "operate"),
    async prepare(page) {
      await answer(page, /\/diagnose$/, reportOf());
      await answer(page, /\/admin\/fleet\?q=/, []);
      await answer(page, /\/admin\/poll/, []);
      await page.route(/\/events$/, async (route) => {
        await begin.promise;
        const body = events.map(
          (data, nth) => `event: host.down\nid: 1.${nth + 1}\ndata: ${JSON.stringify(data)}\n\n`,
        );
        await route.fulfill({ contentType: "text/event-stream", body: body.join("") });
      });
    },
  });
  const { page } = tab;
  const line = page.getByRole("region", { name: "State" });
  await line.locator(".notice.ok").getByText("All well").waitFor();
  await line.getByText("1 host", { exact: true }).waitFor();
  await settled(page);
  expect(await page.locator(".panel").filter({ visible: true }).count()).toBe(1);
  begin.resolve();
  await line.getByRole("link", { name: "1 lost", exact: true }).waitFor();
  await page.getByRole("row", { name: /lost till-1 the link was lost/ }).waitFor();
  expect(await line.getByText("All well").count()).toBe(0);
  await page.getByRole("navigation", { name: "Pages" }).getByText("1 need attention").waitFor();
});

test("a desk shows what people changed, and neither what was looked at nor what agents did", async () => {
  await using server = await desk();
  const token = await tokenFor(server, "anna", "read", "operate");
  const job = post({ script_path: "/no.json", interval_seconds: 900, job_id: "nightly" });
  const headers = { ...(job.headers as Record<string, string>), authorization: `Bearer ${token}` };
  expect((await fetch(`${server.url}/jobs/add`, { ...job, headers })).status).toBe(200);
  expect((await fetch(`${server.url}/jobs`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(
    200,
  );
  await using tab = await openPage(browser, `${server.url}/dashboard#overview`, {
    token: TOKEN,
    async prepare(page) {
      await answer(page, /\/diagnose$/, reportOf());
    },
  });
  const { page } = tab;
  const changes = page.getByRole("table", { name: "Changes by people" });
  await changes.getByRole("row", { name: /anna .*jobs\.add/ }).waitFor();
  await changes.getByRole("row", { name: /the owner .*admin\.add/ }).waitFor();
  const shown = await changes.getByRole("row").allTextContents();
  expect(shown.filter((text) => /GET|started/.test(text))).toEqual([]);
  await server.call("/jobs/remove", post({ job_id: "nightly" }));
  await changes.getByRole("row", { name: /the owner .*jobs\.remove/ }).waitFor();
});

test("a host with a screen shows it small, and what runs there now, next and last", async () => {
  await using server = await serveSource(["--rate-limit", "0"]);
  await server.call("/jobs/add", post({ script_path: "/no.json", interval_seconds: 900, job_id: "nightly" }));
  await server.call("/execute", post({ actions: [["AC_fail", { message: "no such order" }]] }));
  const screenshot = { name: "screenshot", detail: "X11: 1280x800", extra: { width: 1280, height: 800 } };
  let asked = 0;
  await using tab = await openPage(browser, `${server.url}/dashboard#overview`, {
    token: TOKEN,
    async prepare(page) {
      await answer(page, /\/diagnose$/, reportOf(screenshot));
      await page.route(/\/screen\/thumbnail/, (route) => {
        asked += 1;
        return route.fulfill({ contentType: "image/png", body: PNG });
      });
    },
  });
  const { page } = tab;
  const line = page.getByRole("region", { name: "State" });
  await line.locator(".notice.ok").getByText("All well").waitFor();
  await line.getByText("display 1280 × 800").waitFor();
  await page.getByRole("link", { name: "The screen of this host, live" }).waitFor();
  const fact = (name: string) => page.locator(`dt:text-is("${name}") + dd`);
  await fact("Now").getByText("idle").waitFor();
  await fact("Next").getByRole("link", { name: "nightly" }).waitFor();
  await fact("Last").getByText("no such order").waitFor();
  await fact("Looking").getByText("nobody").waitFor();
  expect(await fact("Screen").isVisible()).toBe(false);
  await settled(page);
  expect(asked).toBeLessThan(4);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect([colorScheme, await violationsOn(page, true)]).toEqual([colorScheme, []]);
  }
  const running = server.call("/execute", post({ actions: [["AC_sleep", { seconds: 60 }]] }));
  await fact("Now").getByRole("link", { name: "AC_sleep" }).waitFor();
  const { runs } = (await (await server.call("/runs")).json()) as { runs: Array<{ run_id: string }> };
  await server.call("/runs/cancel", post({ run_id: runs[0]?.run_id }));
  await running;
  await fact("Now").getByText("idle").waitFor();
  await fact("Last").getByText("cancelled").first().waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  expect(tab.complaints).toEqual([]);
});

test("a host says in its line what its checks have found, equal causes once, and becomes a desk with its first host", async () => {
  await using server = await serveSource(["--rate-limit", "0"]);
  const bad = { ok: false, severity: "error", detail: "the disk is full" };
  await using tab = await openPage(browser, `${server.url}/dashboard#overview`, {
    token: TOKEN,
    async prepare(page) {
      const warning = { name: "clock", severity: "warn", detail: "a later time" };
      const report = reportOf({ name: "disk_space", ...bad }, { name: "config_dir", ...bad }, warning);
      await answer(page, /\/diagnose$/, report);
    },
  });
  const { page } = tab;
  const line = page.getByRole("region", { name: "State" });
  await line.getByRole("link", { name: "Disk space, Config dir: the disk is full" }).waitFor();
  await line.getByRole("link", { name: "Clock: a later time" }).waitFor();
  expect(await line.locator(".notice.error").count()).toBe(1);
  const added = { label: "here", base_url: server.url, token: TOKEN };
  await server.call("/admin/hosts/add", post(added));
  await page
    .getByRole("row", { name: /failing This desk Disk space, Config dir: the disk is full/ })
    .waitFor();
  expect(await page.getByRole("heading", { name: "This host" }).count()).toBe(0);
  await server.call("/admin/hosts/remove", post({ label: "here" }));
  await page.getByRole("heading", { name: "This host" }).waitFor();
});

test("a host without a screen says so, which is no fault, and is asked about once", async () => {
  const env = { ...process.env, DISPLAY: "", WAYLAND_DISPLAY: "" };
  await using server = await serveSource(["--rate-limit", "0"], { env });
  await using tab = await openPage(browser, `${server.url}/dashboard#overview`, { token: TOKEN });
  const { page } = tab;
  const line = page.getByRole("region", { name: "State" });
  await page.getByText(/^No display: /).waitFor();
  await line.getByText("no display", { exact: true }).waitFor();
  expect(await line.getByText(/Screenshot|Mouse/).count()).toBe(0);
  await page.getByText("Is this host meant to have one?").waitFor();
  await page.getByRole("button", { name: "No, it has none" }).click();
  await page.getByText("Is this host meant to have one?").waitFor({ state: "hidden" });
  await page.getByText("No display: this host is meant to have none").waitFor();
  const { settings } = (await (await server.call("/config/list")).json()) as { settings: unknown[] };
  expect(settings).toContainEqual({ name: "desktop.screen", value: ["none"] });
});

test("the overview of a desk says what the server could not answer until it has", async () => {
  await using server = await desk();
  await using tab = await openPage(browser, `${server.url}/dashboard#overview`, {
    token: TOKEN,
    async prepare(page) {
      await page.clock.install();
      await answer(page, /\/diagnose$/, reportOf());
      const broken = { status: 500, json: { error: "internal error" } };
      await page.route(/\/plans$/, (route) => route.fulfill(broken), { times: 1 });
    },
  });
  const { page } = tab;
  const line = page.getByRole("region", { name: "State" });
  await line.getByText("internal error").waitFor();
  expect(await line.getByText("All well").count()).toBe(0);
  await page.clock.runFor(340_000);
  await line.getByText("All well").waitFor();
  expect(await page.getByText("internal error").count()).toBe(0);
});
