/** The page Overview of a desk, and of a host without a screen, in Chromium. */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { browserTest, openPage, useBrowser } from "../browser";
import { post, serveSource, TOKEN } from "../support";

const test = browserTest();
const browser = useBrowser();

test("a desk shows its fleet first and names the host that is down; a host without a screen is asked about once", async () => {
  await using desk = await serveSource(["--rate-limit", "0"], { env: { ...process.env, DISPLAY: "" } });
  const gone = { label: "gone one", base_url: "http://127.0.0.1:9", token: TOKEN };
  const here = { label: "here", base_url: desk.url, token: TOKEN };
  for (const host of [gone, here]) expect((await desk.call("/admin/hosts/add", post(host))).status).toBe(200);
  await using tab = await openPage(browser, `${desk.url}/dashboard#overview`, { token: TOKEN });
  const { page } = tab;
  const fleet = page.locator(".panel").first();
  await fleet.getByRole("heading", { name: "Fleet" }).waitFor();
  await fleet.getByRole("row", { name: /gone one/ }).waitFor();
  const figures = await fleet.locator(".figure").allInnerTexts();
  expect(figures.map((text) => text.split("\n").sort().join(" "))).toEqual([
    "2 Hosts",
    "1 Up",
    "1 Down",
    "0 Failing plans",
    "0 Broken logs",
  ]);
  await page.getByText("Is this host meant to have one?").waitFor();
  await page.getByRole("button", { name: "No, it has none" }).click();
  await page.getByText("Is this host meant to have one?").waitFor({ state: "hidden" });
  const { settings } = (await (await desk.call("/config/list")).json()) as { settings: unknown[] };
  expect(settings).toContainEqual({ name: "desktop.screen", value: ["none"] });
});

test("a desk says beside its host that an audit log is broken, and how many hosts of a paused plan have failed", async () => {
  await using desk = await serveSource(["--rate-limit", "0"]);
  const host = { label: "here", base_url: desk.url, token: TOKEN };
  expect((await desk.call("/admin/hosts/add", post(host))).status).toBe(200);
  const made = await desk.call("/plans/new", post({ actions: [["AC_sleep", [0]]], on: "all" }));
  expect(made.status).toBe(200);
  const { plans } = (await (await desk.call("/plans")).json()) as { plans: object[] };
  const paused = { ...plans[0], state: "paused", total: 10, counts: { failed: 1, planned: 9 } };
  const since = new Date().toISOString();
  const log = {
    label: "here",
    standing: "broken",
    state: "key_changed",
    since,
    reason: "it has another key",
  };
  const prepare = async (page: Page) => {
    await page.route(/\/admin\/witness$/, (route) =>
      route.fulfill({ json: { watching: true, hosts: [log], left: [] } }),
    );
    await page.route(/\/plans$/, (route) => route.fulfill({ json: { plans: [paused] } }));
  };
  await using tab = await openPage(browser, `${desk.url}/dashboard#overview`, { token: TOKEN, prepare });
  const { page } = tab;
  await page.getByText("paused: 1 of 10 hosts failed (AC_sleep)").waitFor();
  await page.getByRole("link", { name: "here" }).click();
  await page.getByRole("link", { name: "Audit", exact: true }).click();
  await page.getByText("key changed", { exact: true }).waitFor();
  await page.getByText("it has another key").waitFor();
});

test("the fleet says what the server could not answer until it has", async () => {
  await using desk = await serveSource(["--rate-limit", "0"]);
  const host = { label: "here", base_url: desk.url, token: TOKEN };
  expect((await desk.call("/admin/hosts/add", post(host))).status).toBe(200);
  await using tab = await openPage(browser, `${desk.url}/dashboard#overview`, {
    token: TOKEN,
    async prepare(page) {
      await page.clock.install();
      const answer = { status: 500, json: { error: "internal error" } };
      await page.route(/\/admin\/witness$/, (route) => route.fulfill(answer), { times: 1 });
    },
  });
  const { page } = tab;
  const fleet = page.locator(".panel.fleet");
  await fleet.getByText("internal error").waitFor();
  await page.clock.runFor(140_000);
  await fleet.getByText("Nothing is wrong").waitFor();
  expect(await fleet.getByText("internal error").count()).toBe(0);
});
