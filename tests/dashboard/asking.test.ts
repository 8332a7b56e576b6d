/**
 * A page that stays open, in Chromium, and gets no events: what it asks of the server, and what it makes of late, odd and
 * missing answers.
 */
import { expect } from "bun:test";
import type { Page, Request, Route } from "playwright-core";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { addToken, tokenStore } from "../../src/trust/named-tokens";
import {
  browserTest,
  hide,
  openPage as openDashboard,
  PAGES,
  settled,
  useBrowser,
  useHost,
} from "../browser";
import { post, TOKEN } from "../support";

const test = browserTest();

const browser = useBrowser();
const host = useHost();

/** A tab that is signed in and on a page, with a clock that the test moves. */
const openPage = (
  name: string,
  answers: Readonly<Record<string, (route: Route) => unknown>> = {},
  token = TOKEN,
) =>
  openDashboard(browser, `${host.url}/dashboard#${name}`, {
    token,
    async prepare(page) {
      await page.clock.install();
      await page.route(`${host.url}/events`, (route) => route.fulfill({ body: "not a stream" }));
      for (const [path, answer] of Object.entries(answers)) {
        await page.route(`${host.url}/${path}`, async (route) => {
          await answer(route);
        });
      }
    },
  });

/** Holds back the answers of requests for `url`. */
async function holdBack(page: Page, url: string | RegExp) {
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route(url, async (route) => {
    asked.resolve();
    await released.promise;
    await route.continue();
  });
  return { asked: asked.promise, release: released.resolve };
}

const slowDown = (route: Route) =>
  route.fulfill({ status: 429, headers: { "retry-after": "3" }, json: { error: "rate limited" } });

/** Counts what is asked for from now on. */
function countRequests(page: Page) {
  let asked = 0;
  page.on("request", (request) => {
    if (request.headers().authorization) asked += 1;
  });
  return () => asked;
}

test("where the server does not say what a token allows, a panel says which scope it lacks, and does not ask again", async () => {
  const store = tokenStore(configFiles(host.configDir), silentLog);
  const token = await addToken(store, { name: "wall", scope: ["read"] });
  // Without hosts, nobody is polled.
  const added = { label: "lacking", base_url: host.url, token: host.token };
  await host.call("/admin/hosts/add", post(added));
  for (const [name, path, scope] of [
    ["screen", "windows", "screen"],
    ["audit", "audit/list", "audit"],
    ["hosts", "admin/poll", "operate"],
  ] as const) {
    await using tab = await openPage(name, { token: (route) => route.abort() }, token);
    const { page } = tab;
    await page.getByText(`this token allows read, but this needs ${scope}`).waitFor();
    const again: string[] = [];
    page.on("request", (request) => again.push(new URL(request.url()).pathname));
    await page.clock.runFor(120_000);
    expect(again.filter((asked) => asked === `/${path}`)).toEqual([]);
  }
  await host.call("/admin/hosts/remove", post({ label: "lacking" }));
});

test("rows of hosts that come anew do not hide that there is no poll", async () => {
  const store = tokenStore(configFiles(host.configDir), silentLog);
  const token = await addToken(store, { name: "late", scope: ["read"] });
  const added = { label: "unasked", base_url: host.url, token: host.token };
  await host.call("/admin/hosts/add", post(added));
  await using tab = await openPage("hosts", { token: (route) => route.abort() }, token);
  const { page } = tab;
  const message = page.getByText("this token allows read, but this needs operate");
  await message.waitFor();
  const again = page.waitForResponse(/\/admin\/fleet$/);
  await page.clock.runFor(40_000);
  await again;
  await settled(page);
  expect(await message.isVisible()).toBe(true);
  await host.call("/admin/hosts/remove", post({ label: "unasked" }));
});

test("a hidden tab asks for nothing, and updates once it is visible", async () => {
  await using tab = await openPage("overview");
  const { page } = tab;
  await page.getByRole("heading", { name: "This host" }).waitFor();
  await settled(page);
  await hide(page, true);
  await page.clock.runFor(20_000);
  const asked = countRequests(page);
  await page.clock.runFor(600_000);
  expect(asked()).toBe(0);
  const answered = page.waitForResponse(/\/runs$/);
  await hide(page, false);
  await answered;
  // What the page shows, and what the navigation counts.
  expect(asked()).toBeLessThan(16);
  expect(tab.complaints).toEqual([]);
});

test("keeps asking when the clock of the machine is set back", async () => {
  await using tab = await openPage("overview");
  const { page } = tab;
  await page.getByRole("heading", { name: "This host" }).waitFor();
  await settled(page);
  await page.clock.setSystemTime(Date.now() - 3_600_000);
  const answered = page.waitForResponse(/\/runs$/);
  await page.clock.runFor(7_000);
  await answered;
});

test("reports a silent server, and continues when it answers", async () => {
  await using tab = await openPage("usb");
  const { page } = tab;
  await page.getByText("Not watching").waitFor();
  await settled(page);
  // All of it: the answer to any other question would hide the notice.
  const held = await holdBack(page, `${host.url}/**`);
  await page.clock.runFor(7_000);
  await held.asked;
  await page.clock.runFor(11_000);
  await page.getByText("The server has not answered for 10 s.").waitFor();
  held.release();
  await page.getByText("The server has not answered for 10 s.").waitFor({ state: "hidden" });
  expect(tab.complaints).toEqual([]);
});

test("waits a while when the server asks to wait without saying how many seconds", async () => {
  let refused = 0;
  await using tab = await openPage("usb", {
    "usb/**": (route) => {
      refused += 1;
      return route.fulfill({ status: 429, headers: { "retry-after": "Fri, 01 Jan 2027 00:00:00 GMT" } });
    },
  });
  const { page } = tab;
  await page.getByText("The server asks to slow down. Asking again in").waitFor();
  await page.clock.runFor(3_000);
  expect(refused).toBeLessThan(3);
});

test("tries again as announced, on a page that rarely asks by itself", async () => {
  await using tab = await openPage("scripts");
  const { page } = tab;
  const says = page.locator("body > .banner, .banner").first();
  const check = async (answer: (route: Route) => Promise<void>) => {
    await page.route(`${host.url}/execute/check`, answer);
    await page.getByRole("button", { name: "Check" }).click();
  };
  await check((route) => route.abort());
  await page.getByText("The server does not answer.", { exact: true }).waitFor();
  await says.waitFor({ state: "hidden" });
  await check((route) => route.fulfill({ status: 429, headers: { "retry-after": "1" } }));
  await page.getByText("The server asks to wait 1 s.").waitFor();
  await says.waitFor({ state: "hidden" });
});

for (const [name, path, shown] of [
  ["help", "help?*", "A first fleet in ten minutes"],
  ["approvals", "passkeys", "No passkeys"],
  ["server", "token", "the host's own, which allows everything"],
  ["hosts/slowed/runs", "admin/hosts/slowed/look?*", "as the host said"],
  ["hosts/slowed/settings", "admin/hosts", "This desk may use there"],
  // What is asked for seldom: every five minutes, and every one.
  ["scripts", "commands/reference", "commands, "],
  ["diagnostics", "diagnose", "checked "],
] as const) {
  test(`what the page ${name} asks for at ${path} is there when the time is over that the server has asked to wait`, async () => {
    await host.call("/admin/hosts/add", post({ label: "slowed", base_url: host.url, token: host.token }));
    let asked = 0;
    const answer = (route: Route) => (asked++ === 0 ? slowDown(route) : route.continue());
    await using tab = await openPage(name, { [path]: answer });
    const { page } = tab;
    await page.getByText("The server asks to slow down. Asking again in").waitFor();
    await page.clock.runFor(4_000);
    await page.getByText(shown).first().waitFor();
    await host.call("/admin/hosts/remove", post({ label: "slowed" }));
  });
}

test("the states of files from which a host differs are there when the time is over that the server has asked to wait", async () => {
  await host.call("/admin/hosts/add", post({ label: "drifts", base_url: host.url, token: host.token }));
  const states = [{ name: "kiosk.yaml", drifted: [{ label: "drifts", differences: 2 }] }];
  let asked = 0;
  const answer = (route: Route) => (asked++ === 0 ? slowDown(route) : route.fulfill({ json: { states } }));
  await using tab = await openPage("hosts/drifts", { "fleet/states": answer });
  const { page } = tab;
  await page.getByText("The server asks to slow down. Asking again in").waitFor();
  await page.clock.runFor(4_000);
  await page.getByText("kiosk.yaml (2 differences)").waitFor();
  await host.call("/admin/hosts/remove", post({ label: "drifts" }));
});

test("the page of the server asks for the token once, not with each answer of the rest", async () => {
  let asked = 0;
  const answer = (route: Route) => {
    asked += 1;
    return route.fulfill({ status: 500, json: { error: "internal error" } });
  };
  await using tab = await openPage("server", { token: answer });
  const { page } = tab;
  await settled(page);
  asked = 0;
  for (let nth = 0; nth < 4; nth++) {
    const answered = page.waitForResponse(/\/overview$/);
    await page.clock.runFor(5_600);
    await answered;
  }
  await settled(page);
  // The stream of events, which is tried again meanwhile, looks whether it may.
  expect(asked).toBeLessThan(3);
});

test("the page of the server says what the server could not answer until it has", async () => {
  let asked = 0;
  const answer = (route: Route) =>
    asked++ === 0 ? route.fulfill({ status: 500, json: { error: "internal error" } }) : route.continue();
  await using tab = await openPage("server", { overview: answer });
  const { page } = tab;
  await page.getByText("internal error").waitFor();
  await page.clock.runFor(6_000);
  await page.getByText("internal error").waitFor({ state: "hidden" });
});

for (const [name, path] of [
  ["overview", "runs"],
  ["inspector", "inspector/recent?*"],
  ["live", "screen/state"],
] as const) {
  test(`an error that concerns two panels of the page ${name} is told once`, async () => {
    const failing = (route: Route) => route.fulfill({ status: 500, json: { error: "internal error" } });
    await using tab = await openPage(name, { [path]: failing });
    const { page } = tab;
    await page.getByText("internal error").first().waitFor();
    await settled(page);
    expect(await page.getByText("internal error").count()).toBe(1);
  });
}

test("what a host was asked once is not asked again where a proxy holds events back", async () => {
  await host.call("/admin/hosts/add", post({ label: "once", base_url: host.url, token: host.token }));
  let asked = 0;
  const answer = (route: Route) => {
    asked += 1;
    return route.continue();
  };
  const never = () => new Promise(() => {});
  const answers = { "admin/hosts/once/look?*": answer, events: never };
  await using tab = await openPage("hosts/once/diagnostics", answers);
  const { page } = tab;
  await page.getByText("as the host said").waitFor();
  await page.clock.runFor(10_000);
  await page.getByText("asking every few seconds").waitFor();
  await settled(page);
  expect(asked).toBe(1);
  await host.call("/admin/hosts/remove", post({ label: "once" }));
});

test("says that the answer of a host cannot be shown", async () => {
  await host.call("/admin/hosts/add", post({ label: "odd", base_url: host.url, token: host.token }));
  const answer = (route: Route) => route.fulfill({ json: {} });
  await using tab = await openPage("hosts/odd/diagnostics", { "admin/hosts/odd/look?*": answer });
  await tab.page.getByText("The answer of the host cannot be shown").waitFor();
  await host.call("/admin/hosts/remove", post({ label: "odd" }));
});

for (const [why, answer] of [
  ["the time is over that the server has asked to wait", slowDown],
  ["the server answers again", (route: Route) => route.abort()],
] as const) {
  test(`a search in the help is made when ${why}`, async () => {
    await using tab = await openPage("help");
    const { page } = tab;
    await page.getByText("A first fleet in ten minutes").waitFor();
    await page.route(/\/help\?search=/, answer, { times: 1 });
    await page.getByLabel("Words in all pages").fill("port taken");
    await page.clock.runFor(4_000);
    await page.getByRole("link", { name: "The port is taken" }).waitFor();
  });
}

test("a search in the help that has failed is made again by no hidden tab, but once it is visible", async () => {
  await using tab = await openPage("help");
  const { page } = tab;
  await page.getByText("A first fleet in ten minutes").waitFor();
  const isSearch = (request: Request) => request.url().includes("help?search=");
  await page.route(/\/help\?search=/, (route) => route.abort(), { times: 1 });
  const failed = page.waitForEvent("requestfailed", isSearch);
  await page.getByLabel("Words in all pages").fill("port taken");
  await failed;
  await hide(page, true);
  const again: string[] = [];
  page.on("request", (request) => isSearch(request) && again.push(request.url()));
  await page.clock.runFor(10_000);
  expect(again).toEqual([]);
  await hide(page, false);
  await page.getByRole("link", { name: "The port is taken" }).waitFor();
});

test("no page says that it is loading where the server has answered with an error", async () => {
  const failing = (route: Route) =>
    /^\/(dashboard|events|token)\b/.test(new URL(route.request().url()).pathname)
      ? route.fallback()
      : route.fulfill({ status: 500, json: { error: "internal error" } });
  await using tab = await openPage("overview", { "**": failing });
  const { page } = tab;
  await page.getByText("asking every few seconds").waitFor();
  const still: string[] = [];
  for (const name of PAGES) {
    await page.evaluate(`location.hash = "#${name}"`);
    await page.locator(`.sidebar a[href="#${name}"][aria-current="page"]`).waitFor();
    await page.locator(".panel").first().waitFor({ state: "attached" });
    await settled(page, 100);
    if ((await page.locator(".loading:visible").count()) > 0) still.push(name);
  }
  expect(still).toEqual([]);
});

test("stops saying that it checks when there was no answer", async () => {
  await using tab = await openPage("diagnostics");
  const { page } = tab;
  await page.getByText("checked ").waitFor();
  await page.route(`${host.url}/diagnose`, (route) => route.abort());
  await page.getByRole("button", { name: "Run again" }).click();
  // The overview is asked at once, and its answer hides the notice within milliseconds.
  await page.getByText("The server does not answer. Trying again…").waitFor({ state: "attached" });
  await page.getByText("checked ").waitFor();
});

test("shows what was asked for last, in whatever order the answers come", async () => {
  await host.call("/execute", post({ actions: [["AC_sleep", { seconds: 0 }]] }));
  await using tab = await openPage("jobs");
  const { page } = tab;
  const newest = page.getByRole("table", { name: /Past runs/ }).getByText("a list of actions");
  await newest.waitFor();
  const held = await holdBack(page, /limit=50&source_type=rest$/);
  await page.getByLabel("Source").selectOption("rest");
  await held.asked;
  await page.getByLabel("Status").selectOption("interrupted");
  await page.getByText("No runs").waitFor();
  expect(await newest.count()).toBe(0);
  const late = page.waitForResponse(/limit=50&source_type=rest$/);
  held.release();
  await late;
  await page.evaluate("new Promise((resolve) => requestAnimationFrame(resolve))");
  expect(await newest.count()).toBe(0);
  expect(tab.complaints).toEqual([]);
});

test("turns one page, however often the button is pressed before the page is loaded", async () => {
  await Promise.all(Array.from({ length: 120 }, () => host.call("/usb/devices")));
  await using tab = await openPage("audit");
  const { page } = tab;
  const older = page.getByRole("button", { name: "Older" });
  const newer = page.getByRole("button", { name: "Newer" });
  await page.getByText(/^rows /).waitFor();
  await older.evaluate((button) => {
    for (const _ of [1, 2, 3]) Reflect.get(button, "click").call(button);
  });
  await page.locator("button:enabled", { hasText: "Newer" }).waitFor();
  await newer.click();
  await page.locator("button:disabled", { hasText: "Newer" }).waitFor();
});

test("filters the audit log by the submitted filter, not by what is being typed", async () => {
  await using tab = await openPage("audit");
  const { page } = tab;
  await page.getByText(/^rows /).waitFor();
  await page.getByLabel("Host or client").fill("not such a ho");
  await page.getByLabel("From").fill("99999-01-01T00:00");
  const answered = page.waitForResponse(/audit\/list/);
  await page.clock.runFor(11_000);
  expect((await answered).url()).toMatch(/\/audit\/list\?limit=50$/);
  await page.getByLabel("From").fill("");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByText("No rows").waitFor();
  expect(tab.complaints).toEqual([]);
});

test("shows the results of 1,500 hosts that come at once", async () => {
  const result = { ok: true, status: "ok", duration_ms: 1, outcomes: [] };
  const lines = Array.from({ length: 1_500 }, (_, nth) => JSON.stringify({ label: `lab-${nth}`, ...result }));
  await using tab = await openPage("hosts", {
    "admin/fleet": (route) =>
      route.fulfill({
        json: [
          {
            ...{ label: "lab-0", base_url: "http://lab", tags: [], trust: "nothing", way: "http" },
            ...{ state: "unknown", why: null, since: null, seen: null, version: null, rtt_ms: null },
            ...{ plan: null, clients: null, jobs: null, broken: false, twin: false },
          },
        ],
      }),
    "admin/poll*": (route) => route.fulfill({ json: [] }),
    "admin/broadcast": (route) => route.fulfill({ body: `${lines.join("\n")}\n` }),
  });
  const { page } = tab;
  await page.getByRole("checkbox", { name: "Select lab-0" }).check();
  await page.getByRole("button", { name: "Broadcast to 1 host…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Broadcast" }).click();
  await page.getByText("1500 ok, 0 failed").waitFor();
  await page.getByRole("row", { name: "lab-1499 ok" }).waitFor();
});

test("shows the error of an action until the next action, while it keeps asking", async () => {
  await host.call(
    "/jobs/add",
    post({ script_path: "/nowhere.json", interval_seconds: 900, job_id: "paused-here" }),
  );
  await using tab = await openPage("jobs", {
    "jobs/pause": (route) => route.fulfill({ status: 409, json: { error: "<b>not now</b>" } }),
  });
  const { page } = tab;
  await page.getByRole("button", { name: "Pause paused-here" }).click();
  await page.getByText("<b>not now</b>").waitFor();
  const answered = page.waitForResponse(/\/jobs$/);
  await page.clock.runFor(7_000);
  await answered;
  await settled(page);
  expect(await page.getByText("<b>not now</b>").count()).toBe(1);
  await host.call("/jobs/remove", post({ job_id: "paused-here" }));
});

test("keeps the focus on a button that becomes another", async () => {
  await host.call("/jobs/add", post({ script_path: "/nowhere.json", interval_seconds: 900, job_id: "kept" }));
  await using tab = await openPage("jobs");
  const { page } = tab;
  await page.getByRole("button", { name: "Pause kept" }).press("Enter");
  await page.locator(":focus", { hasText: "Resume" }).waitFor();
  await host.call("/jobs/remove", post({ job_id: "kept" }));
  expect(tab.complaints).toEqual([]);
});

test("lists each of several identical devices", async () => {
  const device = {
    vendor_id: "046d",
    product_id: "c52b",
    manufacturer: null,
    product: "Twin",
    serial: null,
    bus_location: null,
    extra: {},
  };
  const listing = { backend: "test", error: null, devices: [device, device], count: 2 };
  await using tab = await openPage("usb", { "usb/devices": (route) => route.fulfill({ json: listing }) });
  const { page } = tab;
  const twins = page.getByRole("cell", { name: "Twin" });
  await twins.nth(1).waitFor();
  const answered = page.waitForResponse(/usb\/devices/);
  await page.clock.runFor(18_000);
  await answered;
  await page.evaluate("new Promise((resolve) => requestAnimationFrame(resolve))");
  expect(await twins.count()).toBe(2);
  expect(tab.complaints).toEqual([]);
});

test("closes a dialog with its page", async () => {
  await using tab = await openPage("sync");
  const { page } = tab;
  await page.getByText("No folder is synced").waitFor();
  await page.getByRole("link", { name: "REST API" }).click();
  await page.getByRole("button", { name: "Export…" }).click();
  await page.getByRole("dialog").waitFor();
  await page.goBack();
  await page.getByText("No folder is synced").waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
  expect(tab.complaints).toEqual([]);
});
