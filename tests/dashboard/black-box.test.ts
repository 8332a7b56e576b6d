/** What was on a screen before a run failed, in the dashboard: from the run to the time line, of this host and of one of the address book. */
import { afterAll, beforeAll, expect } from "bun:test";
import { join } from "node:path";
import { keepSegments } from "../../src/host/desktop/screen/black-box/segments";
import { browserTest, openPage, settled, useBrowser } from "../browser";
import { addSegment } from "../host/desktop/screen/black-box/support";
import { post, serveSource, TOKEN } from "../support";

const test = browserTest();
const browser = useBrowser();
let host: Awaited<ReturnType<typeof serveSource>>;
let desk: Awaited<ReturnType<typeof serveSource>>;
/** A time of which the host has a picture, and the run that is said to have failed then. */
let time: string;
let run: string;
beforeAll(async () => {
  [host, desk] = await Promise.all([serveSource(["--rate-limit", "0"]), serveSource(["--rate-limit", "0"])]);
  time = addSegment(host.configDir, "Error 0x80070005");
  const failed = await host.call("/execute", post({ actions: [["AC_fail", { message: "no" }]] }));
  ({ run_id: run } = (await failed.json()) as { run_id: string });
  const [from, to] = [-300_000, 1_000].map((ms) => new Date(Date.parse(time) + ms).toISOString());
  const kept = { run_id: run, source_type: "scheduler", source_id: "nightly" };
  keepSegments(join(host.configDir, "black-box"), { ...kept, from: from ?? "", to: to ?? "" });
  const entry = { label: "lab-07", base_url: host.url, token: TOKEN };
  expect((await desk.call("/admin/hosts/add", post(entry))).status).toBe(200);
});
afterAll(() => Promise.all([host[Symbol.asyncDispose](), desk[Symbol.asyncDispose]()]));

test("a failed run leads to what was on the screen before it, from its details and from the history", async () => {
  await using tab = await openPage(browser, `${host.url}/dashboard#jobs`, { token: TOKEN });
  const { page } = tab;
  const history = page.getByRole("table", { name: /Past runs/ });
  await history.getByRole("link", { name: "What was on the screen before it failed" }).waitFor();
  await page.getByRole("button", { name: `Details of run ${run.slice(0, 8)}` }).click();
  const details = page.getByRole("region", { name: "Details of a run" });
  await details.getByRole("link", { name: "What was on the screen before it failed" }).click();
  await page.getByRole("img", { name: /^The screen at / }).waitFor();
  await page.getByText(/^Before a run failed: /).waitFor();
  await page.getByText("off: what was kept before").waitFor();
});

const KEPT = { name: "What was on the screen before it failed" };

test("what is kept for a failed run is asked for again where the server has asked to wait", async () => {
  const slowDown = { status: 429, headers: { "retry-after": "1" }, json: { error: "rate limited" } };
  await using tab = await openPage(browser, `${host.url}/dashboard#jobs`, {
    token: TOKEN,
    async prepare(page) {
      await page.route(/\/black-box\/kept$/, (route) => route.fulfill(slowDown), { times: 1 });
    },
  });
  await tab.page
    .getByRole("table", { name: /Past runs/ })
    .getByRole("link", KEPT)
    .waitFor();
});

test("what is kept for a failed run, and could not be told, is asked for again after a while, not with each run", async () => {
  const failing = { status: 500, json: { error: "internal error" } };
  let asked = 0;
  await using tab = await openPage(browser, `${host.url}/dashboard#jobs`, {
    token: TOKEN,
    async prepare(page) {
      await page.clock.install();
      await page.route(/\/black-box\/kept$/, (route) =>
        asked++ === 0 ? route.fulfill(failing) : route.continue(),
      );
    },
  });
  const { page } = tab;
  const history = page.getByRole("table", { name: /Past runs/ });
  const failed = history.getByText("error", { exact: true });
  await failed.first().waitFor();
  await settled(page);
  const before = await failed.count();
  await host.call("/execute", post({ actions: [["AC_fail", { message: "no" }]] }));
  await failed.nth(before).waitFor();
  await settled(page);
  expect(asked).toBe(1);
  await page.clock.runFor(31_000);
  await history.getByRole("link", KEPT).waitFor();
});

test("the time line of a host of the address book comes through the desk, and leaves a row there", async () => {
  const [from, to] = [Date.parse(time) - 60_000, Date.parse(time) + 1_000];
  const address = `${desk.url}/dashboard#live:lab-07?from=${from}&to=${to}`;
  await using tab = await openPage(browser, address, { token: TOKEN });
  const { page } = tab;
  await page.getByRole("img", { name: /^The screen at / }).waitFor();
  // It is paused on the host itself.
  expect(await page.getByRole("button", { name: "Pause", exact: true }).count()).toBe(0);
  await page.getByRole("button", { name: "Look back" }).click();
  await page.getByRole("slider", { name: "Time" }).waitFor();
  expect(await (await desk.call("/audit/list")).text()).toMatch(/admin\.screen_at[^\n]*lab-07/);
});

test("a host on which a plan has failed leads to what was on its screen before", async () => {
  const wanted = { actions: [["AC_fail", { message: "no" }]], on: "lab-07" };
  const made = await desk.call("/plans/new", post(wanted));
  const { id, digest } = (await made.json()) as { id: string; digest: string };
  const applied = await desk.call(`/plans/${id}/apply`, post({ digest, wait: true }));
  const { targets } = (await applied.json()) as { targets: Array<{ run_id: string | null }> };
  const [from, to] = [-300_000, 1_000].map((ms) => new Date(Date.parse(time) + ms).toISOString());
  const kept = { run_id: `${targets[0]?.run_id}`, source_type: "plan", source_id: id };
  keepSegments(join(host.configDir, "black-box"), { ...kept, from: from ?? "", to: to ?? "" });
  await using tab = await openPage(browser, `${desk.url}/dashboard#plans`, { token: TOKEN });
  const { page } = tab;
  await page.getByRole("button", { name: `Show the plan ${id.slice(0, 8)}` }).click();
  await page.getByRole("button", { name: "The screen of lab-07 before it failed" }).click();
  await page.getByRole("img", { name: /^The screen at / }).waitFor();
  expect(await (await desk.call("/audit/list")).text()).toContain(
    "GET /admin/hosts/lab-07/black-box/kept -> ok:200",
  );
});
