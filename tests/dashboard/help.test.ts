/** The page Help of the dashboard in Chromium: the pages that the server carries, and the search in them. */
import { expect } from "bun:test";
import { browserTest, openPage, settled, useBrowser, useHost } from "../browser";
import { TOKEN } from "../support";

const test = browserTest();
const browser = useBrowser();
const host = useHost();

const open = (name: string) => openPage(browser, `${host.url}/dashboard#${name}`, { token: TOKEN });

test("a search leads to the entry of an error, and a link from there to another page", async () => {
  await using tab = await open("help");
  const { page } = tab;
  await page.getByRole("link", { name: "A first fleet in ten minutes" }).waitFor();
  await page.getByLabel("Words in all pages").fill("port taken");
  await page.getByRole("link", { name: "The port is taken" }).click();
  await page.getByRole("heading", { name: "The port is taken" }).waitFor();
  await page.getByText("Another program listens on that port.").waitFor();
  await page.goto(`${host.url}/dashboard#help:T76`);
  await page.getByRole("heading", { level: 2 }).nth(1).waitFor();
  await page.goto(`${host.url}/dashboard#help:README`);
  await page.getByRole("link", { name: "Running svc as a daemon" }).click();
  await page.getByRole("heading", { name: "Running svc as a daemon" }).waitFor();
  await settled(page);
  expect(tab.complaints).toEqual([]);
});

test("a link with an anchor shows that heading", async () => {
  await using tab = await open("help:README/the-command-line");
  const heading = tab.page.getByRole("heading", { name: "The command line" });
  await heading.waitFor();
  await tab.page.waitForFunction(`(() => {
    const place = document.getElementById("help-the-command-line")?.getBoundingClientRect();
    return place !== undefined && place.top >= 0 && place.bottom <= innerHeight;
  })()`);
  expect(tab.complaints).toEqual([]);
});

test("an address with a bare percent sign is that of no page, which the server says", async () => {
  await using tab = await open("help:100%/of");
  await tab.page.getByText('there is no page, entry or command "100%"').waitFor();
});
