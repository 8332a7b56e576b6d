/** The page Hosts, that of one host, and the palette, in Chromium. */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { callOperation } from "../../src/core/call";
import { localCaller } from "../../src/core/caller";
import { makeNatsBundle } from "../../src/desk/nats/operations/server";
import { browserTest, openPage, settled, useBrowser, violationsOn } from "../browser";
import { tlsServer } from "../desk/join/support";
import { post, serveSource, TOKEN, until } from "../support";

const test = browserTest();
const browser = useBrowser();

/** A picture of one pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** A row as the server answers it. */
const rowOf = (label: string, more: object = {}) => ({
  ...{ label, base_url: `link:${label}`, tags: [], trust: "identity", way: "link", state: "up", why: null },
  ...{ since: new Date().toISOString(), seen: new Date().toISOString(), version: "0.3.0", rtt_ms: 1 },
  ...{ plan: null, clients: 0, jobs: 0, broken: false, twin: false },
  ...more,
});

type Row = ReturnType<typeof rowOf>;

const MANY: Row[] = Array.from({ length: 10_000 }, (_, nth) =>
  rowOf(`lab-${String(nth).padStart(5, "0")}`, {
    tags: [`floor-${nth % 20}`, ...(nth % 2 === 0 ? ["lab"] : [])],
    ...(nth % 100 === 7 && { state: "down", why: "the link was lost" }),
    version: nth % 3 === 0 ? "0.2.9" : "0.3.0",
  }),
);

/** The page at `address` of a desk with these hosts, which nobody polls. */
async function pageOf(url: string, rows: readonly Row[], address = "hosts", options: object = {}) {
  return openPage(browser, `${url}/dashboard#${address}`, {
    token: TOKEN,
    ...options,
    async prepare(page) {
      await page.route(/\/admin\/fleet$/, (route) => route.fulfill({ json: rows }));
      await page.route(/\/admin\/poll/, (route) => route.fulfill({ json: [] }));
    },
  });
}

const linesOf = (page: Page) => page.locator(".hosts-space .host-line");
const labelsOf = (page: Page) => page.locator(".hosts-space .host-name a").allTextContents();

test("10,000 hosts are a list of which only lines in view are there, found by words that stay in the address", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await pageOf(host.url, MANY);
  const { page } = tab;
  // The worst first.
  await page.getByRole("row", { name: /Select lab-00007/ }).waitFor();
  expect(await page.getByRole("grid").getAttribute("aria-rowcount")).toBe("10001");
  // Nothing below them says that they are loaded still.
  expect(await page.locator(".hosts-empty").textContent()).toBe("");
  expect(await linesOf(page).count()).toBeLessThan(60);
  await page.getByRole("button", { name: "100 lost" }).waitFor();

  await page.keyboard.press("/");
  await page.keyboard.type("tag:lab !healthy");
  await page.getByText("No host fits that").waitFor();
  await page.getByLabel("Search hosts").fill("tag:floor-7 !healthy version:<0.3");
  await page.getByRole("row", { name: /Select lab-00207/ }).waitFor();
  const found = MANY.filter(
    ({ tags, state, version }) =>
      state === "down" && version === "0.2.9" && (tags as string[]).includes("floor-7"),
  );
  expect(await page.getByRole("grid").getAttribute("aria-rowcount")).toBe(`${found.length + 1}`);
  await page.waitForURL(/#hosts\?q=.*0\.3$/);
  expect(new URL(page.url()).hash).toBe("#hosts?q=tag:floor-7%20!healthy%20version:%3C0.3");
  await page.getByLabel("Search hosts").fill("version:older");
  await page.getByText("version: expected a version, also <0.3 or >=0.2.1").waitFor();
  expect(await labelsOf(page)).toContain("lab-00207");
  // Why nothing is found, in the words of `svc admin list`, and what was meant perhaps.
  await page.getByLabel("Search hosts").fill("tags:lab");
  await page.getByText("tags: is no property, so it was looked for in labels").waitFor();
  await page.getByLabel("Search hosts").fill("lab-00007x");
  await page.getByRole("button", { name: "Did you mean lab-00007?" }).click();
  await page.getByRole("row", { name: /Select lab-00007/ }).waitFor();
  expect(await page.locator(".hosts-fault").textContent()).toBe("");

  // A fresh tab at that address shows the same.
  await using other = await pageOf(host.url, MANY, "hosts?q=lab-0999&sort=-label");
  await other.page.getByRole("row", { name: /Select lab-09999/ }).waitFor();
  expect((await labelsOf(other.page)).slice(0, 2)).toEqual(["lab-09999", "lab-09998"]);
  expect([...tab.complaints, ...other.complaints]).toEqual([]);
});

test("hosts are found, selected and opened with the keyboard alone, and what is selected stays so when it is not listed", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await pageOf(host.url, MANY);
  const { page } = tab;
  await page.getByRole("row", { name: /Select lab-00007/ }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("lab-0010");
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("x");
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Shift+j");
  const bulk = page.getByRole("group", { name: "Selected hosts" });
  await bulk.getByText("3 hosts selected").waitFor();
  expect(await page.locator('.host-line[aria-selected="true"] .host-name').allTextContents()).toEqual([
    "lab-00100",
    "lab-00101",
    "lab-00102",
  ]);
  expect(await violationsOn(page, true)).toEqual([]);
  await page.keyboard.press("Control+a");
  await bulk.getByText("10 hosts selected").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("lab-00100");
  await bulk.getByText("10 hosts selected, 9 not listed").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Escape");
  await bulk.waitFor({ state: "hidden" });
  await page.keyboard.press("End");
  await page.keyboard.press("m");
  await page.getByRole("link", { name: "Open" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".hosts-grid:focus").waitFor();
  await page.keyboard.press("p");
  await page.getByRole("dialog", { name: "Make a plan" }).getByText("lab-00100", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".hosts-grid:focus").waitFor();
  await page.keyboard.press("?");
  await page.locator("summary:focus", { hasText: "What can be searched for" }).waitFor();
  await page.getByRole("grid").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "lab-00100", level: 2 }).waitFor();
  expect(new URL(page.url()).hash).toBe("#hosts/lab-00100");
  expect(tab.complaints).toEqual([]);
});

test("a thousand events change lines where they are, in few paints, and no line moves under the pointer", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  const rows = MANY.slice(0, 200);
  const frames = Array.from({ length: 1_000 }, (_, nth) => {
    const data = {
      label: `lab-${String(100 + (nth % 100)).padStart(5, "0")}`,
      base_url: "link:x",
      error: `lost ${nth}`,
    };
    return `event: host.down\nid: 1.${nth + 1}\ndata: ${JSON.stringify(data)}\n\n`;
  });
  const begin = Promise.withResolvers<void>();
  await using tab = await openPage(browser, `${host.url}/dashboard#hosts?sort=label`, {
    token: TOKEN,
    async prepare(page) {
      await page.route(/\/admin\/fleet$/, (route) => route.fulfill({ json: rows }));
      await page.route(/\/admin\/poll/, (route) => route.fulfill({ json: [] }));
      await page.route(/\/events$/, async (route) => {
        await begin.promise;
        await route.fulfill({ contentType: "text/event-stream", body: frames.join("") });
      });
    },
  });
  const { page } = tab;
  const first = page.getByRole("row", { name: /Select lab-00000/ });
  await first.waitFor();
  await first.hover();
  await page.evaluate(`{
    globalThis.paints = 0;
    const chips = document.querySelector(".hosts-chips");
    new MutationObserver(() => (paints += 1)).observe(chips, { childList: true });
  }`);
  begin.resolve();
  await page.getByRole("button", { name: "101 lost" }).waitFor();
  expect(await page.evaluate<number>("paints")).toBeLessThan(8);
  expect((await labelsOf(page)).slice(0, 3)).toEqual(["lab-00000", "lab-00001", "lab-00002"]);
});

test("a host that is removed while somebody points at the list is struck through, out of reach, until it is sorted again", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  let rows = MANY.slice(0, 4);
  const removed = { label: "lab-00001" };
  const begin = Promise.withResolvers<void>();
  await using tab = await openPage(browser, `${host.url}/dashboard#hosts?sort=label`, {
    token: TOKEN,
    async prepare(page) {
      await page.route(/\/admin\/fleet$/, (route) => route.fulfill({ json: rows }));
      await page.route(/\/admin\/poll/, (route) => route.fulfill({ json: [] }));
      await page.route(/\/events$/, async (route) => {
        await begin.promise;
        const body = `event: host.removed\nid: 1.1\ndata: ${JSON.stringify(removed)}\n\n`;
        await route.fulfill({ contentType: "text/event-stream", body });
      });
    },
  });
  const { page } = tab;
  const bulk = page.getByRole("group", { name: "Selected hosts" });
  await page.getByLabel("Select lab-00001").check();
  await bulk.getByText("1 host selected").waitFor();
  await page.getByRole("row", { name: /Select lab-00003/ }).hover();
  rows = rows.filter(({ label }) => label !== removed.label);
  begin.resolve();

  const gone = page.getByRole("row", { name: /lab-00001.*removed/ });
  await gone.waitFor();
  await page.getByText("1 host removed").waitFor();
  await bulk.waitFor({ state: "hidden" });
  expect(await gone.locator("s").textContent()).toBe("lab-00001");
  expect(await gone.getAttribute("aria-disabled")).toBe("true");
  expect(await gone.locator("input, a, button").count()).toBe(0);
  expect(await page.locator(".hosts-space .host-name").allTextContents()).toEqual([
    "lab-00000",
    "lab-00001",
    "lab-00002",
    "lab-00003",
  ]);
  expect(await violationsOn(page, true)).toEqual([]);
  // Keys pass over it: nothing is selected, opened or planned.
  await page.getByRole("grid").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.locator(".host-line.active.gone").waitFor();
  for (const key of ["x", "Enter", "o", "m", "p"]) await page.keyboard.press(key);
  expect(await page.getByRole("dialog").count()).toBe(0);
  expect(await bulk.isVisible()).toBe(false);
  expect(new URL(page.url()).hash).toBe("#hosts?sort=label");
  await page.keyboard.press("Control+a");
  await bulk.getByText("3 hosts selected").waitFor();

  await page.getByRole("button", { name: "sort again" }).click();
  await gone.waitFor({ state: "detached" });
  expect(await labelsOf(page)).toEqual(["lab-00000", "lab-00002", "lab-00003"]);
});

test("a view is saved with its name, and shows the same again; groups have the hosts of each tag", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await pageOf(host.url, MANY.slice(0, 40));
  const { page } = tab;
  await page.getByRole("row", { name: /Select lab-00007/ }).waitFor();
  await page.getByLabel("Search hosts").fill("tag:floor-7,tag:floor-8");
  await page.getByRole("button", { name: "Group by tag" }).click();
  expect(await page.locator(".host-group strong").allTextContents()).toEqual(["floor-7", "floor-8", "lab"]);
  expect(await violationsOn(page, true)).toEqual([]);
  await page.getByRole("button", { name: "Save view…" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("   ");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByText("Name the view with more than spaces").waitFor();
  await page.getByRole("dialog").getByLabel("Name").fill("two floors");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.reload();
  await page.getByLabel("Saved views").selectOption("");
  await page.getByRole("row", { name: /Select lab-00001/ }).waitFor();
  await page.getByLabel("Saved views").selectOption("two floors");
  await page.locator(".host-group", { hasText: "floor-8" }).waitFor();
  expect(await page.getByLabel("Search hosts").inputValue()).toBe("tag:floor-7,tag:floor-8");
  await page.getByRole("button", { name: "Forget view" }).click();
  expect(await page.getByLabel("Saved views").locator("option").allTextContents()).toEqual([
    "No saved views",
  ]);
  expect(tab.complaints).toEqual([]);
});

test("hosts that are down fail, are lost or are off, the worst first, and links have a time there and back", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  const yesterday = new Date(Date.now() - 25 * 3_600_000).toISOString();
  const rows = [
    rowOf("a-off", { state: "down", why: "the link was lost", seen: yesterday, rtt_ms: null }),
    rowOf("b-busy", { state: "busy", why: "HTTP 429" }),
    rowOf("c-lost", { state: "down", why: "the link was lost", rtt_ms: null }),
    rowOf("d-failing", { state: "down", why: "HTTP 401: unauthorized", way: "https", rtt_ms: 132 }),
    rowOf("e-up", { rtt_ms: 12 }),
  ];
  await using tab = await pageOf(host.url, rows);
  const { page } = tab;
  await page.getByRole("row", { name: /Select e-up/ }).waitFor();
  expect(await labelsOf(page)).toEqual(["d-failing", "c-lost", "b-busy", "a-off", "e-up"]);
  expect(await page.locator(".hosts-space .host-rtt").allTextContents()).toEqual([
    "–",
    "–",
    "1 ms",
    "–",
    "12 ms",
  ]);
  await page.getByRole("button", { name: "1 lost" }).click();
  await page.getByRole("row", { name: /Select e-up/ }).waitFor({ state: "detached" });
  expect(await labelsOf(page)).toEqual(["c-lost"]);
  expect(await violationsOn(page, true)).toEqual([]);
  await page.getByLabel("Search hosts").fill("");
  await page.getByRole("button", { name: "RTT" }).click();
  await page.getByRole("columnheader", { name: "RTT" }).and(page.locator("[aria-sort=ascending]")).waitFor();
  expect((await labelsOf(page)).slice(0, 2)).toEqual(["b-busy", "e-up"]);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  expect(tab.complaints).toEqual([]);
});

test("an address of a host that is none says so, and which label is near; that of one is copied", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  const permissions = ["clipboard-read", "clipboard-write"];
  await using tab = await pageOf(host.url, MANY, "hosts/lab-0001/state", { permissions });
  const { page } = tab;
  await page.getByText("No host of the address book is labelled lab-0001. Did you mean lab-00001?").waitFor();
  expect(await page.locator(".host-tabs").isVisible()).toBe(false);
  expect(await page.getByRole("button", { name: "Poll" }).isVisible()).toBe(false);
  expect(await violationsOn(page, true)).toEqual([]);
  await page.getByRole("link", { name: "lab-00001" }).click();
  await page.getByRole("heading", { name: "lab-00001", level: 2 }).waitFor();
  await page.locator(".host-tabs").waitFor();
  await page.getByRole("button", { name: "Copy link to lab-00001" }).click();
  await page.getByRole("button", { name: "Copied to lab-00001" }).waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(`${host.url}/dashboard#hosts/lab-00001`);
});

test("the navigation counts hosts that need somebody, plans that run and what waits, as they change", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  const begin = Promise.withResolvers<void>();
  const up = `event: host.up\nid: 1.1\ndata: ${JSON.stringify({ label: "lab-01", base_url: "link:x" })}\n\n`;
  const lost = { state: "down", why: "the link was lost" };
  await using tab = await openPage(browser, `${host.url}/dashboard#usb`, {
    token: TOKEN,
    async prepare(page) {
      const hosts = [rowOf("lab-01", lost), rowOf("lab-02", lost)];
      await page.route(/\/admin\/fleet\?q=/, (route) => route.fulfill({ json: hosts }));
      await page.route(/\/plans\?state=running$/, (route) => route.fulfill({ json: { plans: [{}] } }));
      await page.route(/\/approvals$/, (route) => route.fulfill({ json: { approvals: [], waiting: 3 } }));
      await page.route(/\/events$/, async (route) => {
        await begin.promise;
        await route.fulfill({ contentType: "text/event-stream", body: up });
      });
    },
  });
  const { page } = tab;
  const links = page.getByRole("navigation", { name: "Pages" });
  for (const name of ["Hosts 2 need attention", "Plans 1 running", "Approvals 3 waiting"])
    await links.getByRole("link", { name, exact: true }).waitFor();
  expect(await violationsOn(page, true)).toEqual([]);
  begin.resolve();
  await links.getByRole("link", { name: "Hosts 1 need attention", exact: true }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  expect(await page.locator(".nav-count").count()).toBe(0);
});

test("more than ten hosts are removed only once their number was typed", async () => {
  await using desk = await serveSource(["--rate-limit", "0"]);
  for (let nth = 0; nth < 11; nth++) {
    const added = { label: `lab ${nth}`, base_url: "http://127.0.0.1:9", token: TOKEN, unchecked: true };
    expect((await desk.call("/admin/hosts/add", post(added))).status).toBe(200);
  }
  await using tab = await openPage(browser, `${desk.url}/dashboard#hosts`, { token: TOKEN });
  const { page } = tab;
  await page.getByLabel("Select all hosts that are listed").check();
  await page.getByRole("button", { name: "Remove the selected hosts" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Number of hosts").fill("10");
  await dialog.getByRole("button", { name: "Remove" }).click();
  await dialog.getByText("Type 11, the number of hosts, to remove them.").waitFor();
  await dialog.getByLabel("Number of hosts").fill("11");
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByText("No hosts", { exact: true }).waitFor();
  expect(await (await desk.call("/admin/hosts")).json()).toEqual([]);
});

test("each part of a host has an address, and asks the host; the page is accessible, dark and on a phone", async () => {
  await using lab = await serveSource([]);
  await using desk = await serveSource(["--rate-limit", "0"]);
  await lab.call("/execute", post({ actions: [["AC_rest_api_status"]] }));
  await lab.call("/jobs/add", post({ script_path: "/no.json", interval_seconds: 900, job_id: "nightly" }));
  const added = { label: "lab/1 ä", base_url: lab.url, token: lab.token, tags: ["floor-2"] };
  await desk.call("/admin/hosts/add", post(added));
  await desk.call("/admin/poll");
  const at = (part: string) => `${desk.url}/dashboard#hosts/lab%2F1%20%C3%A4/${part}`;
  await using tab = await openPage(browser, at("runs"), { token: TOKEN, colorScheme: "dark" });
  const { page } = tab;
  await page.getByRole("cell", { name: "AC_rest_api_status" }).waitFor();
  for (const [part, shown] of [
    ["Jobs", "nightly"],
    ["Diagnostics", "Platform"],
    ["Audit", "does not witness"],
    ["Events", "Nothing has happened"],
    ["Settings", lab.url],
    ["State", "Trusted by"],
  ] as const) {
    await page.locator(".host-tabs").getByRole("link", { name: part, exact: true }).click();
    await page.getByText(shown).first().waitFor();
    await settled(page);
    expect([part, await violationsOn(page, true)]).toEqual([part, []]);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  await page.getByRole("link", { name: "All hosts" }).click();
  await page
    .getByRole("row", { name: /Select lab\/1 ä/ })
    .getByText("healthy")
    .waitFor();
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  expect(await violationsOn(page, true)).toEqual([]);
  await page.goto(`${desk.url}/dashboard#hosts/nobody`);
  await page.getByText("No host of the address book is labelled nobody.").waitFor();
  expect(await page.locator(".host-tabs").isVisible()).toBe(false);
  expect(tab.complaints.filter((text) => !text.includes("503"))).toEqual([]);
});

test("the palette goes to a page, a host, a stored script and a command by their names", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await pageOf(host.url, MANY, "usb");
  const { page } = tab;
  const stored = { scripts: [{ name: "nightly-till" }], count: 1 };
  await page.route(/\/scripts$/, (route) => route.fulfill({ json: stored }));
  const goTo = async (words: string, option: RegExp) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").fill(words);
    await page.getByRole("option", { name: option }).first().waitFor();
    expect(await violationsOn(page, true)).toEqual([]);
    await page.keyboard.press("Enter");
  };
  await goTo("09999", /lab-09999/);
  await page.getByRole("heading", { name: "lab-09999", level: 2 }).waitFor();
  await goTo("Folder", /Folder sync/);
  await page.getByRole("heading", { name: "Folder sync", level: 1 }).waitFor();
  await goTo("nightly-till", /nightly-till/);
  await page
    .getByText("The stored script nightly-till is loaded: this list runs it. Nothing has run.")
    .waitFor();
  expect(await page.getByLabel("Script, as JSON").inputValue()).toContain('{"path":"script:nightly-till"}');
  await goTo("AC_screen_size", /AC_screen_size/);
  await page.getByRole("heading", { name: "Scripts", level: 1 }).waitFor();
  await page.getByText(/^1 of \d+ found/).waitFor();
  // Links, of a desk that takes none; and a stored script that is not there when it is checked.
  expect(tab.complaints.filter((text) => !/40[04]/.test(text))).toEqual([]);
});

test("the screen of a host is shown small under the pointer for who has switched that on", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await pageOf(host.url, MANY.slice(0, 3));
  const { page } = tab;
  let asked = 0;
  await page.route(/screen\/thumbnail/, (route) => {
    asked += 1;
    return route.fulfill({ contentType: "image/png", body: PNG });
  });
  const link = page.getByRole("link", { name: "lab-00001" });
  await link.hover();
  await page.waitForTimeout(600);
  expect(asked).toBe(0);
  await page.getByRole("switch", { name: "Peek" }).click();
  await link.hover();
  await page.locator(".host-peek img").waitFor();
  expect(asked).toBe(1);
  await page.getByRole("switch", { name: "Peek" }).hover();
  await page.locator(".host-peek").waitFor({ state: "hidden" });
  expect(tab.complaints).toEqual([]);
});

test("a small screen that a 429 has held up is there when the wait is over, while the pointer rests", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await pageOf(host.url, MANY.slice(0, 3));
  const { page } = tab;
  const slowDown = { status: 429, headers: { "retry-after": "1" }, json: { error: "rate limited" } };
  let asked = 0;
  await page.route(/screen\/thumbnail/, (route) =>
    route.fulfill(asked++ === 0 ? slowDown : { contentType: "image/png", body: PNG }),
  );
  await page.getByRole("switch", { name: "Peek" }).click();
  await page.getByRole("link", { name: "lab-00001" }).hover();
  const peek = page.locator(".host-peek");
  await peek.getByText("The server asks to wait 1 s.").waitFor();
  await peek.locator("img").waitFor();
  await page.getByRole("switch", { name: "Peek" }).hover();
  await peek.waitFor({ state: "hidden" });
});

/** In the page: whether the small screen is beside the name of a host. */
const isBeside = (label: string) => `(() => {
  const peek = document.querySelector(".host-peek:not([hidden])");
  const names = [...document.querySelectorAll(".host-name a")];
  const name = names.find(({ textContent }) => textContent === "${label}");
  if (!peek || !name) return false;
  return Math.abs(name.getBoundingClientRect().top - 60 - peek.getBoundingClientRect().top) < 2;
})()`;

/** Three hosts, and the pointer on the name of the first, whose screen is shown small; `asked` are those whose screens were asked for. */
async function peekOf(url: string, answer: object) {
  const tab = await pageOf(url, MANY.slice(0, 3));
  const { page } = tab;
  const asked: string[] = [];
  await page.route(/screen\/thumbnail/, (route) => {
    asked.push(/hosts\/([^/]*)/.exec(route.request().url())?.[1] ?? "");
    return route.fulfill(answer);
  });
  await page.getByRole("switch", { name: "Peek" }).click();
  const first = page.locator(".hosts-space .host-name a").first();
  const label = (await first.textContent()) ?? "";
  await first.hover();
  await page.locator(".host-peek").waitFor();
  return { ...tab, asked, label };
}

test("a small screen goes along with its host where a notice moves the list below the pointer", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  const slowDown = { status: 429, headers: { "retry-after": "60" }, json: { error: "rate limited" } };
  await using tab = await peekOf(host.url, slowDown);
  await tab.page.getByText("Asking again in").waitFor();
  await until("the small screen beside its host", () => tab.page.evaluate<boolean>(isBeside(tab.label)));
  expect(tab.asked).toEqual([tab.label]);
});

test("where another host comes below the pointer, that is the one whose screen is shown small", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await peekOf(host.url, { contentType: "image/png", body: PNG });
  const { page, asked, label } = tab;
  await page.locator(".host-peek img").waitFor();
  const other = MANY[2]?.label ?? "";
  expect(other).not.toBe(label);
  await page.getByRole("searchbox").first().fill(other);
  await until("the small screen beside the other host", () => page.evaluate<boolean>(isBeside(other)));
  await page.locator(".host-peek img").waitFor();
  expect(asked.at(-1)).toBe(other);
});

test("a small screen ends where its host goes from below the pointer as the page is scrolled", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await peekOf(host.url, { contentType: "image/png", body: PNG });
  const { page } = tab;
  await page.locator(".host-peek img").waitFor();
  await page.evaluate("scrollBy({ top: document.body.scrollHeight, behavior: 'instant' })");
  await page.locator(".host-peek").waitFor({ state: "hidden" });
});

test("a join string is for a region where the desk has several NATS servers", async () => {
  await using desk = await tlsServer();
  const { service } = desk;
  const addServer = (wanted: object) =>
    callOperation(service, makeNatsBundle, { operator: "lab", ...wanted }, localCaller(service, "cli"));
  await addServer({ url: ["tls://nats.example"] });
  await using tab = await openPage(browser, `${desk.server.url}/dashboard#hosts`, {
    token: TOKEN,
    ignoreHTTPSErrors: true,
  });
  const { page } = tab;
  const open = page.getByRole("button", { name: "Make a join string…" });
  const dialog = page.getByRole("dialog");
  const region = dialog.getByLabel("Region");
  await open.click();
  await dialog.getByLabel("Prefix").waitFor();
  expect(await region.count()).toBe(0);
  await dialog.getByRole("button", { name: "Cancel" }).click();

  await addServer({ url: ["tls://eu.example"], region: "eu" });
  await open.click();
  await region.waitFor();
  expect(await region.locator("option").allTextContents()).toEqual(["the first server", "eu"]);
  expect(await violationsOn(page, true)).toEqual([]);
  await dialog.getByRole("button", { name: "Make" }).click();
  await page.getByRole("row", { name: /0 of 1/ }).waitFor();
  await open.click();
  await region.selectOption("eu");
  await dialog.getByRole("button", { name: "Make" }).click();
  await page.getByRole("row", { name: /0 of 1.*region eu/ }).waitFor();
  expect(tab.complaints).toEqual([]);
});

test("the dialog for a join string does not open over another page", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  await using tab = await pageOf(host.url, []);
  const { page } = tab;
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route(/\/nats\/state$/, async (route) => {
    asked.resolve();
    await released.promise;
    await route.continue();
  });
  await page.getByRole("button", { name: "Make a join string…" }).click();
  await asked.promise;
  await page.evaluate(`location.hash = "#usb"`);
  await page.getByRole("heading", { name: "USB devices", level: 1 }).waitFor();
  const answered = page.waitForResponse(/\/nats\/state$/);
  released.resolve();
  await (await answered).finished();
  await settled(page);
  expect(await page.getByRole("dialog").count()).toBe(0);
});

test("where the desk cannot say which regions there are, a join string is made without, and the dialog says why", async () => {
  await using desk = await tlsServer();
  await using tab = await openPage(browser, `${desk.server.url}/dashboard#hosts`, {
    token: TOKEN,
    ignoreHTTPSErrors: true,
  });
  const { page } = tab;
  const broken = { status: 500, json: { error: "nats.json is not valid JSON" } };
  await page.route(/\/nats\/state$/, (route) => route.fulfill(broken));
  await page.getByRole("button", { name: "Make a join string…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("The regions of NATS are not known: nats.json is not valid JSON").waitFor();
  expect(await dialog.getByLabel("Region").count()).toBe(0);
  await dialog.getByRole("button", { name: "Make" }).click();
  await page.getByRole("row", { name: /0 of 1/ }).waitFor();
});
