/** Traces in the dashboard: the list, and one of them step by step. */
import { expect } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodePng } from "../../src/host/desktop/png";
import { createTraceWriter } from "../../src/host/trace/trace-writer";
import { browserTest, launchBrowser, openPage } from "../browser";
import { TOKEN, temporaryFolder, testServer } from "../support";

const RUN = "0f1e2d3c-4b5a-4000-8000-000000000001";

/** A trace of a job that failed, whose pictures are 40, 41, … pixels wide. */
async function writeTrace(file: string): Promise<void> {
  using folder = temporaryFolder();
  let width = 39;
  const shoot = async (path: string) => {
    width++;
    writeFileSync(path, encodePng({ width, height: 8, pixels: new Uint8Array(width * 8 * 4), redAt: 2 }));
  };
  const recorder = createTraceWriter({ folder: folder.path, shoot, sparse: false });
  const steps = [
    { command: "AC_focus_window", arguments: { title_substring: "Order" }, pictured: true, ok: true },
    { command: "AC_sleep", arguments: { seconds: 1 }, pictured: false, ok: true },
    {
      command: "AC_click_mouse",
      arguments: { x: 5 },
      pictured: true,
      ok: false,
      error: "<b>no</b> such place",
    },
  ];
  for (const [nth, { ok, error, ...start }] of steps.entries()) {
    const ended = await recorder.step({ ...start, place: `[${nth}]` });
    await ended({ ok, duration_ms: 3, ...(error !== undefined && { error }) });
  }
  const run = { run_id: RUN, source_type: "scheduler", source_id: "nightly", script_path: "/srv/order.json" };
  const end = {
    status: "error",
    error_text: "AC_click_mouse: no",
    started_at: new Date().toISOString(),
  } as const;
  const more = { commands: ["AC_click_mouse"], finished_at: new Date().toISOString() };
  await recorder.write(file, { ...run, ...end, ...more }, (text) => text);
}

browserTest()("a trace is stepped through with its pictures, from the host or from a file", async () => {
  await using host = await testServer();
  mkdirSync(join(host.configDir, "traces"), { recursive: true });
  const file = join(host.configDir, "traces", `${RUN}.zip`);
  await writeTrace(file);
  const browser = await launchBrowser();
  try {
    await using tab = await openPage(browser, `${host.server.url}/dashboard#jobs`, { typed: TOKEN });
    const { page } = tab;
    const shown = page.getByRole("region", { name: "Steps of the trace" });
    // As text: the DOM is not among the types of the tests.
    const images = '[...document.querySelectorAll(".trace img")]';
    const widths = () => page.evaluate(`${images}.map((one) => one.hidden ? null : one.naturalWidth)`);
    await page.getByRole("button", { name: "Open the trace of run 0f1e2d3c" }).click();
    // It opens where the run failed.
    await shown.getByText("Step 3 of 3").waitFor();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await shown.getByText("Step 1 of 3").waitFor();
    await shown.getByText("AC_focus_window", { exact: true }).waitFor();
    await page.waitForFunction(`${images}.every((one) => one.complete && one.naturalWidth > 0)`);
    expect(await widths()).toEqual([40, 41]);
    await shown.getByRole("button", { name: "Next", exact: true }).click();
    await shown.getByText("Step 2 of 3").waitFor();
    expect(await widths()).toEqual([null, null]);
    await shown.getByRole("button", { name: "Next failure" }).click();
    await shown.getByText("<b>no</b> such place").waitFor();
    await page.keyboard.press("ArrowLeft");
    await shown.getByText("Step 2 of 3").waitFor();

    await page.getByLabel("Open a trace from a file").setInputFiles(file);
    await shown.getByText("Step 3 of 3").waitFor();
    const other = join(host.configDir, "other.zip");
    writeFileSync(other, "no archive");
    await page.getByLabel("Open a trace from a file").setInputFiles(other);
    await page.getByText("This is not a trace.").waitFor();
    expect(tab.complaints).toEqual([]);
  } finally {
    await browser.close();
  }
});
