/** Plans on the dashboard, in Chromium. */
import { expect } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { configFiles } from "../../src/lib/paths";
import { browserTest, openPage, useBrowser, violationsOn } from "../browser";
import { post, serveSource, TOKEN } from "../support";

const test = browserTest();
const browser = useBrowser();

/** A desk with three hosts, the first of which is not there. */
async function desk() {
  const host = await serveSource(["--rate-limit", "0"]);
  const hosts = { gone: "http://127.0.0.1:9", "lab-01": host.url, "lab-02": host.url };
  for (const [label, base_url] of Object.entries(hosts)) {
    await host.call("/admin/hosts/add", post({ label, base_url, token: host.token, tags: ["lab"] }));
  }
  return host;
}

test("a plan is made of the selected hosts, shown whole before it is applied, and its waves are shown as they go", async () => {
  await using host = await desk();
  await using tab = await openPage(browser, `${host.url}/dashboard#hosts`, { token: TOKEN });
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  await page.getByLabel("Select all hosts that are listed").check();
  const bulk = page.getByRole("group", { name: "Selected hosts" });
  await bulk.getByRole("button", { name: "Plan…" }).click();
  expect(await violationsOn(page, true)).toEqual([]);
  const actions = dialog.getByLabel("Actions for the hosts");
  await actions.fill('[["AC_sleep", {"seconds": 0]]');
  await dialog.getByRole("button", { name: "Next" }).click();
  await dialog.getByText("1:28: not JSON: expected , or }").waitFor();
  await actions.fill('[["AC_sleep", {"seconds": 0}]]');
  await dialog.getByLabel("Waves", { exact: true }).fill("some");
  await dialog.getByRole("button", { name: "Next" }).click();
  await dialog.getByText("a number, or a share such as 10%").waitFor();
  await dialog.getByLabel("Waves", { exact: true }).fill("1, 100%");
  await dialog.getByLabel("Pause between two waves").fill("0");
  await dialog.getByLabel("Max. failures").fill("0");
  await dialog.getByLabel("Hosts that are off").uncheck();
  await dialog.getByRole("button", { name: "Next" }).click();
  await dialog.getByText("Run this plan on 3 hosts?").waitFor();
  const shown = await dialog.textContent();
  expect(shown).toContain("gone, lab-01, lab-02");
  expect(shown).toContain("Waves: 1, 3");
  expect(shown).toMatch(/Commands: AC_sleep.*Limits: a pause of 0 s.*"seconds": 0.*Digest [0-9a-f]{64}/s);
  await dialog.getByRole("button", { name: "Cancel" }).click();

  // What was not applied is kept, and can be.
  await page.getByRole("heading", { level: 1, name: "Plans" }).waitFor();
  await page.getByText("0 of 3 hosts have ended.").waitFor();
  expect(new URL(page.url()).hash).toMatch(/^#plans\/[\da-f-]{36}$/);
  await page.getByRole("button", { name: "Apply…" }).click();
  await dialog.getByRole("button", { name: "Apply" }).click();
  await page.getByText("1 of 3 hosts has ended.").waitFor();
  const waves = page.getByRole("table", { name: "Waves" });
  await waves.getByRole("row", { name: /^1 1 begun 1 unreachable/ }).waitFor();
  await waves.getByRole("row", { name: /^2 2 – 2 planned/ }).waitFor();
  const hosts = page.getByRole("table", { name: "Hosts of the plan" });
  await hosts.getByRole("row", { name: /^gone 1 unreachable/ }).waitFor();

  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("3 of 3 hosts have ended.").waitFor();
  await waves.getByRole("row", { name: /^2 2 begun 2 ok/ }).waitFor();
  // Over, and yet not good: a host was unreachable.
  const ended = "ended: 1 of 3 not reached. 3 of 3 hosts have ended.";
  await page.locator(".notice.warn", { hasText: ended }).waitFor();
  await page.getByLabel("Hosts in the state").selectOption("ok");
  await hosts.getByRole("row", { name: /^gone/ }).waitFor({ state: "detached" });
  expect(await hosts.getByRole("row").count()).toBe(3);
  await page.waitForURL(/\?state=ok$/);
  // A fresh tab at that address shows the same.
  await using other = await openPage(browser, page.url(), { token: TOKEN });
  const same = other.page.getByRole("table", { name: "Hosts of the plan" });
  await same.getByRole("row", { name: /^lab-01 2 ok/ }).waitFor();
  expect(await same.getByRole("row").count()).toBe(3);

  await page.getByRole("button", { name: "Retry…" }).click();
  await dialog.getByLabel("unreachable: 1 host").waitFor();
  await dialog.getByRole("button", { name: "Retry" }).click();
  await dialog.waitFor({ state: "hidden" });
  await page.getByText("3 of 3 hosts have ended.").waitFor();
  await page
    .getByRole("row", { name: /ended: 1 of 3 not reached.*lab-01.*AC_sleep.*1 unreachable.*2 ok/s })
    .first()
    .waitFor();
  expect(tab.complaints.filter((text) => !text.includes("400"))).toEqual([]);
});

test("a plan that is made elsewhere appears, is paused and cancelled, and a broadcast is listed", async () => {
  await using host = await desk();
  await using tab = await openPage(browser, `${host.url}/dashboard#plans`, { token: TOKEN });
  const { page } = tab;
  await page.getByText("No plans").waitFor();
  const made = await host.call(
    "/plans/new",
    post({ actions: [["AC_sleep", { seconds: 0 }]], on: "lab-01,lab-02", waves: ["1"], pause_s: 3_600 }),
  );
  const { id, digest } = (await made.json()) as { id: string; digest: string };
  await page.getByText("0 of 2 hosts have ended.").waitFor();
  await host.call(`/plans/${id}/apply`, post({ digest }));
  await page.getByText("1 of 2 hosts has ended.").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("paused: by the owner. 1 of 2 hosts has ended.").waitFor();
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the plan" }).click();
  await page.getByText("cancelled: by the owner. 2 of 2 hosts have ended.").waitFor();
  expect(await page.getByRole("button", { name: "Cancel…" }).isVisible()).toBe(false);

  // A broadcast is listed, and has nothing to press.
  const ran = await host.call(
    "/admin/broadcast",
    post({ actions: [["AC_sleep", { seconds: 0 }]], on: "lab-01" }),
  );
  await ran.text();
  await page
    .getByRole("row", { name: /broadcast: AC_sleep/ })
    .getByRole("button", { name: /^Show/ })
    .click();
  await page.getByText("ended: 1 of 1 ok. 1 of 1 host has ended.").waitFor();
  expect(
    await page
      .getByRole("button", { name: /^(Apply|Pause|Resume|Retry)/ })
      .filter({ visible: true })
      .count(),
  ).toBe(0);
  expect(tab.complaints).toEqual([]);
});

test("a plan of another desk is shown with its desk, and is not changed here", async () => {
  await using host = await desk();
  const made = await host.call("/plans/new", post({ actions: [["AC_sleep", { seconds: 0 }]], on: "all" }));
  const { id } = (await made.json()) as { id: string };
  const own = (await (await host.call(`/plans/${id}`)).json()) as object;
  const plan = { ...own, id: crypto.randomUUID(), state: "running" };
  const desks = [{ desk: "U", name: "north", heard: Date.now(), plans: [plan] }];
  const { foreignPlans } = configFiles(host.configDir);
  mkdirSync(dirname(foreignPlans), { recursive: true, mode: 0o700 });
  writeFileSync(foreignPlans, JSON.stringify({ v: 1, desks }));
  await using tab = await openPage(browser, `${host.url}/dashboard#plans`, { token: TOKEN });
  const { page } = tab;
  await page.getByText("of the desk north, heard").waitFor();
  await page.getByRole("button", { name: `Show the plan ${plan.id.slice(0, 8)}` }).click();
  await page.getByText("north runs and changes it, heard").waitFor();
  await page.getByText("Its hosts are listed at that desk.").waitFor();
  for (const name of ["Pause", "Cancel…", "Retry…"])
    expect(await page.getByRole("button", { name, exact: true }).isVisible()).toBe(false);
});

test("a plan has an address that begins with its id, which the palette and a link have too; a step back leads to the plan before", async () => {
  await using host = await desk();
  const ids: string[] = [];
  for (const seconds of [0, 1]) {
    const made = await host.call("/plans/new", post({ actions: [["AC_sleep", { seconds }]], on: "lab-01" }));
    ids.push(((await made.json()) as { id: string }).id);
  }
  const [first = "", second = ""] = ids;
  const permissions = ["clipboard-read", "clipboard-write"];
  const address = `${host.url}/dashboard#plans/${first.slice(0, 8)}`;
  await using tab = await openPage(browser, address, { token: TOKEN, permissions });
  const { page } = tab;
  const shown = (id: string) => page.locator("dt:text-is('Plan') + dd", { hasText: id }).waitFor();
  await shown(first);
  await page.getByRole("button", { name: `Show the plan ${second.slice(0, 8)}` }).click();
  await shown(second);
  await page.getByRole("button", { name: "Copy link to the plan" }).click();
  await page.getByRole("button", { name: "Copied to the plan" }).waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(`${host.url}/dashboard#plans/${second}`);
  await page.goBack();
  await shown(first);
  await page.keyboard.press("Control+k");
  await page
    .getByRole("dialog")
    .getByRole("combobox")
    .fill(`${second.slice(0, 8)} sleep`);
  await page.getByRole("option", { name: /AC_sleep on lab-01/ }).waitFor();
  await page.keyboard.press("Enter");
  await shown(second);
  const listed = page.getByRole("table", { name: "Plans, the newest first" }).getByRole("row");
  await page.getByLabel("Filter").fill("NEW sleep owner lab-01");
  expect(await listed.count()).toBe(3);
  await page.getByLabel("Filter").fill(`${first.slice(0, 8)} lab-01`);
  await page.getByLabel("Filter").blur();
  expect(await listed.count()).toBe(2);
  expect(new URL(page.url()).hash).toBe(`#plans/${second}?q=${first.slice(0, 8)}%20lab-01`);
  await page.getByLabel("Filter").fill("paused");
  await page.getByText("No plan fits that").waitFor();
  await page.goto(`${host.url}/dashboard#plans/no-such-plan`);
  await page.getByText("There is no plan no-such-plan here").waitFor();
  expect(await page.getByRole("table", { name: "Waves" }).isVisible()).toBe(false);
  expect(tab.complaints).toEqual([]);
});

test("hosts that failed for the same reason are told together", async () => {
  await using host = await desk();
  const made = await host.call(
    "/plans/new",
    post({ actions: [["AC_fail", { message: "no display" }]], on: "lab-01,lab-02", max_failures: "100%" }),
  );
  const { id, digest } = (await made.json()) as { id: string; digest: string };
  await host.call(`/plans/${id}/apply`, post({ digest, wait: true }));
  await using tab = await openPage(browser, `${host.url}/dashboard#plans/${id}`, { token: TOKEN });
  const { page } = tab;
  await page.locator(".notice.error", { hasText: "ended: 2 of 2 failed" }).waitFor();
  await page
    .getByRole("list", { name: "Why hosts failed" })
    .getByText(/^2 × .*no display/)
    .waitFor();
});

test("hosts that wait are not told as hosts that failed", async () => {
  await using host = await desk();
  const made = await host.call(
    "/plans/new",
    post({ actions: [["AC_fail", { message: "no display" }]], on: "lab-01,lab-02", max_failures: "100%" }),
  );
  const { id, digest } = (await made.json()) as { id: string; digest: string };
  await host.call(`/plans/${id}/apply`, post({ digest, wait: true }));
  await using tab = await openPage(browser, `${host.url}/dashboard#plans/${id}`, {
    token: TOKEN,
    async prepare(page) {
      await page.route(new RegExp(`/plans/${id}\\?`), async (route) => {
        const plan = await (await route.fetch()).json();
        const waits = { ...plan.targets[0], state: "waiting", error: "not reached yet" };
        const more = ["a", "b", "c"].map((label) => ({ ...waits, label }));
        await route.fulfill({ json: { ...plan, targets: [...more, ...plan.targets] } });
      });
    },
  });
  const { page } = tab;
  await page.getByRole("row", { name: /^c 1 waiting/ }).waitFor();
  const reasons = page.getByRole("list", { name: "Why hosts failed" }).getByRole("listitem");
  expect(await reasons.allTextContents()).toEqual([expect.stringMatching(/^2 × .*no display/)]);
});

test("a plan that the desk was making when somebody pressed Cancel is told of, with its link; refusals name what the page offers", async () => {
  await using host = await desk();
  const made = await host.call("/plans/new", post({ actions: [["AC_sleep", { seconds: 0 }]], on: "lab-01" }));
  const { id, digest } = (await made.json()) as { id: string; digest: string };
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const refusal =
    "no plan was made: gone: no answer (--skip leaves such hosts out, --queue waits for those that are off)";
  let isRefused = true;
  await using tab = await openPage(browser, `${host.url}/dashboard#hosts`, {
    token: TOKEN,
    async prepare(page) {
      const releases = [{ version: "0.2.0", targets: ["linux-x64"] }];
      await page.route(/\/admin\/releases$/, (route) => route.fulfill({ json: { releases } }));
      await page.route(/\/admin\/upgrade$/, async (route) => {
        if (isRefused) return route.fulfill({ status: 409, json: { error: refusal } });
        asked.resolve();
        await released.promise;
        const hosts = [{ label: "lab-01", version: "0.1.0", target: "linux-x64" }];
        await route.fulfill({ json: { id, digest, version: "0.2.0", hosts, waves: [1], left_out: [] } });
      });
    },
  });
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  await page.getByLabel("Select lab-01").check();
  await page.getByRole("button", { name: "Upgrade…" }).click();
  await dialog.getByRole("button", { name: "Next" }).click();
  await dialog.getByText("“Leave out hosts that cannot be upgraded” goes on without them").waitFor();
  expect(await dialog.getByRole("alert").textContent()).not.toContain("--");

  isRefused = false;
  await dialog.getByRole("button", { name: "Next" }).click();
  await asked.promise;
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  released.resolve();
  await dialog.getByRole("heading", { name: "It was too late to cancel" }).waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByRole("link", { name: `Plan ${id.slice(0, 8)}` }).click();
  await page.getByRole("heading", { level: 1, name: "Plans" }).waitFor();
  expect(new URL(page.url()).hash).toBe(`#plans/${id}`);
  expect(await dialog.count()).toBe(0);
  expect(tab.complaints.filter((text) => !text.includes("409"))).toEqual([]);
});

test("hosts are upgraded from the page to a release that the desk keeps, and the page says how it gets one", async () => {
  await using host = await desk();
  const made = await host.call("/plans/new", post({ actions: [["AC_sleep", { seconds: 0 }]], on: "lab-01" }));
  const { id, digest } = (await made.json()) as { id: string; digest: string };
  let releases: object[] = [];
  let asked: unknown;
  await using tab = await openPage(browser, `${host.url}/dashboard#hosts`, {
    token: TOKEN,
    async prepare(page) {
      await page.route(/\/admin\/releases$/, (route) => route.fulfill({ json: { releases } }));
      await page.route(/\/admin\/upgrade$/, (route) => {
        asked = route.request().postDataJSON();
        const left_out = [{ label: "gone", version: null, target: null, why: "no answer" }];
        const hosts = [{ label: "lab-01", version: "0.1.0", target: "linux-x64" }];
        return route.fulfill({ json: { id, digest, version: "0.2.0", hosts, waves: [1], left_out } });
      });
    },
  });
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  await page.getByLabel("Select gone").check();
  await page.getByLabel("Select lab-01").check();
  await page.getByRole("button", { name: "Upgrade…" }).click();
  await dialog.getByText("This desk keeps no release yet.").waitFor();
  expect(await dialog.getByLabel("Command").inputValue()).toBe(
    "svc admin upgrade ./release --on 'gone,lab-01'",
  );
  await dialog.getByRole("button", { name: "Close" }).click();

  releases = [{ version: "0.2.0", targets: ["linux-arm64", "linux-x64"] }];
  await page.getByRole("button", { name: "Upgrade…" }).click();
  await dialog.getByLabel("Release").selectOption("0.2.0");
  await dialog.getByLabel("Leave out hosts that cannot be upgraded").check();
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByRole("button", { name: "Next" }).click();
  await dialog.getByText("gone is left out").waitFor();
  expect(asked).toEqual({
    ...{ version: "0.2.0", on: "gone,lab-01", waves: ["1", "10%", "100%"], pause_s: 60 },
    ...{ expires_s: 86_400, queue: true, skip: true },
  });
  await dialog.getByRole("button", { name: "Apply" }).click();
  await page.getByText("1 of 1 host has ended.").waitFor();
  expect(new URL(page.url()).hash).toBe(`#plans/${id}`);
  expect(tab.complaints).toEqual([]);
});
