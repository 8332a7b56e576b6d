/** The page of desktops on demand in Chromium. */
import { expect } from "bun:test";
import { browserTest, openPage, useBrowser, violationsOn } from "../browser";
import { post, serveSource, TOKEN, until } from "../support";

const test = browserTest("Xvfb", "openbox");
const browser = useBrowser();

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

  expect(await violationsOn(page)).toEqual([]);
  if (process.env.SVC_PICTURES) await page.screenshot({ path: process.env.SVC_PICTURES });

  await page.getByRole("link", { name: "orders" }).click();
  await page.getByRole("heading", { name: "This host: orders" }).waitFor();
  await page.getByText("view only").waitFor();

  await page.goto(`${host.url}/dashboard#desktops`);
  await page.getByRole("button", { name: "Stop… orders" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
  await page.getByText("No desktops but that of the host").waitFor();
});

test("the wall of a desk shows the desktops of a host in place of the display that it lacks", async () => {
  const user = process.getuid?.() === 0 ? ["--desktop-user", "root"] : [];
  await using host = await serveSource(user, { env: { ...process.env, DISPLAY: "" } });
  await using desk = await serveSource();
  await desk.call("/admin/hosts/add", post({ label: "lab", base_url: host.url, token: TOKEN }));
  for (const name of ["orders", "mails"]) await host.call("/desktops/start", post({ name }));
  await using tab = await openPage(browser, `${desk.url}/dashboard#hosts`, { token: TOKEN });
  const { page } = tab;
  await page.getByRole("checkbox", { name: "Select lab" }).check();
  await page.locator(".wall-panel").getByRole("switch", { name: "Show" }).click();
  await page.getByRole("img", { name: "The screen of lab: orders" }).waitFor();
  await page.getByRole("img", { name: "The screen of lab: mails" }).waitFor();
  const tiles = page.locator(".wall-tile:visible");
  await until("the display to go", async () => (await tiles.count()) === 2);
  await tiles.first().click();
  await page.getByText("view only").waitFor();
  expect(page.url()).toEndWith("#live:lab:orders");
});
