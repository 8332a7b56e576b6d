/** The browser that the tests of the pages share. */
import { expect } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browserTest, launchBrowser, openPage, openTab, useBrowser } from "./browser";
import { DESK, PROGRAMS, startNetworks } from "./e2e/behind-nat";
import { temporaryFolder } from "./support";

const test = browserTest();
const browser = useBrowser();

test("a browser that has crashed is started again for the next tab", async () => {
  const gone = (await browser.newContext()).browser();
  const devTools = await gone?.newBrowserCDPSession();
  await devTools?.send("Browser.crash").catch(() => undefined);
  await using tab = await openTab(browser, "http://127.0.0.1");
  expect(await tab.page.evaluate("1 + 1")).toBe(2);
});

/** A server whose page needs a script from a machine that does not answer, until the network has changed; it changes it meanwhile. */
const SERVER = `let pages = 0;
const server = Bun.serve({ hostname: "${DESK}", port: 0, async fetch({ url }) {
  if (url.endsWith("/change.js")) {
    await Bun.$\`ip address add 203.0.113.99/24 dev world\`;
    return new Response("");
  }
  if (!url.endsWith("/page")) return new Response("", { status: 404 });
  const scripts = pages++ === 0 ? '<script src="http://203.0.113.98/first.js"></script><script src="/change.js"></script>' : "";
  const shown = pages === 1 ? "" : '<p class="panel">the page</p>';
  return new Response('<link rel="icon" href="data:,">' + scripts + shown, { headers: { "content-type": "text/html" } });
} });
console.log(server.url.href);`;

browserTest(...PROGRAMS)(
  "a page of which Chromium drops a part, as the network has changed, is opened anew",
  async () => {
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(temporaryFolder());
    const networks = stack.use(await startNetworks());
    const server = Bun.spawn([...networks.within("desk"), process.execPath, "-e", SERVER], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    stack.defer(async () => {
      server.kill("SIGKILL");
      await server.exited;
    });
    const { value } = await server.stdout.getReader().read();
    const url = new TextDecoder().decode(value).trim();
    const program = join(folder.path, "chromium");
    const command = [...networks.within("desk"), Bun.which("chromium") ?? ""].join(" ");
    writeFileSync(program, `#!/bin/sh\nexec ${command} "$@"\n`);
    chmodSync(program, 0o700);
    const there = await launchBrowser(program);
    stack.defer(() => there.close());
    await using tab = await openPage(there, `${url}page`, {});
    expect(await tab.page.locator(".panel").textContent()).toBe("the page");
    expect(tab.complaints).toEqual([]);
  },
);
