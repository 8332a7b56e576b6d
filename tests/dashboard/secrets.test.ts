/** The page of secrets in Chromium. */
import { expect } from "bun:test";
import { browserTest, openPage, useBrowser, violationsOn } from "../browser";
import { post, serveSource, TOKEN } from "../support";

const test = browserTest();
const browser = useBrowser();

const VALUE = "pa55-of-the-crm";

test("a secret is set, given another value and removed, and its value is nowhere on the page", async () => {
  await using host = await serveSource();
  await using tab = await openPage(browser, `${host.url}/dashboard#secrets`, { token: TOKEN });
  const { page } = tab;
  const names = async () => {
    const { secrets } = (await (await host.call("/secrets")).json()) as { secrets: Array<{ name: string }> };
    return secrets.map(({ name }) => name);
  };
  await page.getByText("No secrets").waitFor();
  await page.getByRole("button", { name: "Set…" }).click();
  const dialog = page.getByRole("dialog", { name: "Set a secret" });
  await dialog.getByLabel("Name").fill("crm_password");
  await dialog.getByLabel("Value").fill(VALUE);
  expect(await dialog.getByLabel("Value").getAttribute("type")).toBe("password");
  await dialog.getByRole("button", { name: "Set" }).click();
  await page.getByRole("row", { name: /crm_password.*by owner.*never.*the owner of the host/ }).waitFor();
  expect(await names()).toEqual(["crm_password"]);

  await host.call(
    "/execute",
    post({ actions: [["AC_set_var", { name: "a", value: "${secret:crm_password}" }]] }),
  );
  const today = new Date().toISOString().slice(0, 10);
  await page.getByRole("row", { name: new RegExp(`crm_password.*${today}`) }).waitFor();

  await page.getByRole("button", { name: "New value… crm_password" }).click();
  const again = page.getByRole("dialog", { name: "A new value of crm_password" });
  expect(await again.getByLabel("Value").inputValue()).toBe("");
  expect(await violationsOn(page)).toEqual([]);
  await again.getByLabel("Value").fill("abc");
  await again.getByRole("button", { name: "Set" }).click();
  // The browser itself says that it is too short.
  expect(await again.isVisible()).toBe(true);
  await again.getByRole("button", { name: "Cancel" }).click();

  await page.getByRole("button", { name: "Remove… crm_password" }).click();
  await page
    .getByRole("dialog", { name: "Remove crm_password?" })
    .getByRole("button", { name: "Remove" })
    .click();
  await page.getByText("No secrets").waitFor();
  expect(await names()).toEqual([]);
  expect(await page.content()).not.toContain(VALUE);
  expect(tab.complaints).toEqual([]);
});

test("a token without admin sees those that it may use, and no button", async () => {
  await using host = await serveSource();
  for (const name of ["crm_password", "erp"]) await host.call("/secrets/set", post({ name, value: VALUE }));
  const added = Bun.spawn(
    [
      process.execPath,
      "src/main.ts",
      "token",
      "add",
      "crm",
      "--scope",
      "read,secret:crm_*",
      "--config-dir",
      host.configDir,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const token = (await added.stdout.text()).trim();
  await using tab = await openPage(browser, `${host.url}/dashboard#secrets`, { token });
  const { page } = tab;
  await page.getByRole("row", { name: /crm_password/ }).waitFor();
  expect(await page.getByText("erp").count()).toBe(0);
  expect(await page.getByRole("button", { name: /Set…|New value…|Remove…/ }).count()).toBe(0);
  expect(await page.getByRole("columnheader").allTextContents()).toEqual(["Name", "Set", "Last used"]);
  expect(tab.complaints).toEqual([]);
});
