/** The pages of the dashboard in Chromium, each on real data of the compiled binary. */
import { afterAll, beforeAll, expect } from "bun:test";
import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { launchBrowser, openTab, signIn } from "../browser";
import { post, serveBinary, TOKEN, testWith } from "../support";

const test = testWith("chromium");
const AXE = readFileSync(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir), "utf8");

let browser: Browser;
let host: Awaited<ReturnType<typeof serveBinary>>;
beforeAll(async () => {
  if (!Bun.which("chromium")) return;
  [browser, host] = await Promise.all([launchBrowser(), serveBinary(["--rate-limit", "0"])]);
}, 30_000);
afterAll(async () => {
  await browser?.close();
  await host?.[Symbol.asyncDispose]();
});

/** A tab that is signed in and on a page. */
async function openPage(name: string, options: Parameters<typeof openTab>[2] = {}) {
  const tab = await openTab(browser, host.url, options);
  await tab.page.goto(`${host.url}/dashboard#${name}`);
  await signIn(tab.page, TOKEN);
  await tab.page.locator(".page > :nth-child(2)").waitFor();
  return tab;
}

/** Violations that axe-core calls serious or critical, in a line each. */
async function seriousViolations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<{
    violations: Array<{ id: string; impact: string; nodes: Array<{ html: string; failureSummary: string }> }>;
  }>("axe.run()");
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`,
    );
}

const PAGES = ["overview", "server", "inspector", "usb"];
for (const name of PAGES) {
  test(`the page ${name} is for everybody, light and dark, and fits a screen of 360 pixels`, async () => {
    await using tab = await openPage(name);
    const { page } = tab;
    await page.waitForLoadState("networkidle");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect([colorScheme, await seriousViolations(page)]).toEqual([colorScheme, []]);
    }
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    expect(tab.complaints).toEqual([]);
  }, 20_000);
}

test("the signing-in form is for everybody", async () => {
  await using tab = await openTab(browser, host.url);
  await tab.page.goto(`${host.url}/dashboard`);
  await tab.page.getByLabel("Token").waitFor();
  expect(await seriousViolations(tab.page)).toEqual([]);
}, 20_000);

test("the packet inspector plots samples as they come, and forgets them on being told to", async () => {
  await using tab = await openPage("inspector");
  const { page } = tab;
  const sample = { rtt_ms: 20, fps: 30, bitrate_kbps: 4_000, packet_loss_pct: 0, jitter_ms: 2 };
  await host.call("/inspector/samples", post({ samples: [{ ...sample, rtt_ms: 12.5 }, sample] }));
  await page.getByText("2 samples over").waitFor();
  const plot = page.getByRole("img", { name: /Round-trip time in ms: last 20, .*p95 19.6/ });
  const before = await plot.screenshot();
  await host.call("/inspector/samples", post({ samples: [{ ...sample, rtt_ms: 80 }] }));
  await page.getByText("3 samples over").waitFor();
  const now = page.getByRole("img", { name: /Round-trip time in ms: last 80/ });
  expect((await now.screenshot()).equals(before)).toBe(false);
  expect(await page.getByRole("row").count()).toBe(4);
  await page.getByRole("button", { name: "Reset" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
  await page.getByText("No samples in the window.").waitFor();
  expect(tab.complaints).toEqual([]);
}, 20_000);

test("the REST API page shows what an import would change, and does it when told to", async () => {
  await using tab = await openPage("server");
  const { page } = tab;
  const bundle = {
    manifest: { version: 1, exported_at: "2026-04-27T10:30:00Z", platform: "linux", source_root: "/x" },
    files: { viewer_id: { format: "text", content: "viewer-0001" } },
  };
  const choose = (content: string) =>
    page
      .getByLabel("Bundle to import")
      .setInputFiles({ name: "host.json", mimeType: "application/json", buffer: Buffer.from(content) });
  await choose("not JSON");
  await page.getByText("host.json is not JSON.").waitFor();
  await choose(JSON.stringify({ ...bundle, files: { "../evil": { format: "text", content: "x" } } }));
  await page.getByText("bundle rejected").waitFor();
  await Bun.write(`${host.configDir}/viewer_id`, "viewer-0000");
  await choose(JSON.stringify(bundle));
  const dialog = page.getByRole("dialog");
  await dialog.getByText("+viewer-0001").waitFor();
  expect(await seriousViolations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Write 1 file" }).click();
  await page.getByText("Imported: viewer_id.").waitFor();
  expect(await Bun.file(`${host.configDir}/viewer_id`).text()).toMatch("viewer-0001");
  await choose(JSON.stringify(bundle));
  await page.getByText("There is nothing to import").waitFor();

  const downloaded = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export…" }).click();
  await dialog.getByRole("button", { name: "Export" }).click();
  const exported = await Bun.file((await (await downloaded).path()) ?? "").json();
  expect(exported.files.viewer_id.content).toBe("viewer-0001");
  expect(tab.complaints.filter((text) => !text.includes("400"))).toEqual([]);
}, 30_000);

test("the USB page switches the watcher on and off", async () => {
  await using tab = await openPage("usb");
  const { page } = tab;
  const watch = page.getByRole("switch", { name: "Watch" });
  await watch.click();
  await page.getByText("Nothing came or went yet").waitFor();
  expect(await watch.getAttribute("aria-checked")).toBe("true");
  await watch.click();
  await page.getByText("Nobody is watching").waitFor();
  expect(tab.complaints).toEqual([]);
}, 20_000);
