/** The desktop through the compiled binary in an empty folder: over HTTP, as commands, and as `svc screenshot`. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "fast-png";
import { openListener, openTerminal, PROGRAMS, SIZE, startDisplay } from "../host/desktop/support";
import { installBinary, post, serveBinary, temporaryFolder, testWith, until } from "../support";

setDefaultTimeout(180_000);
const testOnDisplay = testWith(...PROGRAMS);
const { DISPLAY: _none, WAYLAND_DISPLAY: _neither, ...bare } = process.env;

type Server = Awaited<ReturnType<typeof serveBinary>>;

async function get(server: Server, path: string): Promise<unknown> {
  const response = await server.call(path);
  expect(response.status).toBe(200);
  return response.json();
}

/** What the actions returned, in order; the error of one that failed. */
async function execute(server: Server, ...actions: readonly unknown[]): Promise<unknown[]> {
  const response = await server.call("/execute", post({ actions }));
  const body = (await response.json()) as {
    outcomes: Array<{ ok: boolean; result?: unknown; error?: string }>;
  };
  return body.outcomes.map(({ ok, result, error }) => (ok ? result : error));
}

testOnDisplay(
  "the paths answer with objects, the commands with the plain values that scripts expect",
  async () => {
    await using display = await startDisplay();
    await using server = await serveBinary([], { env: display.env });
    expect(await get(server, "/screen_size")).toEqual(SIZE);
    expect(await get(server, "/windows")).toEqual({ windows: [] });
    expect(await execute(server, ["AC_screen_size"], ["AC_set_mouse_position", { x: 100, y: 120 }])).toEqual([
      [1280, 800],
      [100, 120],
    ]);
    expect(await get(server, "/mouse_position")).toEqual({ x: 100, y: 120 });

    await using _terminal = openTerminal(display.env, "a window");
    const [hwnd, listed] = await execute(server, ["AC_wait_window", ["a window"]], ["AC_list_windows"]);
    expect(listed).toEqual([[hwnd, "a window"]]);
    expect(await get(server, "/windows")).toMatchObject({
      windows: [{ hwnd, title: "a window", process: "xterm", state: "normal", focused: true }],
    });
  },
);

testOnDisplay("a script types its text into a window", async () => {
  await using display = await startDisplay();
  await using server = await serveBinary([], { env: display.env });
  await using terminal = openTerminal(display.env, "editor");
  const results = await execute(
    server,
    ["AC_wait_window", { title_substring: "editor", timeout: 10, poll: 0.05 }],
    ["AC_focus_window", { title_substring: "EDITOR" }],
    ["AC_write", { write_string: "Grüße, 世界 🌍\n" }],
    ["AC_type_keyboard", { keycode: "a", is_shift: true }],
    ["AC_press_keyboard_key", { keycode: "b" }],
    ["AC_release_keyboard_key", { keycode: "b" }],
    ["AC_hotkey", { key_code_list: ["shift", "c"] }],
    ["AC_type_keyboard", { keycode: "enter" }],
    ["AC_click_mouse", { mouse_keycode: "mouse_left", x: 10, y: 700 }],
    ["AC_mouse_scroll", { scroll_value: 1, x: 20 }],
  );
  expect(results).toEqual([
    expect.any(Number),
    results[0],
    null,
    null,
    null,
    null,
    null,
    null,
    [10, 700],
    [20, 700],
  ]);
  expect(await terminal.typed(2)).toBe("Grüße, 世界 🌍\nAbC\n");
  // What is written is secret: it is kept nowhere.
  for (const name of readdirSync(server.configDir, { recursive: true, encoding: "utf8" })) {
    const path = `${server.configDir}/${name}`;
    // A journal comes and goes with each write.
    if (name.endsWith("-journal")) continue;
    if (statSync(path).isFile()) expect([name, readFileSync(path).includes("世界")]).toEqual([name, false]);
  }
  expect(JSON.stringify(await get(server, "/runs"))).not.toContain("世界");
});

testOnDisplay("the command line types a text, also from stdin, and presses keys joined by +", async () => {
  await using display = await startDisplay();
  using machine = installBinary();
  await using terminal = openTerminal(display.env, "editor");
  const svc = (...words: readonly string[]) => machine.run(["desktop", ...words], { env: display.env });
  await svc("wait-window", "editor");
  await svc("focus-window", "editor");
  expect(await svc("write", "Grüße")).toEqual({ stdout: "typed\n", stderr: "", exitCode: 0 });
  expect((await svc("hotkey", "shift++")).stdout).toBe("pressed\n");
  const piped = Bun.spawn(["./svc", "desktop", "write", "-"], {
    cwd: machine.path,
    env: { ...process.env, ...display.env },
    stdin: new Blob(["a\nb\n"]),
  });
  expect(await piped.exited).toBe(0);
  await svc("hotkey", "enter");
  expect(await terminal.typed(2)).toBe("Grüße+a\nb\n");
  expect(await svc("hotkey", "ctrl+nope")).toMatchObject({ exitCode: 2 });
});

testOnDisplay("a screenshot is the same inline, in a file and by svc screenshot", async () => {
  await using display = await startDisplay({ managed: false });
  using machine = installBinary();
  await using server = await serveBinary([], { env: display.env, binary: `${machine.path}/svc` });
  const inline = await screenshotOf(server, "/screenshot");
  expect(inline).toMatchObject({ ...SIZE, channels: 3 });
  expect(await screenshotOf(server, "/screenshot?monitor=0")).toEqual(inline);

  const file_path = `${machine.path}/desk.png`;
  expect(await execute(server, ["AC_screenshot", { file_path }])).toEqual([
    { format: "png", ...SIZE, file_path },
  ]);
  expect(decode(readFileSync(file_path))).toEqual(inline);

  const printed = await machine.run(["screenshot"], { env: display.env });
  expect(printed).toEqual({ stdout: "screenshot.png  1280 x 800\n", stderr: "", exitCode: 0 });
  expect(decode(readFileSync(`${machine.path}/screenshot.png`))).toEqual(inline);
  const shown = Bun.spawn(["./svc", "screenshot", "--output", "-"], { cwd: machine.path, env: display.env });
  expect(decode(await shown.stdout.bytes())).toEqual(inline);
  const json = await machine.run(["screenshot", "--json"], { env: display.env });
  expect(JSON.parse(json.stdout)).toEqual(await get(server, "/screenshot"));
});

testOnDisplay("a region is given by its corners, in a query string too", async () => {
  await using display = await startDisplay({ managed: false });
  using machine = installBinary();
  await using server = await serveBinary([], { env: display.env });
  const size = { width: 30, height: 20 };
  expect(await screenshotOf(server, "/screenshot?screen_region=10,5,40,25")).toMatchObject(size);
  const repeated = [10, 5, 40, 25].map((corner) => `screen_region=${corner}`).join("&");
  expect(await screenshotOf(server, `/screenshot?${repeated}`)).toMatchObject(size);
  expect(await execute(server, ["AC_screenshot", { screen_region: [10, 5, 40, 25] }])).toEqual([
    expect.objectContaining({ format: "png", encoding: "base64", ...size }),
  ]);
  const flags = ["screenshot", "--region", "10,5,40,25", "--output", "part.png"];
  expect((await machine.run(flags, { env: display.env })).exitCode).toBe(0);
  expect(decode(readFileSync(`${machine.path}/part.png`))).toMatchObject(size);

  const refused = await server.call("/screenshot?screen_region=10,5,10,25");
  expect({ status: refused.status, body: await refused.json() }).toEqual({
    status: 400,
    body: {
      error:
        "screen_region: expected [x1, y1, x2, y2] with x2 above x1 and y2 above y1 but found [10,5,10,25]",
      fields: ["screen_region"],
    },
  });
  const odd = await machine.run(["screenshot", "--region", "1,2,3"], { env: display.env });
  expect(odd).toMatchObject({
    exitCode: 2,
    stderr: "svc: --region[3]: missing: expected four numbers: x1, y1, x2, y2\n",
  });
  const gap = await machine.run(["screenshot", "--region", "1,,30,40"], { env: display.env });
  expect(gap).toMatchObject({ exitCode: 2, stderr: 'svc: --region[1]: expected a number but found ""\n' });
  const nowhere = await machine.run(["screenshot", "--output", "no/where.png"], { env: display.env });
  expect(nowhere).toMatchObject({ exitCode: 2, stderr: "svc: --output: its folder does not exist\n" });
});

test("without a display every call says so, and the server lives on", async () => {
  using machine = installBinary();
  await using server = await serveBinary([], { env: bare });
  const error = "no display: DISPLAY is not set";
  for (const path of ["/screen_size", "/mouse_position", "/screenshot", "/windows"]) {
    const response = await server.call(path);
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 503,
      body: { error, help: "T45" },
    });
  }
  const actions = [["AC_click_mouse"], ["AC_write", ["x"]], ["AC_list_windows"], ["AC_wait_window", ["x"]]];
  expect(await execute(server, ...actions)).toEqual(actions.map(() => error));
  expect(await get(server, "/health")).toEqual({ status: "ok" });
  const none = { DISPLAY: undefined, WAYLAND_DISPLAY: undefined };
  const printed = await machine.run(["screenshot"], { env: none });
  expect(printed).toEqual({ stdout: "", stderr: `svc: ${error} (svc help T45)\n`, exitCode: 1 });
  expect(readdirSync(machine.path)).not.toContain("screenshot.png");
});

testOnDisplay("a service that was started before the desktop finds it once it is there", async () => {
  using folder = temporaryFolder();
  // Stands for the user's service manager, to which a desktop exports its variables when it starts.
  writeFileSync(join(folder.path, "systemctl"), `#!/bin/sh\ncat "${folder.path}/environment"\n`, {
    mode: 0o700,
  });
  const env = { ...bare, INVOCATION_ID: "5f0c", PATH: `${folder.path}:${process.env.PATH}` };
  await using server = await serveBinary([], { env });
  expect((await server.call("/screen_size")).status).toBe(503);
  await using display = await startDisplay({ managed: false });
  writeFileSync(join(folder.path, "environment"), `LANG=C\nDISPLAY=${display.env.DISPLAY}\n`);
  expect(await get(server, "/screen_size")).toEqual(SIZE);
});

testOnDisplay("a call whose child is killed, and one that hangs for ten seconds, fail alone", async () => {
  await using display = await startDisplay({ managed: false });
  await using server = await serveBinary([], { env: display.env });
  await get(server, "/screen_size");
  display.server.kill("SIGSTOP");
  const interrupted = server.call("/screenshot");
  process.kill(await childOf(server), "SIGKILL");
  expect(await (await interrupted).json()).toMatchObject({
    error: "the desktop helper was killed by SIGKILL during the call",
  });

  const hung = server.call("/screenshot");
  expect(await get(server, "/health")).toEqual({ status: "ok" });
  const answer = await hung;
  expect(answer.status).toBe(504);
  expect(await answer.json()).toMatchObject({
    error: "the desktop helper did not answer within 10 s, and was killed",
  });
  display.server.kill("SIGCONT");
  expect(await get(server, "/screen_size")).toEqual(SIZE);
});

testOnDisplay("the child ends when its server is killed, and releases the pressed keys", async () => {
  await using display = await startDisplay({ managed: false });
  await using server = await serveBinary([], { env: display.env });
  await using listener = openListener(display.env, "listener");
  const results = await execute(
    server,
    ["AC_wait_window", { title_substring: "listener", poll: 0.05 }],
    ["AC_focus_window", ["listener"]],
    ["AC_press_keyboard_key", ["shift"]],
    ["AC_press_mouse", { x: 700, y: 420 }],
  );
  expect(results).toEqual([expect.any(Number), results[0], null, [700, 420]]);
  const child = await childOf(server);
  process.kill(pidOf(server), "SIGKILL");
  expect(await listener.strokes(4)).toEqual(["+key Shift_L", "+button 1", "-button 1", "-key Shift_L"]);
  await until("the child to end", () => !isRunning(child));
});

testOnDisplay.each(["SIGHUP", "SIGTERM"] as const)(
  "%s to all processes of a script releases the keys it holds",
  async (signal) => {
    await using display = await startDisplay();
    using machine = installBinary();
    await using listener = openListener(display.env, "listener");
    const actions = [
      ["AC_wait_window", { title_substring: "listener", poll: 0.05 }],
      ["AC_focus_window", ["listener"]],
      ["AC_press_keyboard_key", ["shift"]],
      ["AC_sleep", [60]],
    ];
    const script = Bun.spawn([`${machine.path}/svc`, "execute", JSON.stringify(actions)], {
      env: { ...display.env, SVC_CONFIG_DIR: machine.configDir },
      stdio: ["ignore", "ignore", "ignore"],
      // A process group of its own, as a terminal's shell makes one.
      detached: true,
    });
    await listener.strokes(1);
    process.kill(-script.pid, signal);
    expect(await listener.strokes(2)).toEqual(["+key Shift_L", "-key Shift_L"]);
  },
);

async function screenshotOf(server: Server, path: string) {
  const { data } = (await get(server, path)) as { data: string };
  return decode(Buffer.from(data, "base64"));
}

function pidOf({ configDir }: Server): number {
  const { pid }: { pid: number } = JSON.parse(readFileSync(`${configDir}/run/rest.json`, "utf8"));
  return pid;
}

/** The process id of the server's child, as soon as there is one. */
function childOf(server: Server): Promise<number> {
  return until("the desktop child", async () => {
    const ps = Bun.spawn(["ps", "--ppid", String(pidOf(server)), "-o", "pid=,args="], { stdout: "pipe" });
    const line = (await ps.stdout.text()).split("\n").find((text) => text.includes("desktop-child"));
    return line ? Number.parseInt(line, 10) : undefined;
  });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
