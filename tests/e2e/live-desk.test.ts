/** The screen of a host at its desk, in the dashboard in Chromium: a data channel to the host, and the wall of small pictures. */
import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { browserTest, openPage, useBrowser } from "../browser";
import { openTerminal, PROGRAMS, SIZE, startDisplay } from "../host/desktop/support";
import { post, serveBinary, TOKEN } from "../support";
import { startCoturn } from "./coturn";

const test = browserTest(...PROGRAMS);
const browser = useBrowser();

const TEXT = `Hello, noVNC (42)! a/b\\c "q" @#`;
const OTHERS = "äöüß€ 漢字";

/** A display with a terminal, its host, and a desk that knows it as `lab one`. */
async function setUp() {
  await using stack = new AsyncDisposableStack();
  const display = stack.use(await startDisplay());
  const terminal = stack.use(openTerminal(display.env, "target"));
  const host = stack.use(await serveBinary(["--rate-limit", "0"], { env: display.env }));
  const desk = stack.use(await serveBinary(["--rate-limit", "0"]));
  const added = await desk.call(
    "/admin/hosts/add",
    post({ label: "lab one", base_url: host.url, token: TOKEN }),
  );
  expect(added.status).toBe(200);
  const rest = stack.move();
  return { terminal, host, desk, [Symbol.asyncDispose]: () => rest.disposeAsync() };
}

/** Takes control on the page, and types into the terminal. */
async function typeThere(page: Page): Promise<void> {
  await page.getByText("view only").waitFor();
  await page.getByRole("button", { name: "Take control" }).click();
  await page.getByText("you control").waitFor();
  const box = await page.locator(".live-stage canvas").boundingBox();
  const scale = (box?.width ?? 0) / SIZE.width;
  await page.mouse.click((box?.x ?? 0) + 150 * scale, (box?.y ?? 0) + 120 * scale);
  await page.keyboard.type(TEXT);
  await page.keyboard.insertText(OTHERS);
  await page.keyboard.press("Enter");
}

test("a host is seen and typed into from the page of its desk, and on the wall", async () => {
  await using made = await setUp();
  const { terminal, desk } = made;
  await using tab = await openPage(browser, `${desk.url}/dashboard#hosts`, { token: TOKEN });
  const { page } = tab;
  await page.getByRole("checkbox", { name: "Select lab one" }).check();
  await page.locator(".wall-panel").getByRole("switch", { name: "Show" }).click();
  await page.getByAltText("The screen of lab one").waitFor();
  await page.waitForFunction("document.querySelector('.wall-tile img').naturalWidth === 320");
  await page.getByRole("link", { name: "lab one" }).last().click();
  await typeThere(page);
  expect(await terminal.typed(1)).toBe(`${TEXT}${OTHERS}\n`);
  await page.getByRole("cell", { name: "data channel" }).waitFor();
  expect(tab.complaints).toEqual([]);
});

browserTest(...PROGRAMS, "turnserver")(
  "a host is seen and typed into from the page of its desk through a relay alone",
  async () => {
    await using coturn = await startCoturn();
    await using made = await setUp();
    const { terminal, host, desk } = made;
    for (const { configDir } of [host, desk])
      writeFileSync(join(configDir, "ice.json"), JSON.stringify(coturn.ice));
    await using tab = await openPage(browser, `${desk.url}/dashboard#live:lab%20one`, { token: TOKEN });
    const { page } = tab;
    await typeThere(page);
    expect(await terminal.typed(1)).toBe(`${TEXT}${OTHERS}\n`);
    await page.getByRole("cell", { name: /data channel.*relay/ }).waitFor();
    await coturn.stop();
    await page.getByText("reconnecting…").waitFor();
  },
);
