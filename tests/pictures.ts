/**
 * `npm run pictures`: the pictures of the dashboard in README, in docs/images, taken of a desk with a fleet ({@link demoDesk}). With
 * `-- --all FOLDER [PAGE …]`, these pages or all of them instead, wide, dark and on a phone, for people who look at them.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { launchBrowser, openPage, settled } from "./browser";
import { demoDesk } from "./demo-desk";

const ROOT = join(import.meta.dir, "..");

/** The pages in README. */
const SHOWN = ["overview", "inspector"];

/** WebP of less has marks around letters. */
const QUALITY = 80;

const FORMS = {
  wide: { viewport: { width: 1440, height: 900 } },
  dark: { viewport: { width: 1440, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 } },
} as const;

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  options: { all: { type: "string" } },
  allowPositionals: true,
});

/** Of the part that is in view, or of all of the page. */
async function take(page: Page, file: string, all = false): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", {
    format: "webp",
    quality: QUALITY,
    captureBeyondViewport: all,
  });
  writeFileSync(file, Buffer.from(data, "base64"));
}

await using desk = await demoDesk();
await using browser = await launchBrowser();
const open = (name: string, form: object) =>
  openPage(browser, `${desk.url}/dashboard#${name}`, {
    token: desk.token,
    ignoreHTTPSErrors: true,
    ...form,
  });

if (values.all === undefined) {
  for (const name of SHOWN) {
    await using tab = await open(name, { viewport: { width: 1280, height: 800 } });
    await settled(tab.page, 1_500);
    const file = join(ROOT, "docs/images", `${name}.webp`);
    await take(tab.page, file);
    console.info(file);
  }
} else {
  const folder = values.all;
  mkdirSync(folder, { recursive: true });
  const pages = readFileSync(join(ROOT, "dashboard/pages.js"), "utf8").matchAll(/name: "(\w+)"/g);
  const all = [...pages].flatMap(([, name = ""]) => name);
  const names = positionals.length > 0 ? positionals : all;
  for (const [form, options] of Object.entries(FORMS)) {
    for (const name of names) {
      await using tab = await open(name, options);
      await settled(tab.page);
      const file = (what: string) => join(folder, `${what}-${form}.png`);
      await tab.page.screenshot({ path: file(name), fullPage: true });
      if (name !== "hosts") continue;
      await tab.page.getByRole("button", { name: "Add…" }).click();
      await tab.page.getByText("Without a pin").click();
      await tab.page.screenshot({ path: file("host-form") });
    }
  }
}
