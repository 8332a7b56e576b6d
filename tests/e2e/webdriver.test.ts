/** WebDriver by clients that know nothing of svc: Debian's python3-selenium, and selenium-webdriver and webdriverio of npm. */
import { describe, expect, setDefaultTimeout } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startSession } from "../host/desktop/elements/support";
import { runToEnd, type ServerProcess, serveBinary, temporaryFolder, testWith } from "../support";
import { pairOver } from "./screen-pair";

setDefaultTimeout(300_000);

const FORM = [
  ...["zenity", "--forms", "--title=Order 12", "--text=Order", "--separator=|"],
  ...["--add-entry=Customer", "--add-entry=City", "--add-password=Pin"],
];
const SUITES = join(import.meta.dir, "webdriver");
const PROGRAMS = [
  ...["Xvfb", "openbox", "dbus-daemon", "zenity", "node", "/usr/lib/python3/dist-packages/selenium"],
  // `npm ci` in that folder installs it.
  join(SUITES, "node_modules", "webdriverio"),
];

type Client = (url: string, ca: string, capabilities: object) => string[];
const CLIENTS: Readonly<Record<string, Client>> = {
  "python3-selenium": (url, ca, capabilities) => [
    ...["/usr/bin/python3", join(SUITES, "suite.py"), url, ca, JSON.stringify(capabilities)],
  ],
  "selenium-webdriver": (url, _ca, capabilities) => [
    ...["node", join(SUITES, "suite-selenium.js"), url, JSON.stringify(capabilities)],
  ],
  webdriverio: (url, _ca, capabilities) => [
    ...["node", join(SUITES, "suite-wdio.js"), url, JSON.stringify(capabilities)],
  ],
};

/** What a suite printed, where each line is to begin with `ok`. */
async function run(client: Client, { url, token, configDir }: ServerProcess, capabilities: object) {
  using folder = temporaryFolder();
  const ca = url.startsWith("https") ? join(folder.path, "ca.pem") : "";
  if (ca) writeFileSync(ca, await Bun.file(join(configDir, "tls", "cert.pem")).text());
  const address = `${url.replace("://", `://svc:${token}@`)}/webdriver`;
  const { stdout, stderr, exitCode } = await runToEnd(client(address, ca, capabilities), {
    env: { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: "0" },
  });
  const lines = stdout.split("\n").filter((line) => /^(?:not )?ok /.test(line));
  expect({
    failed: lines.filter((line) => !line.startsWith("ok ")),
    stderr: exitCode === 0 ? "" : stderr,
  }).toEqual({
    failed: [],
    stderr: "",
  });
  return lines.length;
}

describe.each(Object.entries(CLIENTS))("%s:", (_name, client) => {
  testWith(...PROGRAMS)(
    "more than 30 checks on loopback, with a program that the session starts",
    async () => {
      await using at = await startSession();
      await using server = await serveBinary(["--allow-shell"], { env: { ...process.env, ...at.env } });
      const count = await run(client, server, { platformName: "linux", "svc:app": FORM });
      expect(count).toBeGreaterThan(30);
    },
  );

  for (const way of ["link", "nats"] as const)
    testWith(...PROGRAMS, ...(way === "nats" ? ["nats-server"] : []))(
      `the same at a desk, for a host over ${way}`,
      async () => {
        await using at = await startSession();
        await using pair = await pairOver(way, { ...process.env, ...at.env });
        const form = at.start(...FORM);
        const count = await run(client, pair.desk, { platformName: "linux", "svc:host": "lab one" });
        expect([count > 30, await form.stdout.text()]).toEqual([true, "ACME|Ulm|hunter2\n"]);
      },
    );
});
