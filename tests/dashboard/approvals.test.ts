/** The page of approvals in Chromium. */
import { expect } from "bun:test";
import { browserTest, openPage, useBrowser } from "../browser";
import { post, serveSource, TOKEN } from "../support";

const test = browserTest();
const browser = useBrowser();

test("a person with another token allows and denies what waits, after reading what it does", async () => {
  await using host = await serveSource();
  const ask = async (what: string, by?: string) => {
    const asked = { what, detail: `sees all that is on <b>it</b>: ${what}`, digest: "sha256:12ab", by };
    return ((await (await host.call("/approvals/ask", post(asked))).json()) as { id: string }).id;
  };
  const first = await ask("look at the screen", "night-shift");
  await using tab = await openPage(browser, `${host.url}/dashboard#approvals`, { token: TOKEN });
  const { page } = tab;
  await page.getByText("1 approval waiting").waitFor();
  // It comes while the page is open.
  const second = await ask("control the screen", "night-shift");
  await page.getByText("2 approvals waiting").waitFor();

  await page.getByRole("button", { name: `Allow… ${first}` }).click();
  const dialog = page.getByRole("dialog", { name: "Allow: look at the screen?" });
  expect(await dialog.textContent()).toContain("sees all that is on <b>it</b>: look at the screen");
  expect(await dialog.textContent()).toContain("Asked by night-shift from 127.0.0.1.");
  expect(await dialog.textContent()).toContain("sha256:12ab");
  await dialog.getByRole("button", { name: "Allow" }).click();
  await page.getByRole("row", { name: /look at the screen.*allowed.*by the host’s own token/ }).waitFor();

  await page.getByRole("button", { name: `Deny… ${second}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Deny" }).click();
  await page.getByRole("row", { name: /control the screen.*denied/ }).waitFor();
  expect(await page.getByRole("button", { name: /^(Allow|Deny)…/ }).count()).toBe(0);
  expect(tab.complaints).toEqual([]);
});

test("what the token itself has asked is decided by another one", async () => {
  await using host = await serveSource();
  await host.call("/approvals/ask", post({ what: "look at the screen", detail: "sees all" }));
  await using tab = await openPage(browser, `${host.url}/dashboard#approvals`, { token: TOKEN });
  await tab.page.getByText("another token with operate decides").waitFor();
  expect(await tab.page.getByRole("button", { name: /^(Allow|Deny)…/ }).count()).toBe(0);
});
