/** The screen of a host at its desk, in the dashboard in Chromium: a data channel to the host, and the wall of small pictures. */
import { expect } from "bun:test";
import { browserTest, openPage, useBrowser } from "../browser";
import { openTerminal, PROGRAMS, SIZE, startDisplay } from "../desktop/support";
import { serveBinary, TOKEN } from "../support";

const test = browserTest(...PROGRAMS);
const browser = useBrowser();

test("a host is seen and typed into from the page of its desk, and on the wall", async () => {
  await using display = await startDisplay();
  await using terminal = openTerminal(display.env, "target");
  await using host = await serveBinary(["--rate-limit", "0"], { env: display.env });
  await using desk = await serveBinary(["--rate-limit", "0"]);
  const added = await desk.call("/admin/hosts/add", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ label: "lab one", base_url: host.url, token: TOKEN }),
  });
  expect(added.status).toBe(200);
  await using tab = await openPage(browser, `${desk.url}/dashboard#admin`, { token: TOKEN });
  const { page } = tab;
  await page.getByRole("checkbox", { name: "Select lab one" }).check();
  await page.locator(".wall-panel").getByRole("switch", { name: "Show" }).click();
  await page.getByAltText("The screen of lab one").waitFor();
  await page.waitForFunction("document.querySelector('.wall-tile img').naturalWidth === 320");
  await page.getByRole("link", { name: "lab one" }).last().click();
  await page.getByText("view only").waitFor();
  await page.getByRole("button", { name: "Take control" }).click();
  await page.getByText("you control").waitFor();
  const box = await page.locator(".live-stage canvas").boundingBox();
  const scale = (box?.width ?? 0) / SIZE.width;
  await page.mouse.click((box?.x ?? 0) + 150 * scale, (box?.y ?? 0) + 120 * scale);
  await page.keyboard.type(`Hello, noVNC (42)! a/b\\c "q" @#`);
  await page.keyboard.insertText("äöüß€ 漢字");
  await page.keyboard.press("Enter");
  expect(await terminal.typed(1)).toBe(`Hello, noVNC (42)! a/b\\c "q" @#äöüß€ 漢字\n`);
  await page.getByRole("cell", { name: "data channel" }).waitFor();
  expect(tab.complaints).toEqual([]);
});
