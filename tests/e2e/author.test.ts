/**
 * The day of somebody who writes scripts, with the compiled binary: a desktop with openbox and xterm; a script with
 * mistakes in it is checked, mended, run with values of the day, run beside another, and run when its window has gone.
 */
import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { askManager, openTerminal, PROGRAMS, startDisplay, untilWindowSays } from "../host/desktop/support";
import { follow, installBinary, testWith, until } from "../support";

testWith(...PROGRAMS)(
  "a script for a window is checked, mended, run with values, made to wait, and stopped where its window is missing",
  async () => {
    await using display = await startDisplay();
    using machine = installBinary();
    const { env } = display;
    const script = join(machine.path, "order.json");
    const write = (...lines: string[]) => writeFileSync(script, `[\n  ${lines.join(",\n  ")}\n]\n`);
    const svc = (...args: string[]) => machine.run(args, { env });
    const execute = (...flags: string[]) => svc("execute", "order.json", ...flags);

    // The first draft: one name too short, one field misspelled, a comma too many.
    const wait = '["AC_wait_window", {"title_substring": "orders", "poll": 0.05}]';
    const text = '["AC_write", ["${customer}: ${count}"]]';
    write(wait, '["AC_focus_windw", ["orders"]]', text, '["AC_hotkey", ["Shift", "a"]]', "");
    const comma = await execute("--check");
    expect(comma).toMatchObject({
      exitCode: 2,
      stderr: `svc: ${script}:7:1: not JSON: expected a value\n`,
    });
    write(wait, '["AC_focus_windw", ["orders"]]', text, '["AC_type_keyboard", {"keycod": "Enter"}]');
    const draft = await execute("--check");
    expect(draft.exitCode).toBe(2);
    expect(draft.stderr.trim().split("\n")).toEqual([
      `svc: ${script}:3:4: actions[1]: unknown command AC_focus_windw (did you mean AC_focus_window?)`,
      expect.stringMatching(/order\.json:5:24: actions\[3\]\.keycode: missing: expected/),
      `svc: ${script}:5:35: actions[3].keycod: unknown field (did you mean keycode?)`,
    ]);

    // Mended, it finds its window on another desktop, as an icon, and types into it what the day brings.
    const keys = ['["AC_hotkey", ["Shift", "a"]]', '["AC_type_keyboard", {"keycode": "Enter"}]'];
    write(wait, '["AC_focus_window", ["orders"]]', text, ...keys);
    expect(await execute("--check", "--var", "customer=ACME", "--var", "count=3")).toMatchObject({
      exitCode: 0,
      stderr: "",
    });
    await using terminal = openTerminal(env, "orders");
    const hwnd = Number((await svc("desktop", "wait-window", "orders")).stdout);
    await using other = openTerminal(env, "other");
    await svc("desktop", "wait-window", "other");
    await askManager(env, hwnd, "WM_CHANGE_STATE", 3);
    await untilWindowSays(env, hwnd, "_NET_WM_STATE_HIDDEN");
    await askManager(env, hwnd, "_NET_WM_DESKTOP", 2, 2);
    await untilWindowSays(env, hwnd, "_NET_WM_DESKTOP(CARDINAL) = 2");
    writeFileSync(join(machine.path, "day.json"), '{"customer": "ACME", "count": 1}');
    const run = () => execute("--stop-on-error", "focus", "--var-file", "day.json", "--var", "count=3");
    expect(await run()).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await terminal.typed(1)).toBe("ACME: 3A\n");

    // While another run uses the keyboard, it waits, and says for whom.
    const holding = Bun.spawn(
      ["./svc", "execute", '[["AC_press_keyboard_key", ["shift"]], ["AC_sleep", [600]]]'],
      {
        cwd: machine.path,
        env: { ...env, SVC_CONFIG_DIR: "config" },
        stdio: ["ignore", "ignore", "ignore"],
      },
    );
    const isHeld = async () => {
      const held = join(machine.configDir, "run", "input.lock-holder");
      return (await Bun.file(held).exists()) && (await Bun.file(held).text()).includes(`${holding.pid}`);
    };
    await until("the other run to hold the keyboard", isHeld);
    const waiting = Bun.spawn(["./svc", "execute", "order.json", "--var-file", "day.json"], {
      cwd: machine.path,
      env: { ...env, SVC_CONFIG_DIR: "config" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const said = follow(waiting.stderr);
    await said.says("uses them\n");
    expect(said.text()).toMatch(
      new RegExp(
        `^\\[info\\] run \\w{8} \\(manual\\) waits for pointer and keyboard: run \\w{8} \\(manual\\) of process ${holding.pid} uses them\n$`,
      ),
    );
    holding.kill("SIGINT");
    await holding.exited;
    expect(await waiting.exited).toBe(0);
    expect(await terminal.typed(2)).toBe("ACME: 3A\nACME: 1A\n");

    // The window has been closed: nothing is typed into the one that has the focus now.
    await terminal[Symbol.asyncDispose]();
    await svc("desktop", "focus-window", "other");
    write('["AC_focus_window", ["orders"]]', text, ...keys);
    const gone = await run();
    expect(gone).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(
        /^FAILED {2}AC_focus_window {2}there is no window with "orders" in its title .*\n$/,
      ),
    });
    await svc("desktop", "write", "end\n");
    expect(await other.typed(1)).toBe("end\n");
  },
  180_000,
);
