/** The suite by webdriverio: arguments are the address (with user and password) and the capabilities as JSON. */
import { Key, remote } from "webdriverio";
import { checks } from "./checks.js";

const [address = "", given = "{}"] = process.argv.slice(2);
const { check, fails, until } = checks();
const url = new URL(address);
const browser = await remote({
  protocol: url.protocol.slice(0, -1),
  hostname: url.hostname,
  port: Number(url.port),
  path: url.pathname,
  headers: { authorization: `Basic ${btoa(`${url.username}:${url.password}`)}` },
  logLevel: "silent",
  connectionRetryCount: 0,
  waitforTimeout: 500,
  strictSSL: false,
  capabilities: JSON.parse(given),
});

const named = (name) => browser.$(`[name="${name}"]`);
const line = async (text) => browser.$(await browser.findElement("-svc locator", text));
const typed = async (element, ...keys) => {
  await element.clearValue();
  await element.addValue(keys.join(""));
  return element.getText();
};

await check("names its platform", () => browser.capabilities.platformName === "linux");
await check("finds a window by its title", () =>
  until(async () => {
    for (const handle of await browser.getWindowHandles()) {
      await browser.switchToWindow(handle);
      if ((await browser.getTitle()) === "Order 12") return true;
    }
    return false;
  }),
);
await check("lists windows", async () => (await browser.getWindowHandles()).length > 0);
await check("knows its window", async () =>
  (await browser.getWindowHandles()).includes(await browser.getWindowHandle()),
);
await check("finds a field by its label", async () => (await named("Customer").getTagName()) === "textbox");
await check(
  "finds by CSS",
  async () => (await browser.$('dialog button[name^="O"]').getComputedLabel()) === "OK",
);
await check("finds by XPath", async () => (await browser.$$("//button").length) === 2);
await check("finds by XPath with a condition", () => browser.$("//dialog//button[@name='OK']").isEnabled());
await check("finds by the tag name", async () => (await browser.$$("<button />").length) === 2);
await check(
  "finds by the accessible name",
  async () => (await browser.$("~Cancel").getTagName()) === "button",
);
await check(
  "finds by a locator of svc",
  async () => (await (await line('button contains "Canc"')).getComputedLabel()) === "Cancel",
);
await check("finds in an element", async () => (await browser.$("//dialog").$$(".//button").length) === 2);
await check("says that there is no such element", async () => !(await named("No").isExisting()));
await check("says what is no selector", () =>
  fails(/invalid selector|xpath/, () => browser.findElement("xpath", "//[")),
);
await check("finds several or none", async () => (await browser.$$('[name="No"]').length) === 0);
await check("types", async () => (await typed(named("Customer"), "ACME Größe")) === "ACME Größe");
await check("presses keys", async () => {
  const text = await typed(named("Customer"), Key.Shift, "ab", "\ue000", "cd", Key.Backspace);
  return text === "ABc";
});
await check("types at the end", async () => {
  await typed(named("Customer"), "AC");
  await named("Customer").addValue("ME");
  return (await named("Customer").getText()) === "ACME";
});
await check("empties a field", async () => {
  await named("City").clearValue();
  return (await named("City").getText()) === "";
});
await check("reads attributes", async () => (await named("Customer").getAttribute("value")) === "ACME");
await check(
  "reads states",
  async () =>
    (await browser.isElementSelected(await named("OK").elementId)) === false &&
    (await named("OK").isEnabled()),
);
await check("knows what is on the screen", () => named("Customer").isDisplayed());
await check("knows the role", async () => (await named("OK").getComputedRole()) === "button");
await check("knows places", async () => (await named("OK").getSize()).width > 10);
await check("keeps passwords secret", async () => {
  const text = await typed(await line('textbox "Pin"'), "hunter2");
  return text === "" && !(await browser.getPageSource()).includes("hunter2");
});
await check("has the tree as XML", async () => (await browser.getPageSource()).startsWith("<desktop>"));
await check("has pictures of the screen", async () => (await browser.takeScreenshot()).startsWith("iVBOR"));
await check("moves the window", async () => {
  await browser.setWindowRect(40, 60, 520, 420);
  const { x, y } = await browser.getWindowRect();
  return x === 40 && y === 60;
});
await check("acts with pointer and keys", async () => {
  const city = await line('textbox "City"');
  await city.clearValue();
  await browser.action("pointer").move({ origin: city }).down().up().perform();
  await browser.action("key").down("U").up("U").down("l").up("l").down("m").up("m").perform();
  return until(async () => (await city.getText()) === "Ulm");
});
// It presses all keys of a text before it lets go of the first.
await check("types a capital among keys that are down together", async () => {
  const city = await named("City");
  await city.clearValue();
  await city.click();
  await browser.keys("Ulm");
  return until(async () => (await city.getText()) === "Ulm");
});
await check(
  "runs actions of svc",
  async () => (await browser.executeScript("svc: run", [[["AC_screen_size"]]])).ok === true,
);
await check("goes to no address", () =>
  fails(/unsupported operation|address/, () => browser.navigateTo("http://127.0.0.1/")),
);
await check("presses a button, and knows when it is gone", async () => {
  const stale = await browser.findElement("css selector", '[name="Cancel"]');
  const id = stale["element-6066-11e4-a52e-4f735466cecf"];
  await browser.$('button[name="OK"]').click();
  return until(() => fails(/stale|gone/i, () => browser.isElementEnabled(id)));
});
await browser.deleteSession();
