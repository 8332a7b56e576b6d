/** The dashboard in Chromium with tokens that allow less: what it shows, and that it asks for nothing else. */
import { expect } from "bun:test";
import type { Scope } from "../../src/core/rights";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { addToken, tokenStore } from "../../src/trust/named-tokens";
import { browserTest, openPage, settled, signIn, useBrowser, useHost } from "../browser";
import { post } from "../support";

const test = browserTest();

const browser = useBrowser();
const host = useHost();

const tokenFor = (name: string, ...scope: Scope[]) =>
  addToken(tokenStore(configFiles(host.configDir), silentLog), { name, scope });

/** A tab on the first page after signing in; `refused` are the requests that the token does not allow. */
async function signedIn(token: string) {
  const refused: string[] = [];
  const tab = await openPage(browser, `${host.url}/dashboard`, {
    typed: token,
    async prepare(page) {
      page.on("response", (response) => {
        if (response.status() === 403) refused.push(new URL(response.url()).pathname);
      });
    },
  });
  return { ...tab, refused };
}

for (const [scopes, titles] of [
  [["screen"], ["Screen", "Live screen"]],
  [["audit"], ["Audit log"]],
  [
    ["audit", "screen"],
    ["Screen", "Live screen", "Audit log"],
  ],
] as const) {
  test(`a token for ${scopes.join(" and ")} signs in, and the navigation has what it allows`, async () => {
    await using tab = await signedIn(await tokenFor(scopes.join("-"), ...scopes));
    const { page, refused } = tab;
    await page.getByRole("heading", { level: 1, name: titles[0] }).waitFor();
    expect(await page.getByRole("navigation").getByRole("link").allTextContents()).toEqual([...titles]);
    await page.getByText(`token ${scopes.join("-")}: ${scopes.join(", ")}`).waitFor();
    expect(await page.getByRole("link", { name: "API documentation" }).count()).toBe(0);
    await settled(page);
    expect(refused).toEqual([]);
  });
}

test("a page that the token may not see says what it needs, and asks for nothing", async () => {
  await using tab = await signedIn(await tokenFor("auditor", "audit"));
  const { page, refused } = tab;
  for (const name of ["overview", "screen"]) {
    await page.goto(`${host.url}/dashboard#${name}`);
    const needs = name === "screen" ? "screen" : "read";
    await page.getByText(`This token allows audit, but this page needs ${needs}.`).waitFor();
  }
  await page.goto(`${host.url}/dashboard#audit`);
  await page.getByText(/^rows /).waitFor();
  expect(refused).toEqual([]);
  expect(tab.complaints).toEqual([]);
});

test("a token for no page signs in, and reads what the pages need", async () => {
  await using tab = await signedIn(await tokenFor("scraper", "metrics"));
  await tab.page.getByText("This token allows metrics, but this page needs read.").waitFor();
  expect(await tab.page.getByRole("navigation").getByRole("link").count()).toBe(0);
  expect(tab.complaints).toEqual([]);
});

test("a token that only reads sees no button that it may not use, and no page asks for more", async () => {
  await host.call(
    "/admin/hosts/add",
    post({ label: "lab", base_url: host.url, token: host.token, tags: [] }),
  );
  await host.call("/jobs/add", post({ script_path: "/no.json", interval_seconds: 900, job_id: "nightly" }));
  await using tab = await signedIn(await tokenFor("wall", "read"));
  const { page, refused } = tab;
  const beyond =
    /Add|Start|Stop|Reset|Run$|Run here|Run on|Pause|Remove|Cancel|Poll|Broadcast|Export|Import|Watch|Tags…|Tags of/;
  const names: Record<string, string> = { server: "REST API", hosts: "lab", jobs: "nightly" };
  for (const name of ["overview", "server", "hosts", "inspector", "usb", "scripts", "jobs", "sync"]) {
    await page.goto(`${host.url}/dashboard#${name}`);
    await page.locator(`[href="#${name}"][aria-current]`).waitFor();
    await page.locator(".panel").first().waitFor();
    if (names[name]) await page.getByText(names[name], { exact: true }).first().waitFor();
    await settled(page);
    expect([name, await page.locator("main").getByRole("button", { name: beyond }).count()]).toEqual([
      name,
      0,
    ]);
    expect([name, await page.locator("main").getByRole("switch").count()]).toEqual([name, 0]);
  }
  expect(refused).toEqual([]);
  expect(tab.complaints).toEqual([]);
});

test("a token in its last week is shown when it ends, and a later one is not", async () => {
  const store = tokenStore(configFiles(host.configDir), silentLog);
  const ending = { name: "ending", scope: ["audit" as const], expires_s: 6 * 86_400 };
  await using tab = await signedIn(await addToken(store, ending));
  const { page } = tab;
  const said = page.getByText(/^This token ends on .+ svc token rotate ending makes a new one\.$/);
  await said.waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  expect(await said.isVisible()).toBe(false);
  await signIn(page, await tokenFor("lasting", "audit"));
  await page.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
  expect(await said.isVisible()).toBe(false);
  expect(tab.complaints).toEqual([]);
});

test("another token in the same tab has its own pages and buttons", async () => {
  await using tab = await signedIn(await tokenFor("first", "audit"));
  const { page } = tab;
  await page.getByRole("button", { name: "Sign out" }).click();
  await signIn(page, host.token);
  await page.getByRole("link", { name: "Jobs and history" }).click();
  await page.getByRole("button", { name: "Add…" }).waitFor();
  expect(tab.complaints).toEqual([]);
});
