/**
 * What a page does about an answer that does not come, in Chromium: within a time it says so, and whether what it asked for may have been
 * done.
 */
import { expect } from "bun:test";
import type { Route } from "playwright-core";
import { browserTest, openPage as openDashboard, settled, useBrowser, useHost } from "../browser";
import { post, TOKEN } from "../support";

const test = browserTest();

const browser = useBrowser();
const host = useHost();

/** In the page: the time that an answer has is a fiftieth of what it is. */
const HURRY = `{
  const { timeout } = AbortSignal;
  AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms / 50);
}`;

/** In the page: resolves when a request of now would be given up. */
const LIMIT = `new Promise((over) => AbortSignal.timeout(75_000).addEventListener("abort", over))`;

/** In the page: the details of a run begin to come, and nothing more of them comes. */
const STALLED = `{
  const { fetch } = window;
  window.fetch = (address, init) => {
    if (!/\\/runs\\/[0-9a-f]/.test(address)) return fetch(address, init);
    const body = new ReadableStream({
      start(parts) {
        parts.enqueue(new TextEncoder().encode("{"));
        init.signal.addEventListener("abort", () => parts.error(init.signal.reason));
      },
    });
    return Promise.resolve(new Response(body));
  };
}`;

/** A tab that is signed in and on a page, with a clock that the test moves, and no patience. */
const openPage = (name: string, answers: Readonly<Record<string, (route: Route) => unknown>>, script = "") =>
  openDashboard(browser, `${host.url}/dashboard#${name}`, {
    token: TOKEN,
    async prepare(page) {
      await page.clock.install();
      await page.addInitScript(HURRY);
      await page.addInitScript(script);
      for (const [path, answer] of Object.entries(answers)) {
        await page.route(`${host.url}/${path}`, async (route) => {
          await answer(route);
        });
      }
    },
  });

const never = () => new Promise(() => {});

test("a part of a host that nobody answers for says so, and is asked for again by who wants it", async () => {
  await host.call("/admin/hosts/add", post({ label: "mute", base_url: host.url, token: host.token }));
  let asked = 0;
  const answer = (route: Route) => (asked++ === 0 ? never() : route.continue());
  await using tab = await openPage("hosts/mute/runs", { "admin/hosts/mute/look?*": answer });
  const { page } = tab;
  await page.getByText("No answer after 75 s.", { exact: true }).waitFor();
  await page.clock.runFor(10_000);
  await settled(page);
  expect(asked).toBe(1);
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.getByText("as the host said").waitFor();
  await host.call("/admin/hosts/remove", post({ label: "mute" }));
});

test("a card that nobody answers for says so until it is there", async () => {
  let asked = 0;
  const answer = (route: Route) => (asked++ === 0 ? never() : route.continue());
  await using tab = await openPage("usb", { "usb/devices": answer });
  const { page } = tab;
  const says = page.getByText("No answer after 75 s.", { exact: true });
  await says.waitFor();
  await page.clock.runFor(3_000);
  await says.waitFor({ state: "hidden" });
});

for (const [why, answer, says] of [
  ["has no answer", never, "No answer after 75 s"],
  ["loses its connection", (route: Route) => route.abort(), "The server does not answer"],
] as const) {
  test(`what is done on a page and ${why} may have been done, and the page says that`, async () => {
    const job = { script_path: "/nowhere.json", interval_seconds: 900, job_id: "mute" };
    await host.call("/jobs/add", post(job));
    await using tab = await openPage("jobs", { "jobs/pause": answer });
    const { page } = tab;
    await page.getByRole("button", { name: "Pause mute" }).click();
    await page.getByText(`${says}; it may have been done: look before you do it again.`).waitFor();
    // What the shell says is of the server, which it asks again.
    expect(await page.locator(".banner").getByText("may have been done").count()).toBe(0);
    await host.call("/jobs/remove", post({ job_id: "mute" }));
  });
}

test("a check that has no answer has changed nothing, and is not said to have", async () => {
  await using tab = await openPage("scripts", { "execute/check": never });
  const { page } = tab;
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("No answer after 75 s.", { exact: true }).waitFor();
});

test("a run takes as long as it takes: the page says where else it is shown, and shows its outcome in the end", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const answer = async (route: Route) => {
    await held;
    await route.continue();
  };
  await using tab = await openPage("scripts", { execute: answer });
  const { page } = tab;
  await page.getByLabel("Script, as JSON").fill('[["AC_sleep", {"seconds": 0}]]');
  await page.getByRole("button", { name: "Run here" }).click();
  await page.getByText("running…").waitFor();
  await page.evaluate(LIMIT);
  await page.clock.runFor(80_000);
  await page.getByText("no answer for 75 s: Jobs and history shows whether it goes on").waitFor();
  release();
  await page.getByText("all ok").waitFor();
});

test("an answer that begins and goes no further is given up, and the page says that it stopped", async () => {
  await host.call("/execute", post({ actions: [["AC_sleep", { seconds: 0 }]] }));
  await using tab = await openPage("jobs", {}, STALLED);
  const { page } = tab;
  await page
    .getByRole("button", { name: /^Details of run/ })
    .first()
    .click();
  await page.getByText("The answer stopped: nothing more came for 75 s.", { exact: true }).waitFor();
});

test("the clearing of a log has the time that a look at all of its rows takes", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  await using tab = await openPage("audit", {
    async "audit/status"(route) {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), may_clear: true } });
    },
    async execute(route) {
      await held;
      await route.fulfill({ json: { outcomes: [{ ok: true, result: { deleted: 1 } }] } });
    },
  });
  const { page } = tab;
  const clear = page.getByRole("button", { name: "Clear log…" });
  await clear.click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^Remove / })
    .click();
  await page.evaluate(LIMIT);
  release();
  await page.locator("button:not([aria-disabled])", { hasText: "Clear log…" }).waitFor();
  expect(await page.getByText(/^No answer/).count()).toBe(0);
});
