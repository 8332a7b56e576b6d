/** Signing in at a real OpenID provider on the dashboard, in Chromium. */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { signInInBrowser } from "../../src/client/sign-in";
import { browserTest, hide, openTab, useBrowser } from "../browser";
import { post, TOKEN } from "../support";
import { setUp } from "../trust/oidc/support";

type Desk = Awaited<ReturnType<typeof setUp>>;

const test = browserTest();
const browser = useBrowser();

/** Does at the provider what a person does: the password, and the yes to what svc may know. */
async function signInThere(page: Page, account: string): Promise<void> {
  await page.locator('input[name="login"]').fill(account);
  await page.locator('input[name="password"]').fill("any");
  await page.locator('button[type="submit"]').click();
  await page.getByRole("button", { name: "Continue" }).click();
}

/** What Chromium reports beside the provider's own pages, with a font from elsewhere, and answers to whose session ends meanwhile (409). */
const besides = (complaints: readonly string[], issuer: string) =>
  complaints.filter((text) => !text.includes(issuer) && !/fonts\.googleapis|\b40[149]\b/.test(text));

/** A tab in which the pages of the provider need no network. */
async function openHere({ url }: Pick<Desk, "url">) {
  const tab = await openTab(browser, url);
  const style = { contentType: "text/css", body: "" };
  await tab.page.context().route(/fonts\.googleapis\.com/, (route) => route.fulfill(style));
  return tab;
}

/** A dashboard on which somebody has signed in. */
async function signedIn(desk: Desk, account: string) {
  const tab = await openHere(desk);
  const { page } = tab;
  await page.goto(`${desk.url}/dashboard`);
  await page.getByRole("link", { name: `Sign in at ${new URL(desk.peer.issuer).host}` }).click();
  await signInThere(page, account);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return tab;
}

test("a person signs in at the provider, is named on the page, and is out once signed out there", async () => {
  await using desk = await setUp();
  await using tab = await signedIn(desk, "alice");
  const { page } = tab;
  expect(page.url()).toBe(`${desk.url}/dashboard`);
  await page.getByText("alice@example.org").first().waitFor();
  // The page cannot read the session, and keeps nothing of it but what it proves itself with.
  const kept = await page.evaluate("[document.cookie, sessionStorage.length, Object.keys(localStorage)]");
  expect(kept).toEqual([expect.stringMatching(/^svc-signed-in-\d+=\w{8}$/), 0, ["svc-page"]]);
  await page.reload();
  await page.getByRole("heading", { name: "Overview" }).waitFor();

  const there = await page.context().newPage();
  await there.goto(`${desk.peer.issuer}/session/end`);
  const started = performance.now();
  await there.locator('button[value="yes"]').click();
  await page.getByLabel("Token").waitFor();
  expect(performance.now() - started).toBeLessThan(5_000);
  expect(besides(tab.complaints, desk.peer.issuer)).toEqual([]);
});

test("who signs out on the page is told where they may still be signed in", async () => {
  await using desk = await setUp();
  await using tab = await signedIn(desk, "alice");
  const { page } = tab;
  await page.getByRole("button", { name: "Sign out" }).click();
  const link = page.getByRole("link", { name: "sign out there too" });
  expect(await link.getAttribute("href")).toStartWith(`${desk.peer.issuer}/session/end?client_id=`);
  expect(await page.evaluate("document.cookie")).toBe("");
  expect(besides(tab.complaints, desk.peer.issuer)).toEqual([]);
});

for (const isHidden of [false, true]) {
  test(`who signs out in one tab is out in another that is ${isHidden ? "hidden, once it is not" : "visible"}`, async () => {
    await using desk = await setUp();
    await using tab = await signedIn(desk, "alice");
    const { page } = tab;
    const other = await page.context().newPage();
    await other.goto(`${desk.url}/dashboard`);
    await other.getByRole("heading", { name: "Overview" }).waitFor();
    if (isHidden) await hide(page, true);
    await other.getByRole("button", { name: "Sign out" }).click();
    await other.getByLabel("Token").waitFor();
    if (isHidden) await hide(page, false);
    await page.getByText("Your session has ended. Sign in again.").waitFor();
  });
}

test("who signs out in one tab is out in another that showed the form when they signed in", async () => {
  await using desk = await setUp();
  await using tab = await openHere(desk);
  const { page } = tab;
  await page.goto(`${desk.url}/dashboard`);
  await page.getByRole("link", { name: /^Sign in at/ }).waitFor();
  const other = await page.context().newPage();
  await other.goto(`${desk.url}/dashboard`);
  await other.getByRole("link", { name: /^Sign in at/ }).click();
  await signInThere(other, "alice");
  await other.getByRole("heading", { name: "Overview" }).waitFor();
  await page.evaluate(`location.hash = "#usb"`);
  await page.getByRole("heading", { name: "USB devices", level: 1 }).waitFor();
  await other.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("Your session has ended. Sign in again.").waitFor();
});

test("a session that is over by its time is over on the page too, which says so", async () => {
  await using desk = await setUp();
  await using tab = await signedIn(desk, "alice");
  const { page } = tab;
  // The browser drops a cookie by itself.
  await page.context().clearCookies({ name: /^svc-signed-in-/ });
  // Not by the menu: it is gone where the page has noticed the end before.
  await page.evaluate(`location.hash = "#diagnostics"`);
  await page.getByText("Your session has ended. Sign in again.").waitFor();
  await page.getByLabel("Token").waitFor();
});

test("who is in no group is told so, and which groups they have", async () => {
  await using desk = await setUp();
  await using tab = await openHere(desk);
  const { page } = tab;
  await page.goto(`${desk.url}/dashboard`);
  await page.getByRole("link", { name: /^Sign in at/ }).click();
  await signInThere(page, "eve");
  await page.getByRole("heading", { name: "Not signed in" }).waitFor();
  await page.getByText("groups there: nobody-knows").waitFor();
  await page.getByRole("link", { name: "Back to the dashboard" }).click();
  await page.getByLabel("Token").waitFor();
});

test("a command line gets its session once the person has compared what it shows, and gone on", async () => {
  await using desk = await setUp();
  await using tab = await openHere(desk);
  const { page } = tab;
  const inBrowser = async (address: string, code: string) => {
    await page.goto(address);
    await signInThere(page, "alice");
    await page.getByRole("heading", { name: "Sign in a command line?" }).waitFor();
    await page.getByText(code, { exact: true }).waitFor();
    await page.getByRole("link", { name: "Go on" }).click();
    await page.getByText("You are signed in.").waitFor();
  };
  let seen: Promise<void> | undefined;
  const session = await signInInBrowser({ url: desk.url, trust: { kind: "system" } }, (address, code) => {
    seen = inBrowser(address, code);
  });
  await seen;
  expect(session).toMatchObject({ name: expect.stringMatching(/^oidc:alice@example\.org~/) });
  // The browser itself is not signed in by that.
  await page.goto(`${desk.url}/dashboard`);
  await page.getByLabel("Token").waitFor();
});

test("who signs out of a token is in by the session of the browser, and sees what happens from then on", async () => {
  await using desk = await setUp();
  await using tab = await signedIn(desk, "alice");
  const page = await tab.page.context().newPage();
  await page.goto(`${desk.url}/dashboard#jobs`);
  await page.evaluate(`sessionStorage.setItem("svc-token", ${JSON.stringify(TOKEN)})`);
  await page.reload();
  await page.getByText("live", { exact: true }).waitFor();
  const person = page.getByText("alice@example.org");
  expect(await person.count()).toBe(0);
  await page.getByRole("button", { name: "Sign out" }).click();
  await person.first().waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  const job = { script_path: "/nowhere.json", interval_seconds: 900, job_id: "nightly" };
  expect((await desk.call("/jobs/add", post(job))).status).toBe(200);
  await page.getByRole("table", { name: "Jobs", exact: true }).getByText("nightly").waitFor();
});
