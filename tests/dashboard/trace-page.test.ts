/** The page that `svc trace export` writes: it shows its trace from the disk, without a server. */
import { expect } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { encodePng } from "../../src/host/desktop/png";
import { tracePage } from "../../src/host/trace/page";
import { createTraceWriter } from "../../src/host/trace/trace-writer";
import { browserTest, launchBrowser, violationsOn } from "../browser";
import { temporaryFolder } from "../support";

const STEPS = 200;

/** A trace whose pictures are noise, which no archive makes smaller, and which a malicious host has written. */
async function writeTrace(file: string): Promise<void> {
  using folder = temporaryFolder();
  let shots = 0;
  const shoot = async (path: string) => {
    const pixels = crypto.getRandomValues(new Uint8Array(64 * 32 * 4));
    pixels[0] = shots++ % 256;
    writeFileSync(path, encodePng({ width: 64, height: 32, pixels, redAt: 2 }));
  };
  const recorder = createTraceWriter({ folder: folder.path, shoot, sparse: false });
  for (let nth = 0; nth < STEPS; nth++) {
    const fails = nth === 120;
    const command = fails ? "AC_assert" : "AC_click_mouse";
    const ended = await recorder.step({ command, arguments: { x: nth }, pictured: true, place: `[${nth}]` });
    const error = "</script><script>document.title = 'taken'</script>";
    const used = { role: "button", name: "Save", window_title: "", bounds: [16, 8, 32, 16] };
    await ended({ ok: !fails, duration_ms: 3, ...(fails ? { error } : { result: used }) });
  }
  const now = new Date().toISOString();
  const run = { run_id: "0f1e2d3c-4b5a-4000-8000-000000000001", source_type: "manual", source_id: "" };
  const about = { script_path: "/srv/<b>order.json", commands: ["AC_click_mouse"], error_text: "no" };
  const end = { status: "error", started_at: now, finished_at: now } as const;
  await recorder.write(file, { ...run, ...about, ...end }, (text) => text);
}

browserTest()(
  "the page of a trace shows its steps from the disk, and nothing in it runs or leaves it",
  async () => {
    using folder = temporaryFolder();
    const [zip, html] = [join(folder.path, "run.zip"), join(folder.path, "run.html")];
    await writeTrace(zip);
    writeFileSync(html, await tracePage(readFileSync(zip), "svc: run <0f1e2d3c>, error"));
    expect(statSync(html).size).toBeLessThan(1.3 * statSync(zip).size + 64 * 1024);
    const browser = await launchBrowser();
    try {
      const context = await browser.newContext({ viewport: { width: 1_280, height: 900 } });
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
      page.on("pageerror", (error) => complaints.push(String(error)));
      page.on("request", (request) => {
        if (!/^(?:file|blob):/.test(request.url())) complaints.push(request.url());
      });
      await page.goto(pathToFileURL(html).href);
      await page.getByText(`Step 121 of ${STEPS}`).waitFor();
      await page.getByRole("button", { name: "Back" }).click();
      await page.getByText(`Step 120 of ${STEPS}`).waitFor();
      const mark = page.locator(".pictured .cut").first();
      await mark.waitFor();
      const [picture, place] = [
        await page.locator(".pictured").first().boundingBox(),
        await mark.boundingBox(),
      ];
      expect(((place?.x ?? 0) - (picture?.x ?? 0)) / (picture?.width ?? 1)).toBeCloseTo(0.25, 1);
      expect((place?.width ?? 0) / (picture?.width ?? 1)).toBeCloseTo(0.5, 1);
      await page.getByRole("button", { name: "Next failure" }).click();
      await page.getByText("Step 121 of 200").waitFor();
      await page.getByText("</script><script>document.title").waitFor();
      const images = '[...document.querySelectorAll(".trace img")]';
      await page.waitForFunction(`${images}.every((one) => one.complete && one.naturalWidth === 64)`);
      await page.getByLabel("Search the steps").fill("AC_assert");
      await page.waitForFunction('document.querySelectorAll(".steps li:not([hidden])").length === 1');
      expect(await page.title()).toBe("svc: run <0f1e2d3c>, error");
      expect(complaints).toEqual([]);
      for (const [scheme, width] of [
        ["light", 1_280],
        ["dark", 390],
      ] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize({ width, height: 900 });
        expect(await violationsOn(page)).toEqual([]);
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
      }
    } finally {
      await browser.close();
    }
  },
);

browserTest()("the page of a trace has a lane for each host that took part, and names it", async () => {
  using folder = temporaryFolder();
  const [zip, html] = [join(folder.path, "run.zip"), join(folder.path, "run.html")];
  const recorder = createTraceWriter({ folder: folder.path, shoot: async () => {}, sparse: true });
  const began = performance.now();
  const ended = await recorder.step({
    ...{ command: "AC_together", arguments: {}, pictured: false, place: "[0]" },
  });
  for (const [nth, host] of ["lab-1", "lab-2", "lab-1"].entries())
    recorder.add({
      ...{ host, place: `[0].branches[0][0].body[${nth}]`, command: "AC_sleep", arguments: { seconds: 1 } },
      ...{ began: began + 100 * (nth + 1), duration_ms: 50, ok: host === "lab-2" ? null : true },
    });
  await ended({ ok: false, duration_ms: 500, error: "lab-2: unknown" });
  const now = new Date().toISOString();
  const run = { run_id: "0f1e2d3c-4b5a-4000-8000-000000000002", source_type: "manual", source_id: "" };
  const end = { status: "error", error_text: "no", started_at: now, finished_at: now } as const;
  await recorder.write(zip, { ...run, script_path: "", commands: [], ...end }, (text) => text);
  writeFileSync(html, await tracePage(readFileSync(zip), "svc: run"));
  const browser = await launchBrowser();
  try {
    const page = await (await browser.newContext({ viewport: { width: 390, height: 900 } })).newPage();
    await page.goto(pathToFileURL(html).href);
    await page.getByText("Step 1 of 4").waitFor();
    expect(await page.locator(".lanes li").allTextContents()).toEqual(["this host", "lab-1", "lab-2"]);
    const rows = await page.evaluate(
      '[...document.querySelectorAll(".timeline rect")].map((mark) => Number(mark.getAttribute("y")))',
    );
    expect(rows).toEqual([0, 20, 40, 20]);
    await page.getByRole("button", { name: "3 AC_sleep lab-2" }).click();
    await page.locator("dd", { hasText: /^lab-2$/ }).waitFor();
    expect(await violationsOn(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  } finally {
    await browser.close();
  }
});
