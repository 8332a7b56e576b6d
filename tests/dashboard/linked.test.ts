/** Hosts behind links on the pages of the dashboard, in Chromium. */
import { expect } from "bun:test";
import { browserTest, openPage, useBrowser } from "../browser";
import { joinString, joinWith, tlsServer } from "../desk/join/support";
import { ID, linkedDesk } from "../desk/link/fake-hub";
import { TOKEN, until } from "../support";

const test = browserTest();
const browser = useBrowser();

test("a host behind a link is polled, has no token to rotate, and keeps its link when it is edited", async () => {
  await using made = await linkedDesk();
  await using tab = await openPage(browser, `${made.desk.server.url}/dashboard#hosts`, {
    token: TOKEN,
  });
  const { page } = tab;
  const lab = page.getByRole("row", { name: /Select lab/ });
  await lab.getByText("healthy", { exact: true }).waitFor();
  await page
    .getByRole("row", { name: /Select gone/ })
    .getByText("not linked", { exact: true })
    .waitFor();
  await page.getByRole("button", { name: "More about lab" }).click();
  expect(await page.getByRole("button", { name: /^Rotate…/ }).count()).toBe(0);
  await page.getByRole("button", { name: "Edit… lab" }).click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.textContent()).toContain("A link needs none.");
  await dialog.getByLabel("Tags").fill("floor, second");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "hidden" });
  const book = await made.desk.service.addressBook();
  await until("the tags", () => book.host("lab").tags.includes("second"));
  expect(book.host("lab")).toMatchObject({ base_url: `link:${ID}`, member: { host_id: ID } });
});

test("the page of a host says since when a host is linked, and that two have one identity", async () => {
  await using made = await linkedDesk();
  const ago = (s: number) => new Date(Date.now() - s * 1_000).toISOString();
  const common = { address: "192.0.2.9", version: "0.1.0", last_seen: ago(7_300) };
  const twin = { at: ago(7_300), address: "192.0.2.7" };
  const links = [
    { ...common, host_id: ID, label: "lab", linked: true, since: ago(7_300), rtt_ms: 12, twin },
    { ...common, host_id: "x", label: "gone", linked: false, since: ago(7_300), rtt_ms: null, twin: null },
  ];
  await using tab = await openPage(browser, `${made.desk.server.url}/dashboard#hosts`, {
    token: TOKEN,
    async prepare(page) {
      await page.route("**/links", (route) => route.fulfill({ json: { links } }));
    },
  });
  const { page } = tab;
  await page.getByRole("link", { name: "lab", exact: true }).click();
  await page.getByText("linked 2 h ago from 192.0.2.9, 12 ms").waitFor();
  await page.getByText("two hosts with this identity").waitFor();
  await page.getByText("another one at 192.0.2.7, 2 h ago").waitFor();
  await page.getByText("its identity key").waitFor();
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByText(`link:${ID}`).waitFor();
  await page.getByRole("link", { name: "All hosts" }).click();
  await page.getByRole("link", { name: "gone", exact: true }).click();
  await page.getByText("not linked, last seen 2 h ago").waitFor();
  expect(tab.complaints).toEqual([]);
});

test("the page of a host says what the desk may do there, and the host that will refuse a plan or a broadcast is named before it runs", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer({ service: { allow_shell: true } });
  const { join_string } = await joinString(desk, { uses: 2 });
  await joinWith(host, join_string, { label: "lab" });
  const url = `${desk.server.url}/dashboard#hosts`;
  await using tab = await openPage(browser, `${url}/lab/settings`, { token: TOKEN, ignoreHTTPSErrors: true });
  const { page } = tab;
  const rights = page.locator('dt:text-is("This desk may use there") + dd');
  await rights.getByText("all but admin", { exact: true }).waitFor();

  await page.goto(url);
  await page.getByLabel("Select lab").check();
  await page.getByLabel("Actions for the hosts").fill('[["AC_shell_command", ["uname -a"]]]');
  await page.getByRole("button", { name: "Plan…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Next" }).click();
  await dialog.getByText("lab will refuse it").waitFor();
  await dialog
    .getByText("AC_shell_command needs admin: `svc desk set --allow admin` there allows it")
    .waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("heading", { level: 1, name: "Plans" }).waitFor();
  await page.goto(url);
  await page.getByLabel("Select lab").check();
  await page.getByRole("button", { name: "Broadcast to 1 host…" }).click();
  await dialog.getByText("lab will refuse it").waitFor();
  await dialog.getByText("AC_shell_command needs admin: `svc desk set --allow` on the host").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();

  await joinWith(host, (await joinString(desk)).join_string, { label: "lab", allow: ["admin"] });
  await page.goto(`${desk.server.url}/dashboard#plans`);
  await page.goto(`${url}/lab/settings`);
  await rights.getByText("everything", { exact: true }).waitFor();
  expect(tab.complaints).toEqual([]);
});
