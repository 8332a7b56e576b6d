/** The browser that the tests of the pages share. */
import { expect } from "bun:test";
import { browserTest, openTab, useBrowser } from "./browser";

const test = browserTest();
const browser = useBrowser();

test("a browser that has crashed is started again for the next tab", async () => {
  const gone = (await browser.newContext()).browser();
  const devTools = await gone?.newBrowserCDPSession();
  await devTools?.send("Browser.crash").catch(() => undefined);
  await using tab = await openTab(browser, "http://127.0.0.1");
  expect(await tab.page.evaluate("1 + 1")).toBe(2);
});
