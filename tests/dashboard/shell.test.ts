/** The shell of the dashboard in Chromium: signing in and out, and a server that refuses, restarts or is gone. */
import { expect } from "bun:test";
import { browserTest, openPage, openTab, signIn, useBrowser } from "../browser";
import { serveSource, TOKEN, until } from "../support";

const test = browserTest();
const browser = useBrowser();

/** What Chromium itself reports of an answer that was asked for. */
const besides = (complaints: readonly string[], ...expected: string[]) =>
  complaints.filter((text) => !expected.some((known) => text.includes(known)));

test("asks for the token, keeps it for the tab and nowhere else, and forgets it on signing out", async () => {
  await using host = await serveSource();
  await using tab = await openPage(browser, `${host.url}/dashboard`, { typed: TOKEN });
  const { page } = tab;
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  expect(await page.evaluate(() => [Object.values(sessionStorage), localStorage.length])).toEqual([
    [TOKEN],
    0,
  ]);
  await page.reload();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  expect(page.url()).not.toMatch(TOKEN);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  expect(tab.complaints).toEqual([]);
});

test("says that a token is wrong, and asks again until the server says to wait", async () => {
  await using host = await serveSource();
  await using tab = await openTab(browser, host.url);
  const { page } = tab;
  await page.goto(`${host.url}/dashboard`);
  await signIn(page, "wrong-token");
  await page.getByText("The server does not accept this token.").waitFor();
  for (let guess = 2; guess <= 8; guess++) {
    const answered = page.waitForResponse(/\/token$/);
    await signIn(page, `wrong-token-${guess}`);
    await answered;
  }
  await signIn(page, TOKEN);
  await page.getByText(/Too many attempts. Try again in \d+ s/).waitFor();
  expect(await page.getByRole("button", { name: "Sign in" }).isDisabled()).toBe(true);
  expect(besides(tab.complaints, "401", "429")).toEqual([]);
});

test("does not promise to try again while nobody is signed in and the server is gone", async () => {
  await using host = await serveSource();
  await using tab = await openTab(browser, host.url);
  const { page } = tab;
  await page.goto(`${host.url}/dashboard`);
  await page.route(`${host.url}/token`, (route) => route.abort());
  await signIn(page, TOKEN);
  await page.getByText("The server does not answer.", { exact: true }).waitFor();
  expect(await page.getByText("Trying again").count()).toBe(0);
  expect(besides(tab.complaints, "ERR_FAILED")).toEqual([]);
});

test("says what to do when the browser blocks storage", async () => {
  await using host = await serveSource();
  await using tab = await openTab(browser, host.url);
  await tab.page.addInitScript(
    `Object.defineProperty(window, "sessionStorage", { get() { throw new DOMException("no", "SecurityError"); } })`,
  );
  await tab.page.goto(`${host.url}/dashboard`);
  await tab.page.getByText("allow cookies for this address").waitFor();
});

test("waits as long as the server asks to, says so, and continues by itself", async () => {
  await using host = await serveSource(["--rate-limit", "20", "--rate-burst", "4"]);
  await using tab = await openPage(browser, `${host.url}/dashboard`, { typed: TOKEN });
  const { page } = tab;
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  let slowed = false;
  const notice = page.getByText("The server asks to slow down.").waitFor();
  await page.getByRole("link", { name: "USB devices", exact: true }).click();
  void notice.then(() => {
    slowed = true;
  });
  await until("a notice that the server asks to wait", async () => {
    await Promise.all(Array.from({ length: 8 }, () => host.call("/overview")));
    return slowed;
  });
  await page.getByText("Not watching").waitFor();
  await page.getByText("The server asks to slow down.").waitFor({ state: "hidden" });
  expect(besides(tab.complaints, "429")).toEqual([]);
});

test("survives a restart of the server, and asks for the token when it has changed", async () => {
  const first = await serveSource();
  const port = Number(new URL(first.url).port);
  await using tab = await openPage(browser, `${first.url}/dashboard`, { typed: TOKEN });
  const { page } = tab;
  await page.getByRole("heading", { name: "This host" }).waitFor();
  await first[Symbol.asyncDispose]();
  await page.getByText("The server does not answer. Trying again…").waitFor();
  {
    await using _second = await serveSource(["--port", String(port)]);
    await page.getByText("The server does not answer. Trying again…").waitFor({ state: "hidden" });
  }
  await using third = await serveSource(["--port", String(port)], { token: "another-token-0123456789" });
  await page.getByText("The server no longer accepts this token.").waitFor();
  await signIn(page, third.token);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  expect(besides(tab.complaints, "ERR_CONNECTION", "401")).toEqual([]);
});

test("three tabs that get no events ask little more often than one", async () => {
  await using host = await serveSource();
  const context = await browser.newContext();
  await context.clock.install();
  await context.route(`${host.url}/events`, (route) => route.fulfill({ body: "not a stream" }));
  let asked = 0;
  let answered = 0;
  context.on("request", (request) => {
    if (request.headers().authorization) asked += 1;
  });
  context.on("requestfinished", (request) => {
    if (request.headers().authorization) answered += 1;
  });
  for (let nth = 0; nth < 3; nth++) {
    const page = await context.newPage();
    await page.goto(`${host.url}/dashboard#inspector`);
    await signIn(page, TOKEN);
    await page.getByText("No samples in the window.").waitFor();
  }
  await until("every answer", () => answered === asked);
  asked = answered = 0;
  for (let tenths = 0; tenths < 30; tenths++) {
    await context.clock.runFor(100);
    await until("every answer", () => answered === asked);
  }
  // One a second for the inspector, and some for the shell. Tabs that do not share ask three times as often: 12 at least.
  expect(asked).toBeGreaterThan(0);
  expect(asked).toBeLessThanOrEqual(9);
  await context.close();
});

test("the shell is painted with less than 200 kB, and comes from the browser's own store after that", async () => {
  await using host = await serveSource();
  await using tab = await openTab(browser, host.url);
  const { page } = tab;
  let bytes = 0;
  const asked: string[] = [];
  page.on("requestfinished", async (request) => {
    asked.push(new URL(request.url()).pathname);
    const sizes = await request.sizes();
    bytes += sizes.responseBodySize + sizes.responseHeadersSize;
  });
  await page.goto(`${host.url}/dashboard`, { waitUntil: "networkidle" });
  expect(asked.length).toBeGreaterThan(5);
  expect(bytes).toBeLessThan(200_000);
  expect(asked.filter((path) => path.endsWith(".js") && !/\.[\w-]{22}\.js$/.test(path))).toEqual([]);
  const served = async () => {
    const text = await (await host.call("/metrics")).text();
    return /requests_total\{method="GET",path="\/dashboard\/\{asset\}",status="200"\} (\d+)/.exec(text)?.[1];
  };
  const before = await served();
  await page.goto("about:blank");
  await page.goto(`${host.url}/dashboard`, { waitUntil: "networkidle" });
  expect(await served()).toBe(before);
});

test("is used with the keyboard alone, on a small screen too", async () => {
  await using host = await serveSource();
  await using tab = await openTab(browser, host.url, { viewport: { width: 360, height: 640 } });
  const { page } = tab;
  await page.goto(`${host.url}/dashboard`);
  await page.keyboard.type(TOKEN);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Menu" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "USB devices", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "USB devices", level: 1 }).waitFor();
  await page.locator("#main:focus").waitFor();
  expect(await page.getByRole("link", { name: "USB devices", exact: true }).isVisible()).toBe(false);
  await page.getByRole("button", { name: "Menu" }).press("Enter");
  await page.getByRole("link", { name: "USB devices", exact: true }).press("Enter");
  expect(await page.getByRole("link", { name: "USB devices", exact: true }).isVisible()).toBe(false);
  await page.getByRole("button", { name: "Menu" }).press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Menu" }).and(page.locator(":focus")).waitFor();
  expect(tab.complaints).toEqual([]);
});
