/** The API explorer in Chromium. */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { browserTest, openPage, openTab, signIn, useBrowser, useHost } from "../browser";
import { TOKEN } from "../support";

const test = browserTest();
/** Once the document is shown. */
const shown = (page: Page) => page.locator(".opblock").first().waitFor();

/** Goes down nearly a screen, and resolves to where it is then when that is drawn. */
const SCROLL = `(async () => {
  scrollBy({ top: innerHeight * 0.8, behavior: "instant" });
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  return scrollY;
})()`;

/** Of a long document Swagger UI draws what is in view: this calls `look` at each screen of it until it returns true, or to the end. */
async function scrollWhile(page: Page, look: () => Promise<boolean>): Promise<void> {
  let before = -1;
  while (!(await look())) {
    const at = await page.evaluate<number>(SCROLL);
    if (at === before) return;
    before = at;
  }
}

const browser = useBrowser();
const host = useHost();

test("asks for the token, keeps it for the tab, and shows every operation", async () => {
  await using tab = await openPage(browser, `${host.url}/docs`, { typed: TOKEN });
  const { page } = tab;
  const { paths } = (await (await host.call("/openapi.json")).json()) as {
    paths: Record<string, Record<string, { summary: string }>>;
  };
  await shown(page);
  const seen = new Set<string>();
  await scrollWhile(page, async () => {
    for (const text of await page.locator(".opblock-summary-description").allTextContents()) seen.add(text);
    return false;
  });
  const summaries = Object.values(paths).flatMap((methods) =>
    Object.values(methods).map(({ summary }) => summary),
  );
  expect([...seen].sort()).toEqual([...new Set(summaries)].sort());
  expect(await page.evaluate(() => Object.values(sessionStorage))).toEqual([TOKEN]);
  expect(await page.evaluate(() => localStorage.length)).toBe(0);
  await page.reload();
  await shown(page);
  expect(tab.complaints).toEqual([]);
});

test("tries an operation out with the token, which it never shows; curl has a placeholder for it", async () => {
  await using tab = await openPage(browser, `${host.url}/docs`, { typed: TOKEN });
  const { page } = tab;
  await shown(page);
  const operation = page.locator(".opblock", { hasText: "List the commands" });
  await scrollWhile(page, async () => (await operation.count()) > 0);
  await operation.getByRole("button").first().click();
  await operation.getByRole("button", { name: "Try it out" }).click();
  await operation.getByRole("button", { name: "Execute" }).click();
  await operation.getByText('"AC_rest_api_status"').first().waitFor();
  expect(await operation.locator(".curl").textContent()).toContain("-H 'Authorization: Bearer <token>'");
  expect(await page.content()).not.toMatch(TOKEN);
  expect(page.url()).not.toMatch(TOKEN);
  expect(tab.complaints).toEqual([]);
});

test("refuses a wrong token, and takes no configuration from the address", async () => {
  await using tab = await openTab(browser, host.url);
  const { page } = tab;
  await page.goto(`${host.url}/docs?url=http://127.0.0.1:1/evil.json&configUrl=http://127.0.0.1:1/evil.json`);
  await signIn(page, "not-the-token");
  await page.getByText("The server does not accept this token.").waitFor();
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  await signIn(page, TOKEN);
  await shown(page);
  expect(await page.content()).not.toMatch("evil.json");
  // The browser itself reports the 401 that was asked for.
  expect(tab.complaints.filter((text) => !text.includes("401"))).toEqual([]);
});
