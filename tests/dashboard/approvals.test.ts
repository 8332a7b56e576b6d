/** The page of approvals in Chromium. */
import { expect } from "bun:test";
import { createAgentStore } from "../../src/host/agents/store";
import { askServer } from "../../src/host/approvals/elsewhere";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { addToken, tokenStore } from "../../src/trust/named-tokens";
import { browserTest, openPage, useBrowser } from "../browser";
import { post, type ServerProcess, serveSource, TOKEN, until } from "../support";

/** Asks beside the server of `host`, until that ends. @returns the id, once the server has it. */
async function askIn(
  host: ServerProcess,
  question: { what: string; detail: string; digest?: string },
  name: string | null,
): Promise<string> {
  const caller = { grant: { name, scopes: ["admin" as const] }, client: null };
  const { signal } = new AbortController();
  askServer(host.configDir, { ...question, caller, signal }).catch(() => {});
  return until("the question", async () => {
    const { approvals } = (await (await host.call("/approvals")).json()) as {
      approvals: Array<{ id: string; what: string }>;
    };
    return approvals.find(({ what }) => what === question.what)?.id;
  });
}

const test = browserTest();
const browser = useBrowser();

test("a person with another token allows and denies what waits, after reading what it does", async () => {
  await using host = await serveSource();
  const ask = (what: string) =>
    askIn(
      host,
      { what, detail: `sees all that is on <b>it</b>: ${what}`, digest: "sha256:12ab" },
      "night-shift",
    );
  const first = await ask("look at the screen");
  await using tab = await openPage(browser, `${host.url}/dashboard#approvals`, { token: TOKEN });
  const { page } = tab;
  await page.getByText("1 approval waiting").waitFor();
  // It comes while the page is open.
  const second = await ask("control the screen");
  await page.getByText("2 approvals waiting").waitFor();

  await page.getByRole("button", { name: `Allow… ${first}` }).click();
  const dialog = page.getByRole("dialog", { name: "Allow: look at the screen?" });
  expect(await dialog.textContent()).toContain("sees all that is on <b>it</b>: look at the screen");
  expect(await dialog.textContent()).toContain("Asked by night-shift.");
  expect(await dialog.textContent()).toContain("sha256:12ab");
  await dialog.getByRole("button", { name: "Allow" }).click();
  await page.getByRole("row", { name: /look at the screen.*allowed.*by the host’s own token/ }).waitFor();

  await page.getByRole("button", { name: `Deny… ${second}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Deny" }).click();
  await page.getByRole("row", { name: /control the screen.*denied/ }).waitFor();
  expect(await page.getByRole("button", { name: /^(Allow|Deny)…/ }).count()).toBe(0);
  expect(tab.complaints).toEqual([]);
});

test("what the token itself has asked is decided by another one", async () => {
  await using host = await serveSource();
  await askIn(host, { what: "look at the screen", detail: "sees all" }, null);
  await using tab = await openPage(browser, `${host.url}/dashboard#approvals`, { token: TOKEN });
  await tab.page.getByText("another token with operate decides").waitFor();
  expect(await tab.page.getByRole("button", { name: /^(Allow|Deny)…/ }).count()).toBe(0);
});

test("a person allows less of what an agent asks for, and stops it", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  const agent = addToken(tokenStore(configFiles(host.configDir), silentLog), {
    ...{ name: "agent", scope: ["read", "screen"] },
  });
  const terms = { what: "enter orders", desktop: "session", windows: ["Order"], agent: "claude-code" };
  const asking = fetch(`${host.url}/leases/request`, {
    ...post(terms),
    headers: { "content-type": "application/json", authorization: `Bearer ${await agent}` },
  });
  await using tab = await openPage(browser, `${host.url}/dashboard#approvals`, { token: TOKEN });
  const { page } = tab;
  await page.getByText("claude-code wants the desktop of this session, where you work").waitFor();
  await page.getByText("claude-code: enter orders").waitFor();
  await page.getByRole("button", { name: /^Allow less/ }).click();
  const dialog = page.getByRole("dialog", { name: "Allow claude-code less" });
  await dialog.getByLabel("Minutes").fill("5");
  await dialog.getByLabel("Actions").fill("50");
  await dialog.getByRole("button", { name: "Allow", exact: true }).click();
  const given = (await (await asking).json()) as { minutes: number; actions: number; windows: string[] };
  expect(given).toMatchObject({ minutes: 5, actions: 50, windows: ["Order"] });
  // Without a display here it could not begin; with one, a person stops it.
  const stop = page.getByRole("button", { name: /^Stop / });
  await until("the lease", async () => {
    const { leases } = (await (await host.call("/leases")).json()) as { leases: Array<{ state: string }> };
    return leases.every(({ state }) => state === "active" || state === "ended") || undefined;
  });
  if (await stop.isVisible()) await stop.click();
  await page.getByRole("row", { name: /enter orders.*ended/ }).waitFor();
  expect(tab.complaints).toEqual([]);
});

test("a script that waits is shown whole, also on a phone, and is stored as it was shown", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  const store = createAgentStore(configFiles(host.configDir).agents);
  const element = `button "Save" window "Order entry ${"of a long title ".repeat(10)}"`;
  store.propose({
    ...{ name: "order", token: null, source: "session 1", stop_on_error: true, timeout_s: 600 },
    ...{ parameters: [], variables: {}, actions: [["AC_press_element", { element }]] },
  });
  store.close();
  const viewport = { width: 390, height: 844 };
  await using tab = await openPage(browser, `${host.url}/dashboard#approvals`, { token: TOKEN, viewport });
  const { page } = tab;
  await page.getByRole("button", { name: "Store… order" }).click();
  const dialog = page.getByRole("dialog", { name: "Store order?" });
  // Nothing of a line is beyond the edge.
  const [inner, outer] = await Promise.all([dialog.locator("pre").boundingBox(), dialog.boundingBox()]);
  expect((inner?.x ?? 0) + (inner?.width ?? 0)).toBeLessThan((outer?.x ?? 0) + (outer?.width ?? 0));
  expect(await dialog.locator("pre").evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
  expect(await dialog.textContent()).toContain(`+ ["AC_press_element",${JSON.stringify({ element })}]`);
  await dialog.getByRole("button", { name: "Store" }).click();
  await page.getByText("No script waits").waitFor();
  const { scripts } = (await (await host.call("/scripts")).json()) as { scripts: Array<{ name: string }> };
  expect(scripts.map(({ name }) => name)).toEqual(["order"]);
  expect(tab.complaints).toEqual([]);
});

test("what an agent did becomes a script that waits, by a name that a person types", async () => {
  await using host = await serveSource(["--rate-limit", "0"]);
  const store = createAgentStore(configFiles(host.configDir).agents);
  const action: [string, Record<string, unknown>] = ["AC_press_element", { element: 'button "Save"' }];
  await store.add({ key: "a", agent: "claude-code", token: "night-shift" }, [
    { action, typed: [], checks: [] },
  ]);
  store.close();
  await using tab = await openPage(browser, `${host.url}/dashboard#approvals`, { token: TOKEN });
  const { page } = tab;
  await page
    .getByRole("row", { name: /claude-code.*night-shift/ })
    .getByRole("button", { name: /^Keep…/ })
    .click();
  const dialog = page.getByRole("dialog", { name: "Keep it as a script" });
  await dialog.getByLabel("Name of the script").fill("two words");
  await dialog.getByRole("button", { name: "Make a draft" }).click();
  await dialog.getByText("two words").waitFor();
  await dialog.getByLabel("Name of the script").fill("order");
  await dialog.getByRole("button", { name: "Make a draft" }).click();
  await page.getByRole("button", { name: "Store… order" }).waitFor();
  const drafts = page.getByRole("table", { name: "Drafts, the newest first" });
  expect(await drafts.textContent()).toContain('button \\"Save\\"');
  // The browser itself says that the first name was refused.
  expect(tab.complaints).toEqual([expect.stringContaining("status of 400")]);
});
