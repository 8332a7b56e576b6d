/** `svc dashboard` by the compiled binary. */
import { expect } from "bun:test";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browserTest, openTab, useBrowser } from "../browser";
import { installBinary, serveBinary } from "../support";

const browser = useBrowser();

browserTest()(
  "svc dashboard opens it signed in, with no secret on a command line or in an address",
  async () => {
    await using host = await serveBinary();
    using here = installBinary();
    const heard = join(here.path, "heard");
    writeFileSync(join(here.path, "xdg-open"), `#!/bin/sh\necho "$@" >${heard}\n`);
    chmodSync(join(here.path, "xdg-open"), 0o755);
    const env = { PATH: `${here.path}:${process.env.PATH}`, DISPLAY: ":9" };
    const said = await here.run(["dashboard", "--config-dir", host.configDir], { env });
    expect([said.exitCode, said.stdout.trim()]).toEqual([0, `${host.url}/dashboard`]);
    const address = readFileSync(heard, "utf8").trim();
    expect(address).toBe(`file://${host.configDir}/run/sign-in.html`);
    expect(statSync(new URL(address)).mode & 0o777).toBe(0o600);
    await using tab = await openTab(browser, host.url);
    await tab.page.goto(address);
    await tab.page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(tab.page.url()).toBe(`${host.url}/dashboard`);
  },
);

browserTest()("svc dashboard without a server says so", async () => {
  using here = installBinary();
  const said = await here.run(["dashboard", "--config-dir", join(here.path, "config")]);
  expect([said.exitCode, said.stderr]).toEqual([1, expect.stringContaining("no server runs on")]);
});
