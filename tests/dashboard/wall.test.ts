/** The wall of screens of the page Hosts, those first that differ, in Chromium. */
import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { browserTest, openPage, useBrowser } from "../browser";
import { post, serveSource, TOKEN, until } from "../support";

const test = browserTest();
const browser = useBrowser();
const AXE = readFileSync(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir), "utf8");

const LABELS = ["lab-1", "lab-2", "lab-3", "lab-4"];
const nothing = { score: null, tag: null, others: 0 };
const VERDICTS = {
  hosts: [
    {
      ...{ label: "lab-3", state: "odd", score: 100, tag: "kiosk", others: 2 },
      why: 'it has a window "Update failed"; none of the 2 others has one',
    },
    { label: "lab-1", state: "alike", score: 0, tag: "kiosk", others: 2, why: null },
    { label: "lab-4", state: "failed", ...nothing, why: "timeout after 10 s" },
    {
      label: "lab-2",
      state: "not_asked",
      ...nothing,
      why: "not asked: svc 0.2.1 has no signatures of screens",
    },
  ],
  ...{ count: 4, odd: 1 },
};

test("the wall sorts the screens by how much they differ, with the reason below each, and is as before without", async () => {
  await using desk = await serveSource(["--rate-limit", "0"]);
  for (const label of LABELS)
    await desk.call(
      "/admin/hosts/add",
      post({ label, base_url: "http://127.0.0.1:9", token: TOKEN, unchecked: true }),
    );
  const asked: unknown[] = [];
  await using tab = await openPage(browser, `${desk.url}/dashboard#hosts`, {
    token: TOKEN,
    async prepare(page) {
      await page.route(/screen\/thumbnail/, (route) =>
        route.fulfill({ status: 503, json: { error: "off" } }),
      );
      await page.route(/admin\/odd/, (route) => {
        asked.push(route.request().postDataJSON());
        return route.fulfill({ json: VERDICTS });
      });
    },
  });
  const { page } = tab;
  for (const label of LABELS.slice(0, 3))
    await page.getByRole("checkbox", { name: `Select ${label}` }).check();
  const wall = page.locator(".wall-panel");
  await wall.getByRole("switch", { name: "Show" }).click();
  const sorts = wall.getByRole("switch", { name: "Odd first" });
  // Of three nothing can be told.
  expect(await sorts.isVisible()).toBe(false);
  await page.getByRole("checkbox", { name: "Select lab-4" }).check();
  await sorts.click();
  const shown = async () => (await wall.locator(".wall-label").allTextContents()).join();
  await until("the order", async () => (await shown()) === "lab-3,lab-1,lab-4,lab-2");
  expect(await wall.locator(".wall-why").allTextContents()).toEqual(
    VERDICTS.hosts.map(({ why }) => why ?? ""),
  );
  expect(asked).toEqual([{ on: LABELS.join(",") }]);
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<{ violations: Array<{ id: string; impact: string }> }>(
    "axe.run()",
  );
  expect(violations.filter(({ impact }) => impact === "serious" || impact === "critical")).toEqual([]);

  await sorts.click();
  await until("the order of before", async () => (await shown()) === LABELS.join());
  expect(await wall.locator(".wall-why").allTextContents()).toEqual(["", "", "", ""]);
  expect(asked).toHaveLength(1);

  // Without a selection, it has what a search has found.
  await page.getByRole("button", { name: "Clear the selection" }).click();
  await wall.getByText("No host is selected").waitFor();
  await page.getByLabel("Search hosts").fill("lab-2,lab-4");
  await until("the hosts that were found", async () => (await shown()) === "lab-2,lab-4");
});
