/** The page of desktops on demand in Chromium. */
import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { browserTest, openPage, useBrowser } from "../browser";
import { serveSource, TOKEN, until } from "../support";

const test = browserTest("Xvfb", "openbox");
const browser = useBrowser();
const AXE = readFileSync(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir), "utf8");

test("a desktop is started, seen, watched and stopped on the page", async () => {
  const user = process.getuid?.() === 0 ? ["--desktop-user", "root"] : [];
  await using host = await serveSource(user, { env: { ...process.env, DISPLAY: "" } });
  await using tab = await openPage(browser, `${host.url}/dashboard#desktops`, { token: TOKEN });
  const { page } = tab;
  await page.getByText("No desktops but that of the host").waitFor();
  await page.getByRole("button", { name: "Start…" }).click();
  const dialog = page.getByRole("dialog", { name: "Start a desktop that is kept" });
  await dialog.getByLabel("Name").fill("orders");
  await dialog.getByLabel("Size").fill("900x600");
  await dialog.getByRole("button", { name: "Start" }).click();
  await page.getByRole("row", { name: /orders.*kept.*900 × 600/ }).waitFor();
  const picture = page.getByRole("img", { name: "The screen of orders" });
  await picture.waitFor();
  await until("the picture", () => picture.evaluate((image) => Number(Reflect.get(image, "naturalWidth"))));

  await page.evaluate(AXE);
  const { violations } = await page.evaluate<{ violations: Array<{ id: string }> }>("axe.run()");
  expect(violations.map(({ id }) => id)).toEqual([]);
  if (process.env.SVC_PICTURES) await page.screenshot({ path: process.env.SVC_PICTURES });

  await page.getByRole("link", { name: "orders" }).click();
  await page.getByRole("heading", { name: "This host: orders" }).waitFor();
  await page.getByText("view only").waitFor();

  await page.goto(`${host.url}/dashboard#desktops`);
  await page.getByRole("button", { name: "Stop… orders" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
  await page.getByText("No desktops but that of the host").waitFor();
});
