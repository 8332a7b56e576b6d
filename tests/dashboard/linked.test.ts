/** Hosts behind links on the admin page of the dashboard, in Chromium. */
import { expect } from "bun:test";
import { browserTest, openPage, useBrowser } from "../browser";
import { ID, linkedDesk } from "../link/fake-hub";
import { TOKEN, until } from "../support";

const test = browserTest();
const browser = useBrowser();

test("a host behind a link is polled, has no token to rotate, and keeps its link when it is edited", async () => {
  await using made = await linkedDesk();
  await using tab = await openPage(browser, `${made.desk.server.url}/dashboard#admin`, {
    token: TOKEN,
  });
  const { page } = tab;
  const lab = page.getByRole("row", { name: /Select lab/ });
  await lab.getByText("healthy", { exact: true }).waitFor();
  expect(await lab.textContent()).toContain(`link:${ID}`);
  expect(await lab.textContent()).toContain("its identity key");
  await page
    .getByRole("row", { name: /Select gone/ })
    .getByText("not linked (last seen never)")
    .waitFor();
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
