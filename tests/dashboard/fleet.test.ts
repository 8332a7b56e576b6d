/** The page Overview of a desk, and of a host without a screen, in Chromium. */
import { expect } from "bun:test";
import { browserTest, openPage, useBrowser } from "../browser";
import { post, serveSource, TOKEN } from "../support";

const test = browserTest();
const browser = useBrowser();

test("a desk shows its fleet first and names the host that is down; a host without a screen is asked about once", async () => {
  await using desk = await serveSource(["--rate-limit", "0"], { env: { ...process.env, DISPLAY: "" } });
  const gone = { label: "gone one", base_url: "http://127.0.0.1:9", token: TOKEN };
  const here = { label: "here", base_url: desk.url, token: TOKEN };
  for (const host of [gone, here]) expect((await desk.call("/admin/hosts/add", post(host))).status).toBe(200);
  await using tab = await openPage(browser, `${desk.url}/dashboard#overview`, { token: TOKEN });
  const { page } = tab;
  const fleet = page.locator(".panel").first();
  await fleet.getByRole("heading", { name: "Fleet" }).waitFor();
  await fleet.getByRole("row", { name: /gone one/ }).waitFor();
  const figures = await fleet.locator(".figure").allInnerTexts();
  expect(figures.map((text) => text.split("\n").sort().join(" "))).toEqual([
    "2 Hosts",
    "1 Up",
    "1 Down",
    "0 Failing plans",
    "0 Broken logs",
  ]);
  await page.getByText("Is this host meant to have one?").waitFor();
  await page.getByRole("button", { name: "No, it has none" }).click();
  await page.getByText("Is this host meant to have one?").waitFor({ state: "hidden" });
  const { settings } = (await (await desk.call("/config/list")).json()) as { settings: unknown[] };
  expect(settings).toContainEqual({ name: "desktop.screen", value: ["none"] });
});
