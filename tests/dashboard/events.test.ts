/** The dashboard on the events of a server, in Chromium: what it shows at once, and what it does when they stop coming. */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { browserTest, hide, openPage, openTab, PAGES, settled, useBrowser } from "../browser";
import { post, serveSource, TOKEN, until } from "../support";

const test = browserTest();
const browser = useBrowser();

const SLEEP = { actions: [["AC_sleep", { seconds: 0 }]] };

const openOn = (url: string, name: string, prepare?: (page: Page) => Promise<void>) =>
  openPage(browser, `${url}/dashboard#${name}`, { token: TOKEN, ...(prepare && { prepare }) });

const isLive = (page: Page) => page.getByText("live", { exact: true }).waitFor();
const isAsking = (page: Page) => page.getByText("asking every few seconds").waitFor();

/** The requests for the stream, of all tabs of the context of `page`. */
function streamsOf(page: Page) {
  const lastIds: Array<string | undefined> = [];
  page.context().on("request", (request) => {
    if (new URL(request.url()).pathname === "/events") lastIds.push(request.headers()["last-event-id"]);
  });
  return lastIds;
}

/** A server before `target` that holds every answer back until it is complete. */
const holdingProxy = (target: string) =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const headers = new Headers(request.headers);
      headers.set("host", new URL(target).host);
      const body = request.method === "GET" ? null : await request.arrayBuffer();
      const { signal, method } = request;
      const init = { method, headers, body, signal, decompress: false };
      const answer = await fetch(`${target}${pathname}${search}`, init);
      return new Response(await answer.arrayBuffer(), { status: answer.status, headers: answer.headers });
    },
  });

/**
 * In the page: a stream whose marks come by the clock of the page, which the test moves. The real one has them by the clock of
 * the server.
 */
const MARKED_STREAM = `{
  const { fetch } = window;
  window.fetch = (url, init) => {
    if (!String(url).endsWith("/events")) return fetch(url, init);
    document.documentElement.dataset.streams = Number(document.documentElement.dataset.streams ?? 0) + 1;
    const mark = new TextEncoder().encode("id: boot-1\\nevent: mark\\ndata: {}\\n\\n");
    const body = new ReadableStream({
      start(stream) {
        stream.enqueue(mark);
        setInterval(() => stream.enqueue(mark), 15_000);
      },
    });
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  };
}`;

/** In the page: notes which runs are listed 100 ms after the first frame behind their event. */
const NOTE_RUNS = `{
  const { postMessage } = BroadcastChannel.prototype;
  window.late = [];
  window.seen = 0;
  BroadcastChannel.prototype.postMessage = function (said) {
    postMessage.call(this, said);
    if (said.message?.type !== "run.started") return;
    const at = performance.now();
    const { source_id, started_at } = said.message.data;
    requestAnimationFrame(() => setTimeout(() => {
      window.seen += 1;
      const shown = [...document.querySelectorAll('table[aria-label^="Runs in progress"] time')];
      if (!shown.some((time) => time.dateTime === started_at)) window.late.push(performance.now() - at);
    }, 100));
  };
}`;

test("a run that something else starts is on the page 100 ms after the next frame", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await openOn(host.url, "jobs", async (page) => {
    await page.addInitScript(NOTE_RUNS);
  });
  const { page } = tab;
  await isLive(page);
  await page.getByText("Nothing has run yet").waitFor();
  for (let nth = 1; nth <= 5; nth++) {
    await host.call("/execute", post(SLEEP));
    await until("the run was looked for", async () => (await page.evaluate("window.seen")) === nth);
  }
  expect(await page.evaluate("window.late")).toEqual([]);
  expect(await page.getByRole("table", { name: "Runs in progress" }).getByText("AC_sleep").count()).toBe(5);
  await page.getByRole("table", { name: "Past runs" }).getByText("a list of actions").nth(4).waitFor();
  expect(tab.complaints).toEqual([]);
});

test("a run that logs something stays listed as it is while it goes on", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await openOn(host.url, "jobs");
  const { page } = tab;
  await isLive(page);
  await page.getByText("Nothing has run yet").waitFor();
  const logs = {
    actions: [
      ["AC_log", { message: "half done" }],
      ["AC_sleep", { seconds: 60 }],
    ],
  };
  const ended = host.call("/execute", post(logs));
  const row = page
    .getByRole("table", { name: "Runs in progress" })
    .getByRole("row", { name: /AC_log, AC_sleep/ });
  await row.getByText("running").waitFor();
  // Its second action has begun by then.
  await until("the log", async () => {
    const { runs } = (await (await host.call("/runs")).json()) as { runs: Array<{ run_id: string }> };
    const shown = await host.call(`/runs/${runs[0]?.run_id}`);
    return ((await shown.json()) as { log: unknown[] }).log.length > 0;
  });
  await settled(page);
  expect(await row.getByText("running").isVisible()).toBe(true);
  await page.getByRole("button", { name: /^Cancel run/ }).click();
  await ended;
  expect(tab.complaints).toEqual([]);
});

/** The live screen never rests: beside its stream, who looks is asked for each five seconds. */
const RESTING = PAGES.filter((name) => name !== "live");

for (const [name, hosts] of [...RESTING.map((one) => [one, 0] as const), ["overview", 1] as const]) {
  test(`a tab at rest asks at most twice a minute on the page ${name}${hosts > 0 ? " of a desk" : ""}`, async () => {
    await using host = await serveSource(["--rate-limit", "0"]);
    const added = { label: "lab-01", base_url: host.url, token: TOKEN };
    if (hosts > 0) expect((await host.call("/admin/hosts/add", post(added))).status).toBe(200);
    await using tab = await openTab(browser, host.url, { token: TOKEN });
    const { page } = tab;
    await page.clock.install();
    await page.addInitScript(MARKED_STREAM);
    await page.goto(`${host.url}/dashboard#${name}`);
    await isLive(page);
    await settled(page);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    for (let passed = 0; passed < 240_000; passed += 5_000) {
      await page.clock.runFor(5_000);
      await settled(page, 0);
    }
    expect(asked.length <= 8 ? [] : asked).toEqual([]);
    // Nor did it open the stream anew.
    expect(await page.evaluate("document.documentElement.dataset.streams")).toBe("1");
  });
}

test("a hidden tab reads no events, and shows what happened meanwhile once it is visible", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await openOn(host.url, "jobs");
  const { page } = tab;
  await isLive(page);
  await page.getByText("Nothing has run yet").waitFor();
  const ended = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/events"));
  await hide(page, true);
  await ended;
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await host.call("/execute", post(SLEEP));
  expect(asked).toEqual([]);
  await hide(page, false);
  await page.getByRole("table", { name: "Runs in progress" }).getByText("AC_sleep").waitFor();
  await isLive(page);
});

test("a server that is restarted behind the page is shown as it is then, without a reload", async () => {
  const first = await serveSource(["--rate-limit", "0"]);
  const port = new URL(first.url).port;
  await using tab = await openOn(first.url, "jobs");
  const { page } = tab;
  await isLive(page);
  await first.call("/execute", post(SLEEP));
  const listed = page.getByRole("table", { name: "Runs in progress" });
  await listed.getByText("AC_sleep").waitFor();
  await first[Symbol.asyncDispose]();
  await page.getByText("reconnecting…").waitFor();
  await using second = await serveSource(["--rate-limit", "0", "--port", port]);
  await isLive(page);
  // The runs of the first one are gone with it.
  await page.getByText("Nothing has run yet").waitFor();
  await second.call("/execute", post({ actions: [["AC_rest_api_status"]] }));
  await listed.getByText("AC_rest_api_status").waitFor();
});

test("where a proxy holds the stream back, the page asks every 5 seconds, and says so", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  using proxy = holdingProxy(host.url);
  await using tab = await openOn(proxy.url.origin, "jobs");
  const { page } = tab;
  await isAsking(page);
  await host.call("/execute", post(SLEEP));
  await page.getByRole("table", { name: "Runs in progress" }).getByText("AC_sleep").waitFor();
  expect(tab.complaints).toEqual([]);
});

for (const [what, answer] of [
  ["has no events", { status: 404, json: { error: "no such route" } }],
  ["has no room for another stream", { status: 429, json: { error: "64 streams" } }],
  ["is a proxy that answers with a page of its own", { status: 200, body: "<h1>Welcome</h1>\n\n" }],
] as const) {
  test(`where the server ${what}, the page asks every 5 seconds, and goes on with events once they come`, async () => {
    await using host = await serveSource(["--rate-limit", "0"]);
    await using tab = await openOn(host.url, "jobs", async (page) => {
      await page.clock.install();
      await page.route(`${host.url}/events`, (route) => route.fulfill(answer));
    });
    const { page } = tab;
    await isAsking(page);
    await settled(page);
    expect(await page.getByText("The server asks to slow down").count()).toBe(0);
    const asked = page.waitForRequest(`${host.url}/jobs`);
    await page.clock.runFor(6_000);
    await asked;
    await page.unroute(`${host.url}/events`);
    await page.clock.runFor(20_000);
    await isLive(page);
  });
}

test("tabs share one stream, and when its tab is closed another goes on behind the last event", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await openOn(host.url, "jobs");
  const { page: first } = tab;
  const streams = streamsOf(first);
  await isLive(first);
  const others = [];
  for (let nth = 0; nth < 2; nth++) {
    const page = await first.context().newPage();
    await page.goto(`${host.url}/dashboard#jobs`);
    await isLive(page);
    others.push(page);
  }
  await host.call("/execute", post(SLEEP));
  for (const page of [first, ...others]) {
    await page.getByRole("table", { name: "Runs in progress" }).getByText("AC_sleep").waitFor();
  }
  expect(streams).toEqual([]);
  await first.close();
  await until("another tab that reads", () => streams.length > 0);
  await host.call("/execute", post({ actions: [["AC_rest_api_status"]] }));
  for (const page of others) {
    await page.getByRole("table", { name: "Runs in progress" }).getByText("AC_rest_api_status").waitFor();
  }
  expect(streams).toEqual([expect.stringMatching(/^\w+-\d+$/)]);
});

test("after a sleep, the stream is opened anew behind the last event", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await openOn(host.url, "jobs", async (page) => {
    await page.clock.install();
  });
  const { page } = tab;
  const streams = streamsOf(page);
  await isLive(page);
  await page.clock.fastForward(3_600_000);
  await until("the stream of after", () => streams.length > 0);
  expect(streams[0]).toMatch(/^\w+-\d+$/);
  await isLive(page);
});
