/** The page of scripts in Chromium: two views of one text, checks while it is written, runs, plans, and links to stored scripts. */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import {
  browserTest,
  openPage as openDashboard,
  settled,
  useBrowser,
  useHost,
  violationsOn,
} from "../browser";
import { post, serveSource, TOKEN } from "../support";

const test = browserTest();

const browser = useBrowser();
const host = useHost();

const openPage = (address = "scripts", options: Partial<Parameters<typeof openDashboard>[2]> = {}) =>
  openDashboard(browser, `${host.url}/dashboard#${address}`, { token: TOKEN, ...options });

const editorOf = (page: Page) => page.getByLabel("Script, as JSON");
const stepsOf = (page: Page) => page.getByRole("list", { name: "Steps of the script" });
const step = (page: Page, number: string) =>
  stepsOf(page).getByRole("button", { name: new RegExp(`^${RegExp.escape(number)} `) });
/** Waits until the step is the one that is chosen. */
const chosen = (page: Page, number: string) =>
  page
    .locator(".script-steps [aria-current='step'] .step-number")
    .getByText(number, { exact: true })
    .waitFor();
// As text: the DOM is not among the types of the tests.
const caretOf = (page: Page) => page.evaluate<number>('document.querySelector("textarea").selectionStart');
const hasFocus = (page: Page, selector: string) =>
  page.evaluate<boolean>(`document.activeElement.matches(${JSON.stringify(selector)})`);

const NESTED = `[
  ["AC_sleep", {"seconds": 0}],
  ["AC_try", {
    "body": [["AC_sleep", {"seconds": 0}], ["AC_loop", [1, [["AC_log", {"message": "turn"}]]]]],
    "catch": [["AC_log", {"message": "<b>caught</b>"}]]
  }]
]
`;

test("a script is a list of steps beside its text: a step that is chosen has the caret, and the caret chooses the step", async () => {
  await using tab = await openPage();
  const { page } = tab;
  const editor = editorOf(page);
  await page.getByText(/^\d+ commands/).waitFor();
  await editor.fill(NESTED);
  expect(await stepsOf(page).locator(".step-number").allTextContents()).toEqual([
    ...["1", "2", "2.1", "2.2", "2.2.1", "2.3"],
  ]);
  expect(
    await page.evaluate<string[]>(
      `[...document.querySelectorAll("[data-depth]")].map((one) => one.dataset.depth)`,
    ),
  ).toEqual([...["0", "0", "1", "1", "2", "1"]]);
  expect(await stepsOf(page).locator(".step-words").allTextContents()).toEqual([
    ...["seconds 0", "", "seconds 0", "1", "turn", "<b>caught</b>"],
  ]);

  await step(page, "2.3").click();
  await chosen(page, "2.3");
  expect(await caretOf(page)).toBe(NESTED.indexOf('["AC_log", {"message": "<b>'));
  expect(await hasFocus(page, "textarea")).toBe(true);
  const details = page.getByRole("region", { name: "Step", exact: true });
  await details.getByText("<b>caught</b>").waitFor();
  await details.getByText("Leave a message in the record of the run, and as an event").waitFor();
  // The line above has the first step inside it at this column.
  await page.keyboard.press("ArrowUp");
  await chosen(page, "2.1");
  await details.getByText("seconds", { exact: true }).first().waitFor();

  // One stop of the tab key; the arrows choose, and Enter goes on in the text.
  expect(await stepsOf(page).locator("[tabindex='0']").count()).toBe(1);
  await step(page, "2.1").focus();
  await page.keyboard.press("ArrowDown");
  await chosen(page, "2.2");
  expect([await hasFocus(page, ".script-steps button"), await caretOf(page)]).toEqual([
    true,
    NESTED.indexOf('["AC_loop"'),
  ]);
  await page.keyboard.press("End");
  await chosen(page, "2.3");
  await page.keyboard.press("Enter");
  expect(await hasFocus(page, "textarea")).toBe(true);
  await chosen(page, "2.3");

  // An action that is added leaves the rest as it is written.
  await page.getByLabel("Find").fill("AC_screen_size");
  await page.locator("summary", { hasText: "AC_screen_size" }).click();
  await page.getByRole("button", { name: "Insert AC_screen_size" }).click();
  await page.getByText("AC_screen_size was added to the end of the script.").waitFor();
  expect(await editor.inputValue()).toBe(`${NESTED.slice(0, -3)},\n  ["AC_screen_size"]\n]\n`);
  await chosen(page, "3");

  // While it is half written, the steps stay.
  await editor.fill(NESTED.slice(0, -3));
  await page.getByText("This is no list in JSON: the steps are those of before.").waitFor();
  expect(await stepsOf(page).getByRole("button").count()).toBe(7);
  await page.getByRole("button", { name: /line \d+, column \d+$/i }).waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  expect(tab.complaints.filter((text) => !text.includes("400"))).toEqual([]);
});

test("the text is checked half a second after the last key, and a fault is told with its step and line, and leads there", async () => {
  const asked: string[] = [];
  await using tab = await openPage("scripts", {
    async prepare(page) {
      await page.clock.install();
      page.on("request", (request) => {
        if (request.url().endsWith("/execute/check")) asked.push(request.postDataJSON().text);
      });
    },
  });
  const { page } = tab;
  const editor = editorOf(page);
  await page.clock.pauseAt(Date.now() + 60_000);
  const faulty = '[\n  ["AC_sleep", {"seconds": 0}],\n  ["AC_sleep", {"seconds": "soon"}]\n]\n';
  await editor.fill("[");
  await page.clock.runFor(499);
  await editor.fill(faulty);
  await page.clock.runFor(499);
  expect(asked).toEqual([]);
  await page.clock.runFor(1);
  const fault = page.getByRole("button", { name: "Step 2, line 3, column 28" });
  await fault.waitFor();
  await page.getByText("seconds: expected a number").waitFor();
  expect(asked).toEqual([faulty]);
  await step(page, "2").getByText("faulty").waitFor({ state: "attached" });
  expect(await editor.getAttribute("aria-invalid")).toBe("true");
  await fault.click();
  expect([await caretOf(page), await hasFocus(page, "textarea")]).toEqual([faulty.indexOf('"soon"'), true]);
  await chosen(page, "2");

  // What is no JSON has a line too; and no check where there is nothing.
  await editor.fill('[\n  ["AC_sleep", {"seconds": 0}]\n');
  await page.clock.runFor(500);
  await page.getByRole("button", { name: /line 3, column 1$/i }).waitFor();
  await editor.fill("");
  await page.clock.runFor(5_000);
  expect(asked).toHaveLength(2);
  expect(await page.getByRole("button", { name: /line \d/ }).count()).toBe(0);
  await editor.fill('[["AC_sleep", {"seconds": 0}]]');
  await page.clock.runFor(500);
  await page.getByText("checked: 1 action", { exact: true }).waitFor();
  expect(await editor.getAttribute("aria-invalid")).toBeNull();
  expect(tab.complaints.filter((text) => !text.includes("400"))).toEqual([]);
});

test("the answer of a check is not shown for a text that has changed since", async () => {
  const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let nth = 0;
  await using tab = await openPage("scripts", {
    async prepare(page) {
      await page.clock.install();
      await page.route(/\/execute\/check$/, async (route) => {
        nth += 1;
        if (nth === 1) {
          held.resolve();
          await release.promise;
        }
        await route.continue();
      });
    },
  });
  const { page } = tab;
  await editorOf(page).fill('[["AC_nope"]]');
  await page.clock.runFor(600);
  await held.promise;
  await editorOf(page).fill('[["AC_sleep", {"seconds": 0}]]');
  await page.clock.runFor(600);
  await page.getByText("checked: 1 action", { exact: true }).waitFor();
  const late = page.waitForResponse(/\/execute\/check$/);
  release.resolve();
  await late;
  await settled(page);
  expect(await page.getByText("unknown command").count()).toBe(0);
  await page.getByText("checked: 1 action", { exact: true }).waitFor();
});

test("a run here is traced: the page says which step failed and marks each, and the trace opens there", async () => {
  await using tab = await openPage();
  const { page } = tab;
  const body = [
    ["AC_sleep", { seconds: 0 }],
    ["AC_fail", { message: "no <b>way</b>" }],
  ];
  const script = JSON.stringify(
    [
      ["AC_sleep", { seconds: 0 }],
      ["AC_loop", { times: 1, body }],
    ],
    null,
    1,
  );
  await editorOf(page).fill(script);
  await page.getByRole("button", { name: "Run here" }).click();
  await page.getByText("step 2.2 failed").waitFor();
  const trace = page.getByRole("region", { name: "Steps of the trace" });
  await trace.getByText("Step 4 of 4").waitFor();
  await chosen(page, "2.2");
  expect(await caretOf(page)).toBe(script.lastIndexOf("[", script.indexOf('"AC_fail"')));
  // Whoever does something else meanwhile goes on with it.
  expect(await hasFocus(page, ".trace, .trace *")).toBe(false);
  expect(await stepsOf(page).locator(".step-mark").allTextContents()).toEqual([
    "ok",
    "failed",
    "ok",
    "failed",
  ]);
  await trace.getByRole("button", { name: "Back" }).click();
  await chosen(page, "2.1");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect([colorScheme, await violationsOn(page, true)]).toEqual([colorScheme, []]);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  expect(await violationsOn(page, true)).toEqual([]);

  // The steps of another text are not those of the trace.
  await editorOf(page).fill('[["AC_sleep", {"seconds": 0}], ["AC_sleep", {"seconds": 1}]]');
  await step(page, "1").click();
  await trace.getByRole("button", { name: "Next", exact: true }).click();
  await trace.getByText("Step 4 of 4").waitFor();
  await chosen(page, "1");
  expect(await stepsOf(page).locator(".step-mark").allTextContents()).toEqual(["", ""]);
  expect(tab.complaints).toEqual([]);
});

test("a script is planned for hosts where there are some, and the list that the tab keeps for hosts stays", async () => {
  await using desk = await serveSource(["--rate-limit", "0"]);
  await using tab = await openDashboard(browser, `${desk.url}/dashboard#scripts`, { token: TOKEN });
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  const runOn = page.getByRole("button", { name: "Run on…" });
  await page.locator(".live").getByText("live").waitFor();
  await settled(page);
  expect(await runOn.isVisible()).toBe(false);
  await desk.call("/admin/hosts/add", post({ label: "lab-01", base_url: desk.url, token: desk.token }));
  const written = '[ ["AC_log",   {"message": "${who}"}] ]';
  await editorOf(page).fill(`{"timeout": "2m", "variables": {"who": "Ann"}, "actions": ${written}}`);
  await runOn.click();
  expect(await dialog.getByLabel("Actions for the hosts").inputValue()).toBe(written);
  expect(await dialog.getByLabel("When an action fails").inputValue()).toBe("stop");
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByLabel("Hosts", { exact: true }).fill("tag:none");
  await dialog.getByRole("button", { name: "Next" }).click();
  await dialog.getByRole("alert").getByText(/none/).waitFor();
  await dialog.getByLabel("Hosts", { exact: true }).fill("lab-01");
  const sent = page.waitForRequest(/\/plans\/new$/);
  await dialog.getByRole("button", { name: "Next" }).click();
  expect((await sent).postDataJSON()).toMatchObject({
    on: "lab-01",
    actions: JSON.parse(written),
    stop_on_error: true,
    timeout_s: 120,
    variables: { who: "Ann" },
  });
  await dialog.getByText("Run this plan on 1 host?").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("heading", { level: 1, name: "Plans" }).waitFor();
  expect(await page.evaluate("sessionStorage.getItem('svc-broadcast')")).toBeNull();

  await page.goto(`${desk.url}/dashboard#scripts`);
  await editorOf(page).fill(`{"pace": 0.2, "actions": ${written}}`);
  await runOn.click();
  await page.getByText("What the script says of its pace cannot be sent to hosts: leave it out.").waitFor();
  expect(tab.complaints.filter((text) => !text.includes("400"))).toEqual([]);
});

test("a link to a stored script runs nothing, says what is loaded, and asks before it replaces a text that was changed", async () => {
  for (const name of ["nightly", "hourly"])
    await host.call("/scripts/add", post({ name, actions: [["AC_sleep", { seconds: 0 }]] }));
  const ran: string[] = [];
  // The page had another name.
  await using tab = await openPage("actions?script=nightly", {
    async prepare(page) {
      page.on("request", (request) => {
        const { pathname } = new URL(request.url());
        if (/^\/(execute|scripts\/.+\/run)$/.test(pathname)) ran.push(pathname);
      });
    },
  });
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  const editor = editorOf(page);
  const goTo = (script: string) =>
    page.evaluate(`location.hash = "#scripts?script=${encodeURIComponent(script)}"`);
  await page.getByRole("heading", { name: "Scripts", level: 1 }).waitFor();
  await page.getByText("runs the stored script nightly", { exact: true }).waitFor();
  await page.waitForURL(/#scripts\?script=nightly$/);
  expect(JSON.parse(await editor.inputValue())).toEqual([["AC_run_script", { path: "script:nightly" }]]);

  const mine = '[["AC_log", {"message": "mine"}]]';
  await editor.fill(mine);
  await page.getByText("runs the stored script nightly, changed", { exact: true }).waitFor();
  await goTo("hourly");
  await dialog.getByText("Replace your script?").waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.waitForURL(/#scripts\?script=nightly$/);
  expect(await editor.inputValue()).toBe(mine);
  await goTo("hourly");
  await dialog.getByRole("button", { name: "Replace" }).click();
  await page.getByText("runs the stored script hourly", { exact: true }).waitFor();
  expect(await editor.inputValue()).toContain("script:hourly");

  // What is loaded is not loaded again over what was written meanwhile.
  await editor.fill(mine);
  await page.reload();
  await page.getByText("runs the stored script hourly, changed", { exact: true }).waitFor();
  expect([await editor.inputValue(), await dialog.count()]).toEqual([mine, 0]);
  await goTo("<b>none");
  await page.getByText("No script is stored here as <b>none.").waitFor();
  await page.waitForURL(/#scripts\?script=hourly$/);
  expect(await editor.inputValue()).toBe(mine);
  expect(ran).toEqual([]);
  for (const name of ["nightly", "hourly"]) await host.call("/scripts/remove", post({ name }));
  expect(tab.complaints).toEqual([]);
});
