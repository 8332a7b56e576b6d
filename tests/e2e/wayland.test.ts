/** The desktop commands on Wayland, through the compiled binary and as a user that is not root: sway without a screen. */
import { expect, setDefaultTimeout } from "bun:test";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asNobody, execute, openTerminal, startSway, svcIn } from "../host/desktop/wayland/support";
import { follow, testWith, until } from "../support";

setDefaultTimeout(180_000);
const testOnSway = testWith("sway", "foot", "setpriv");
const testOnPhoc = testWith("phoc", "foot", "setpriv");
const testWithText = testWith("sway", "setpriv", "zenity", "tesseract");
const testWithNames = testWith(
  "sway",
  "setpriv",
  "zenity",
  "dbus-run-session",
  "/usr/libexec/at-spi-bus-launcher",
);
const testWithToolkits = testWith("sway", "setpriv", "python3");

/** Actions that type into a window. */
const typing = (title: string, text: string) => [
  ["AC_wait_window", { title_substring: title, timeout: 30 }],
  ["AC_focus_window", { title_substring: title }],
  ["AC_write", { write_string: text }],
];

/** First and last characters of scripts, and how characters of them are put together. */
const SCRIPTS: ReadonlyArray<readonly [number, number]> = [
  ...([
    [0x21, 0x7e],
    [0xa1, 0x17f],
    [0x370, 0x3ff],
    [0x400, 0x4ff],
    [0x531, 0x58a],
  ] as const),
  ...([
    [0x5d0, 0x5ea],
    [0x621, 0x64a],
    [0x904, 0x939],
    [0xe01, 0xe3a],
    [0x10a0, 0x10ff],
  ] as const),
  ...([
    [0x1200, 0x1248],
    [0x13a0, 0x13f4],
    [0x1e00, 0x1eff],
    [0x2010, 0x2027],
    [0x20a0, 0x20bf],
  ] as const),
  ...([
    [0x2190, 0x22ff],
    [0x2500, 0x257f],
    [0x3041, 0x30ff],
    [0x4e00, 0x9fa5],
    [0xac00, 0xd7a3],
  ] as const),
  ...([
    [0x1f300, 0x1f64f],
    [0x1d400, 0x1d454],
    [0x10330, 0x1034a],
  ] as const),
];

/** The same texts each time: 200 lines, each of one script with Latin letters between. */
function texts(): string[] {
  let seed = 4711;
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  const isUsual = (character: string) => /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character);
  return Array.from({ length: 200 }, (_, nth) => {
    const [first, last] = SCRIPTS[nth % SCRIPTS.length] ?? [0x21, 0x7e];
    const characters = Array.from({ length: 3 + next(12) }, () =>
      String.fromCodePoint(next(5) === 0 ? 0x61 + next(26) : first + next(last - first + 1)),
    );
    return characters.filter(isUsual).join("") || "x";
  });
}

/** An editor of GTK 3, which writes what is in it to a file. */
const GTK = `import sys, gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
window = Gtk.Window(title="gtk editor")
view = Gtk.TextView()
def changed(buffer):
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(buffer.get_text(buffer.get_start_iter(), buffer.get_end_iter(), True))
view.get_buffer().connect("changed", changed)
window.add(view)
window.show_all()
Gtk.main()
`;

/** The same of Qt 5. */
const QT = `import sys
from PyQt5.QtWidgets import QApplication, QPlainTextEdit
application = QApplication(sys.argv)
edit = QPlainTextEdit()
edit.setWindowTitle("qt editor")
def changed():
    with open(sys.argv[1], "w", encoding="utf-8") as file: file.write(edit.toPlainText())
edit.textChanged.connect(changed)
edit.show()
application.exec_()
`;

testOnSway("each row of the table of commands does on sway what the documentation says", async () => {
  await using session = await startSway();
  const terminal = openTerminal(session, "a window");
  const picture = join(session.folder, "shot.png");
  const film = join(session.folder, "film.webm");
  const results = await execute(
    session,
    ["AC_wait_window", { title_substring: "a window", timeout: 20, as: "window" }],
    ["AC_screen_size"],
    ["AC_monitors"],
    ["AC_set_mouse_position", { x: 100, y: 120 }],
    ["AC_get_mouse_position"],
    ["AC_click_mouse", { mouse_keycode: "mouse_left", x: 200, y: 300 }],
    ["AC_mouse_scroll", { scroll_value: 1, x: 210 }],
    ["AC_drag", { from: [100, 100], to: [150, 150] }],
    ["AC_focus_window", { title_substring: "a window" }],
    ["AC_record_screen_start", { file_path: film }],
    ["AC_write", { write_string: "Grüße, 世界\n" }],
    ["AC_hotkey", { key_code_list: ["shift", "c"] }],
    ["AC_type_keyboard", { keycode: "enter" }],
    ["AC_screenshot", { file_path: picture }],
    ["AC_get_pixel", { x: 700, y: 700 }],
    ["AC_wait_still", { still: 0.3, timeout: 20 }],
    ["AC_record_screen_stop"],
    ["AC_set_clipboard", { text: "clip" }],
    ["AC_get_clipboard"],
    ["AC_move_window", { title_substring: "a window", x: 40, y: 50 }],
    ["AC_resize_window", { title_substring: "a window", width: 640, height: 400 }],
    ["AC_minimize_window", { title_substring: "a window" }],
    ["AC_maximize_window", { title_substring: "a window" }],
    ["AC_close_window", { title_substring: "a window" }],
    ["AC_wait_window_gone", { title_substring: "a window", timeout: 20 }],
  );
  const [hwnd] = results;
  expect(results).toEqual([
    expect.any(Number),
    [1280, 800],
    { monitors: [{ monitor: 0, x: 0, y: 0, width: 1280, height: 800 }] },
    [100, 120],
    [100, 120],
    [200, 300],
    [210, 300],
    [150, 150],
    hwnd,
    expect.anything(),
    null,
    null,
    null,
    { file_path: picture, format: "png", width: 1280, height: 800 },
    expect.objectContaining({ x: 700, y: 700 }),
    null,
    expect.anything(),
    null,
    "clip",
    { hwnd, x: 40, y: 50, width: expect.any(Number), height: expect.any(Number) },
    { hwnd, x: 40, y: 50, width: 640, height: 400 },
    hwnd,
    expect.stringContaining("sway has no maximised windows"),
    hwnd,
    null,
  ]);
  expect(await terminal.typed(2)).toBe("Grüße, 世界\nC\n");
  expect(readFileSync(picture).subarray(1, 4).toString()).toBe("PNG");
  expect(readFileSync(film).length).toBeGreaterThan(500);
});

testOnPhoc(
  "each row of the column of other compositors does on phoc what the documentation says",
  async () => {
    const config = "[core]\nxwayland=false\n[output:HEADLESS-1]\nmode = 1280x800\n";
    const start = 'printf "%s" "$0" > "$HOME/phoc.ini"; exec phoc -C "$HOME/phoc.ini"';
    await using session = await startSway("", ["sh", "-c", start, config]);
    // It has no seat before the first device, which is there as long as the server has it.
    const server = session.start([svcIn(session), "serve", "--port", "0", "--json"]);
    await follow(server.stdout).says("url");
    const [place] = await execute(session, ["AC_set_mouse_position", { x: 100, y: 120 }]);
    expect(place).toEqual([100, 120]);
    const terminal = openTerminal(session, "a window");
    const picture = join(session.folder, "shot.png");
    const film = join(session.folder, "film.webm");
    const results = await execute(
      session,
      ["AC_wait_window", { title_substring: "a window", timeout: 20 }],
      ["AC_monitors"],
      ["AC_click_mouse", { mouse_keycode: "mouse_left", x: 200, y: 300 }],
      ["AC_mouse_scroll", { scroll_value: 1, x: 210 }],
      ["AC_drag", { from: [100, 100], to: [150, 150] }],
      ["AC_focus_window", { title_substring: "a window" }],
      ["AC_record_screen_start", { file_path: film }],
      ["AC_write", { write_string: "Grüße, 世界\n" }],
      ["AC_hotkey", { key_code_list: ["shift", "c"] }],
      ["AC_type_keyboard", { keycode: "enter" }],
      ["AC_screenshot", { file_path: picture }],
      ["AC_wait_still", { still: 0.3, timeout: 20 }],
      ["AC_record_screen_stop"],
      ["AC_set_clipboard", { text: "clip" }],
      ["AC_get_clipboard"],
      ["AC_click_mouse", { relative_to: "a window" }],
      ["AC_move_window", { title_substring: "a window", x: 40, y: 50 }],
      ["AC_minimize_window", { title_substring: "a window" }],
      ["AC_maximize_window", { title_substring: "a window" }],
      ["AC_close_window", { title_substring: "a window" }],
      ["AC_wait_window_gone", { title_substring: "a window", timeout: 20 }],
    );
    const [hwnd] = results;
    expect(results).toEqual([
      expect.any(Number),
      { monitors: [{ monitor: 0, x: 0, y: 0, width: 1280, height: 800 }] },
      [200, 300],
      [210, 300],
      [150, 150],
      hwnd,
      expect.objectContaining({ file_path: film }),
      ...[null, null, null],
      expect.objectContaining({ width: 1280, height: 800 }),
      null,
      expect.anything(),
      null,
      "clip",
      "relative_to: the platform does not say where the window is",
      expect.stringContaining("does not offer a protocol by which others may place windows"),
      expect.stringContaining("it may have no such windows"),
      hwnd,
      hwnd,
      null,
    ]);
    expect(await terminal.typed(2)).toBe("Grüße, 世界\nC\n");
    expect(readFileSync(film).length).toBeGreaterThan(500);
    server.kill();
    await server.exited;
  },
);

for (const [toolkit, program, title] of [
  ["GTK", GTK, "gtk editor"],
  ["Qt", QT, "qt editor"],
] as const) {
  testWithToolkits(`200 texts of many scripts arrive in ${toolkit} as they are`, async () => {
    await using session = await startSway();
    const whole = `${texts().join("\n")}\n`;
    const file = join(session.folder, "typed");
    session.start(["/usr/bin/python3", "-c", program, file]);
    await execute(session, ...typing(title, whole));
    const read = () => (existsSync(file) ? readFileSync(file, "utf8") : "").split("\n");
    await until("the last line", () => read().length > 200);
    expect(read()).toEqual(whole.split("\n"));
  });
}

testOnSway("200 texts of many scripts arrive in a terminal as they are", async () => {
  await using session = await startSway();
  const whole = `${texts().join("\n")}\n`;
  const terminal = openTerminal(session, "the terminal");
  await execute(session, ...typing("the terminal", whole));
  expect((await terminal.typed(200)).split("\n")).toEqual(whole.split("\n"));
});

testWithText("pictures and text are found on the screen, and clicked", async () => {
  await using session = await startSway("default_border normal\n");
  const dialog = session.start([
    "zenity",
    "--question",
    "--text",
    "Save changes?",
    "--ok-label",
    "Confirm order",
  ]);
  const picture = join(session.folder, "button.png");
  const results = await execute(
    session,
    ["AC_wait_text", { text: "Save changes", timeout: 30 }],
    ["AC_locate_text", { text: "Confirm order", as: "button" }],
    ["AC_read_text", {}],
    ["AC_screenshot", { file_path: picture, screen_region: [400, 300, 700, 420] }],
    ["AC_locate_image_center", { image: picture }],
    ["AC_click_mouse", { x: "${button.center_x}", y: "${button.center_y}" }],
  );
  expect(results).toEqual([
    expect.objectContaining({ text: expect.stringContaining("Save changes") }),
    expect.objectContaining({ text: "Confirm order" }),
    expect.objectContaining({ text: expect.stringContaining("Confirm order") }),
    expect.anything(),
    expect.objectContaining({ x: 400, y: 300, width: 300, height: 120 }),
    expect.anything(),
  ]);
  expect(await dialog.exited).toBe(0);
});

testWithNames("a button is pressed by its name, whose place no compositor tells", async () => {
  await using session = await startSway();
  const file = join(session.folder, "press.json");
  const button = { name: "Confirm order", timeout: 30 };
  writeFileSync(
    file,
    JSON.stringify([
      ["AC_wait_element", button],
      ["AC_press_element", button],
    ]),
  );
  chmodSync(file, 0o644);
  const asks = "zenity --question --text 'Save changes?' --ok-label 'Confirm order' & asked=$!";
  const presses = `${svcIn(session)} execute ${file} --json >&2; wait $asked; echo "answered $?"`;
  const child = session.start(["dbus-run-session", "--", "sh", "-c", `${asks}; ${presses}`]);
  expect(await child.stdout.text()).toContain("answered 0");
});

testOnSway("svc record says in a sentence that Wayland shows it nothing", async () => {
  await using session = await startSway();
  const command = [...asNobody([svcIn(session), "record", join(session.folder, "made.json")])];
  const child = Bun.spawn(command, { env: session.env, stdio: ["ignore", "ignore", "pipe"] });
  expect(await child.stderr.text()).toContain(
    "recording needs an X11 session: a Wayland compositor shows no program what is typed and clicked in another one",
  );
  expect(await child.exited).not.toBe(0);
});

testOnSway("svc diagnose names the session and the compositor", async () => {
  await using session = await startSway();
  const child = session.start([svcIn(session), "diagnose", "--only", "screenshot", "--json"]);
  expect(JSON.parse(await child.stdout.text())).toMatchObject({
    checks: [
      {
        name: "screenshot",
        ok: true,
        detail: expect.stringMatching(/^Wayland \(sway\), by the protocols of wlroots: 1280x800, /),
      },
    ],
  });
});
