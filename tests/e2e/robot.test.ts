/**
 * Robot Framework drives a desktop of the compiled binary: on loopback, and at a host that a desk reaches over https, a link or NATS.
 *
 * Its own program runs the suite where it is there; Debian has none, so that CI runs it by the client of Python that Robot Framework
 * itself uses (`tests/fixtures/robot/client.py`).
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAMS, startSession } from "../host/desktop/elements/support";
import { BINARY, follow, missingOf, temporaryFolder, testWith } from "../support";
import { pairOver, WAYS } from "./screen-pair";

const SUITE = join(import.meta.dir, "..", "fixtures", "robot", "desktop.robot");
const CLIENT = join(import.meta.dir, "..", "fixtures", "robot", "client.py");
const TESTS = 30;

const hasRobot = missingOf(["robot"]).length === 0;
if (!hasRobot) console.warn("the suites run by the client of Python alone: robot not found");

type Session = Awaited<ReturnType<typeof startSession>>;

/** What the suite uses. */
function openForms(session: Session) {
  const entries = ["--add-entry", "Customer", "--add-entry", "Amount", "--add-password", "PIN"];
  const combo = ["--add-combo", "Shipping", "--combo-values", "Post|Courier"];
  const form = ["zenity", "--forms", "--title", "Order 4711", "--text", "New order", ...entries, ...combo];
  const columns = ["--checklist", "--column", "Take", "--column", "Item", "--column", "Price"];
  const rows = ["TRUE", "Paper", "10", "FALSE", "Ribbon", "20"];
  const opened = [
    session.start(...form),
    session.start("zenity", "--list", "--title", "Extras", ...columns, ...rows),
  ];
  return {
    async [Symbol.asyncDispose]() {
      for (const one of opened) one.kill("SIGKILL");
      await Promise.all(opened.map((one) => one.exited));
    },
  };
}

interface TestResult {
  readonly name: string;
  readonly error: string | null;
}

/** Runs the suite by the client of Python. */
async function runByClient(url: string, env: NodeJS.ProcessEnv = {}): Promise<TestResult[]> {
  const child = Bun.spawn(["python3", CLIENT, SUITE, url], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = (await child.stdout.text()).trim().split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Runs the suite by Robot Framework. @returns its results, and the log as it is written. */
async function runByRobot(url: string, env: NodeJS.ProcessEnv = {}, suite = SUITE) {
  using folder = temporaryFolder();
  const files = ["--output", "output.xml", "--log", "NONE", "--report", "NONE", "--outputdir", folder.path];
  const child = Bun.spawn(["robot", ...files, suite], {
    env: { ...process.env, ...env, SVC_ROBOT: url },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = await child.stdout.text();
  await child.exited;
  return { said, log: readFileSync(join(folder.path, "output.xml"), "utf8") };
}

const withToken = (url: string, token: string, path = "") =>
  `${url.replace("://", `://svc:${token}@`)}/robot${path}`;

/** `svc robot` on a folder of its own; it ends with the scope. */
async function startRobot(env: NodeJS.ProcessEnv) {
  const folder = temporaryFolder();
  const child = Bun.spawn([BINARY, "robot", "--json", "--config-dir", folder.path], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const out = follow(child.stdout);
  await out.says("\n");
  const { port, token } = JSON.parse(out.text()) as { port: number; token: string };
  return {
    configDir: folder.path,
    url: withToken(`http://127.0.0.1:${port}`, token),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
      folder[Symbol.dispose]();
    },
  };
}

/** The subjects of the rows of a folder. */
async function rowsOf(configDir: string): Promise<string[]> {
  const child = Bun.spawn([BINARY, "audit", "list", "--limit", "1000", "--json", "--config-dir", configDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { rows } = JSON.parse(await child.stdout.text()) as { rows: Array<{ detail: string }> };
  return rows.map(({ detail }) => detail);
}

/** How often the suite changes something, by the action that does it. */
const CHANGES = {
  AC_set_element_text: 4,
  AC_focus_element: 1,
  AC_click_element: 2,
  AC_hotkey: 5,
  AC_write: 1,
  AC_select_element: 1,
  AC_press_element: 1,
};

async function expectRows(configDir: string): Promise<void> {
  const rows = await rowsOf(configDir);
  const begun = rows.filter((row) => /(?:^|started )run=/.test(row));
  const counts = Object.keys(CHANGES).map((command) => [
    command,
    begun.filter(
      (row) => row.includes(`"${command}"`) || row.includes(` ${command}`) || row.includes(`=${command}`),
    ).length,
  ]);
  expect(Object.fromEntries(counts)).toEqual(CHANGES);
}

describe("a suite of 30 tests", () => {
  let session: Session;
  const needed = [...PROGRAMS, "python3"] as const;
  const canStart = missingOf(PROGRAMS).length === 0;
  beforeAll(async () => {
    if (canStart) session = await startSession();
  });
  afterAll(async () => {
    if (canStart) await session[Symbol.asyncDispose]();
  });

  const passed = (results: readonly TestResult[]) => {
    expect(results.filter(({ error }) => error !== null)).toEqual([]);
    expect(results.length).toBe(TESTS);
  };
  const passedByRobot = ({ said }: { readonly said: string }) =>
    expect(said).toContain(`${TESTS} tests, ${TESTS} passed, 0 failed`);

  testWith(...needed)(
    "passes at `svc robot`, and each action that changes something has its row",
    async () => {
      await using robot = await startRobot(session.env);
      {
        await using _forms = openForms(session);
        passed(await runByClient(robot.url));
      }
      await expectRows(robot.configDir);
      if (!hasRobot) return;
      await using _forms = openForms(session);
      passedByRobot(await runByRobot(robot.url));
    },
    120_000,
  );

  for (const way of WAYS) {
    const more = way === "nats" ? ["nats-server"] : [];
    testWith(...needed, ...more)(
      `passes at a host that a desk reaches over ${way}, and each change has its row there`,
      async () => {
        await using pair = await pairOver(way, session.env);
        const url = withToken(pair.desk.url, pair.desk.token, "/lab%20one");
        const ca = join(pair.desk.configDir, "desk.pem");
        const { pem } = (await (await pair.desk.call("/tls/certificate")).json()) as { pem: string };
        writeFileSync(ca, pem);
        const env = { SSL_CERT_FILE: ca };
        {
          await using _forms = openForms(session);
          passed(await runByClient(url, env));
        }
        await expectRows(pair.host.configDir);
        if (!hasRobot) return;
        await using _forms = openForms(session);
        passedByRobot(await runByRobot(url, env));
      },
      120_000,
    );
  }

  (hasRobot ? testWith(...needed) : test.skip)(
    "a keyword that fails leaves its reason and a picture of the screen in Robot's log",
    async () => {
      await using robot = await startRobot(session.env);
      using folder = temporaryFolder();
      const suite = join(folder.path, "fails.robot");
      const head = "*** Settings ***\nLibrary    Remote    %{SVC_ROBOT}\n*** Test Cases ***\n";
      writeFileSync(suite, `${head}Fails\n    Element Should Exist    button "Nope"\n`);
      const { said, log } = await runByRobot(robot.url, {}, suite);
      expect(said).toContain('there is no button "Nope"');
      expect(log).toMatch(/html="true"[^>]*>&lt;img src="data:image\/jpeg;base64,/);
      expect(log).not.toContain("Traceback");
    },
    60_000,
  );
});

test("`svc robot --libdoc` writes what Robot Framework's libdoc reads", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "svc.json");
  const child = Bun.spawn([BINARY, "robot", "--libdoc", file, "--config-dir", folder.path], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  expect(await child.stdout.text()).toMatch(/^\/.*svc\.json: \d+ keywords\n$/);
  const { keywords } = JSON.parse(readFileSync(file, "utf8")) as { keywords: Array<{ name: string }> };
  expect(keywords.map(({ name }) => name)).toContain("Wait Until Element Is Visible");
  if (missingOf(["libdoc"]).length > 0) return;
  const shown = Bun.spawn(["libdoc", file, "show", "Input Text"], { stdio: ["ignore", "pipe", "inherit"] });
  expect(await shown.stdout.text()).toContain("Put a text in place of what a field holds");
});

test("a port that is taken is named", async () => {
  using folder = temporaryFolder();
  using taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const child = Bun.spawn([BINARY, "robot", "--port", `${taken.port}`, "--config-dir", folder.path], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  expect(await child.stderr.text()).toContain(`port ${taken.port} is taken`);
  expect(await child.exited).toBe(1);
});
