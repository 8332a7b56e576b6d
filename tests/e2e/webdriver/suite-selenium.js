/** The suite by selenium-webdriver: arguments are the address and the capabilities as JSON. */
import { Builder, By, error as errors, Key } from "selenium-webdriver";
import { checks } from "./checks.js";

const [url = "", capabilities = "{}"] = process.argv.slice(2);
const { check, fails, until } = checks();
const driver = await new Builder()
  .usingServer(url)
  .withCapabilities({ browserName: "svc", ...JSON.parse(capabilities) })
  .build();

const by = (how, what) => driver.findElement(new By(how, what));
const named = (name) => by("css selector", `[name="${name}"]`);
const line = (text) => by("-svc locator", text);
const count = async (how, what) => (await driver.findElements(new By(how, what))).length;
const typed = async (element, ...keys) => {
  await element.clear();
  await element.sendKeys(...keys);
  return element.getText();
};

await check(
  "names its platform",
  async () => (await driver.getCapabilities()).get("platformName") === "linux",
);
await check("finds a window by its title", () =>
  until(async () => {
    for (const handle of await driver.getAllWindowHandles()) {
      await driver.switchTo().window(handle);
      if ((await driver.getTitle()) === "Order 12") return true;
    }
    return false;
  }),
);
await check("lists windows", async () => (await driver.getAllWindowHandles()).length > 0);
await check("knows its window", async () =>
  (await driver.getAllWindowHandles()).includes(await driver.getWindowHandle()),
);
await check("finds a field by its label", async () => (await named("Customer").getTagName()) === "textbox");
await check(
  "finds by CSS",
  async () => (await by("css selector", 'dialog button[name^="O"]').getAccessibleName()) === "OK",
);
await check("finds by XPath", async () => (await count("xpath", "//button")) === 2);
await check("finds by XPath with a condition", () => by("xpath", "//dialog//button[@name='OK']").isEnabled());
await check("finds by the tag name", async () => (await count("tag name", "button")) === 2);
await check(
  "finds by a locator of svc",
  async () => (await line('button contains "Canc"').getAccessibleName()) === "Cancel",
);
await check("finds in an element", async () => {
  const found = await by("xpath", "//dialog").findElements(By.xpath(".//button"));
  return found.length === 2;
});
await check("says that there is no such element", () => fails(errors.NoSuchElementError, () => named("No")));
await check("says what is no selector", () => fails(errors.InvalidSelectorError, () => by("xpath", "//[")));
await check("finds several or none", async () => (await count("css selector", '[name="No"]')) === 0);
await check("types", async () => (await typed(await named("Customer"), "ACME Größe")) === "ACME Größe");
await check("presses keys", async () => {
  const text = await typed(await named("Customer"), Key.SHIFT, "ab", Key.NULL, "cd", Key.BACK_SPACE);
  return text === "ABc";
});
await check("types at the end", async () => {
  const field = await named("Customer");
  await typed(field, "AC");
  await field.sendKeys("ME");
  return (await field.getText()) === "ACME";
});
await check("empties a field", async () => {
  await named("City").clear();
  return (await named("City").getText()) === "";
});
await check("reads attributes", async () => (await named("Customer").getAttribute("value")) === "ACME");
await check(
  "reads states",
  async () => (await named("Customer").isDisplayed()) && !(await named("OK").isSelected()),
);
await check("knows the role", async () => (await named("OK").getAriaRole()) === "button");
await check("knows places", async () => (await named("OK").getRect()).width > 10);
await check("keeps passwords secret", async () => {
  const text = await typed(await line('textbox "Pin"'), "hunter2");
  return text === "" && !(await driver.getPageSource()).includes("hunter2");
});
await check("has the tree as XML", async () => (await driver.getPageSource()).startsWith("<desktop>"));
await check("has pictures of the screen", async () => (await driver.takeScreenshot()).startsWith("iVBOR"));
await check("has pictures of elements", async () => (await named("OK").takeScreenshot()).startsWith("iVBOR"));
await check("moves the window", async () => {
  await driver.manage().window().setRect({ x: 40, y: 60, width: 520, height: 420 });
  const { x, y } = await driver.manage().window().getRect();
  return x === 40 && y === 60;
});
await check("acts with pointer and keys", async () => {
  const city = await line('textbox "City"');
  await city.clear();
  await driver.actions().move({ origin: city }).click().sendKeys("Ulm").perform();
  return until(async () => (await city.getText()) === "Ulm");
});
await check(
  "knows what has the focus",
  async () => (await (await driver.switchTo().activeElement()).getAccessibleName()) === "City",
);
await check(
  "runs actions of svc",
  async () => (await driver.executeScript("svc: run", [["AC_screen_size"]])).ok === true,
);
await check("goes to no address", () =>
  fails(errors.UnsupportedOperationError, () => driver.get("http://127.0.0.1/")),
);
await check("presses a button, and knows when it is gone", async () => {
  const stale = await named("Cancel");
  await by("css selector", 'button[name="OK"]').click();
  return until(() => fails(errors.StaleElementReferenceError, () => stale.isEnabled()));
});
await driver.quit();
await check("ends", () => fails(Error, () => driver.getTitle()));
