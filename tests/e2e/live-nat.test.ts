/**
 * The screen of a host behind NAT in the browser, where no data channel between the two comes up: Chromium is behind a router, the host
 * behind another, and there is no STUN server.
 */
import { expect } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { browserTest, launchBrowser, openPage, useBrowser } from "../browser";
import { PROGRAMS as DESKTOP, openTerminal, SIZE, startDisplay } from "../host/desktop/support";
import { installBinary, runToEnd, until } from "../support";
import { DESK, PROGRAMS, startNetworks } from "./behind-nat";

const TOKEN = "a-token-of-the-test-that-is-long-enough";

/** A desk, a host with a display behind one router, and Chromium behind another. */
async function setUp() {
  await using stack = new AsyncDisposableStack();
  const machine = stack.use(installBinary());
  const networks = stack.use(await startNetworks("north", "home"));
  const display = stack.use(await startDisplay());
  const terminal = stack.use(openTerminal(display.env, "target"));
  const env = { PATH: process.env.PATH, HOME: machine.path, SVC_TOKEN: TOKEN };
  const serve = async (space: string, flags: readonly string[], more: NodeJS.ProcessEnv = {}) => {
    mkdirSync(join(machine.path, space), { mode: 0o700 });
    const command = ["./svc", "serve", "--json", "--config-dir", space, "--rate-limit", "0", ...flags];
    const child = Bun.spawn([...networks.within(space), ...command], {
      cwd: machine.path,
      env: { ...env, ...more },
      stdio: ["ignore", "pipe", Bun.file(join(machine.path, `${space}.log`))],
    });
    stack.defer(async () => {
      child.kill("SIGKILL");
      await child.exited;
    });
    const { value } = await child.stdout.getReader().read();
    return JSON.parse(Buffer.from(value ?? []).toString()) as { url: string };
  };
  const svc = async (space: string, args: readonly string[], stdin = "") => {
    const { stdout, stderr, exitCode } = await runToEnd(
      [...networks.within(space), "./svc", ...args, "--config-dir", space],
      { cwd: machine.path, env, stdin },
    );
    expect({ args, exitCode, stderr, stdout }).toMatchObject({ exitCode: 0 });
    return stdout;
  };
  const { url } = await serve("desk", ["--hub", "--host", DESK, "--port", "9939"]);
  await serve("north", ["--port", "0"], { DISPLAY: display.env.DISPLAY });
  await svc("north", ["join", "--label", "north-0"], await svc("desk", ["join-token"]));
  const healthy = async () => {
    const polled = await Bun.$`${networks.within("desk")} ./svc admin poll --json --config-dir desk`
      .cwd(machine.path)
      .nothrow()
      .quiet()
      .json();
    return (polled as Array<{ healthy: boolean }>)[0]?.healthy;
  };
  await until("the host", healthy, { seconds: 30 });
  const program = join(machine.path, "chromium");
  writeFileSync(program, `#!/bin/sh\nexec ${networks.within("home").join(" ")} chromium "$@"\n`);
  chmodSync(program, 0o700);
  const rest = stack.move();
  return { url, program, terminal, networks, svc, [Symbol.asyncDispose]: () => rest.disposeAsync() };
}

/** 3 s, and as many times as long as this machine has more to do than it has processors. */
const withinMs = () => 3_000 * Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());

let program = "";
const browser = useBrowser(() => launchBrowser(program));

browserTest(...PROGRAMS, ...DESKTOP)(
  "a picture is on the page within 3 s of the choice, over the desk, and the page says so; what is typed arrives, and End ends it",
  async () => {
    await using made = await setUp();
    ({ program } = made);
    const options = { token: TOKEN, ignoreHTTPSErrors: true };
    await using tab = await openPage(browser, `${made.url}/dashboard#hosts`, options);
    const { page } = tab;
    await page.getByRole("button", { name: "More about north-0" }).click();
    const link = page.getByRole("link", { name: "Live screen" }).last();
    await link.waitFor();
    const chosen = performance.now();
    await link.click();
    await page.getByText("view only").waitFor();
    expect(performance.now() - chosen).toBeLessThan(withinMs());
    await page.getByText("The pictures come over this desk, as no data channel").waitFor();

    await page.getByRole("button", { name: "Take control" }).click();
    await page.getByText("you control").waitFor();
    const box = await page.locator(".live-stage canvas").boundingBox();
    const scale = (box?.width ?? 0) / SIZE.width;
    await page.mouse.click((box?.x ?? 0) + 150 * scale, (box?.y ?? 0) + 120 * scale);
    await page.keyboard.type("over the desk");
    await page.keyboard.press("Enter");
    expect(await made.terminal.typed(1)).toBe("over the desk\n");

    const { viewers } = JSON.parse(await made.svc("north", ["screen", "state", "--json"])) as {
      viewers: Array<{ id: string; control: boolean }>;
    };
    const id = viewers.find(({ control }) => control)?.id ?? "";
    await made.svc("north", ["sessions", "close", id]);
    await page
      .getByText("the host ended this view")
      .waitFor()
      .catch(async () => {
        throw new Error(`the page says something else: ${await page.locator("body").textContent()}`);
      });
    await page.getByRole("button", { name: "Look again" }).click();
    await page.getByText("view only").waitFor();
    expect(tab.complaints).toEqual([]);
  },
);
