/**
 * A desktop by its portal, as KDE has it: Mutter's screen, pointer and keys, behind a portal of the test's own. svc sees a compositor without
 * protocols for programs, and a bus on which there is a portal and no Mutter.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { openStage, PROGRAMS, startGnome } from "../host/desktop/gnome/support";
import { busCommand, PORTAL_PROGRAMS, portalCommand, portalFiles } from "../host/desktop/portal/support";
import { execute, type Session, svcIn } from "../host/desktop/wayland/support";
import { follow, missingOf, testWith, until } from "../support";

setDefaultTimeout(120_000);
const ALL = [...PROGRAMS, ...PORTAL_PROGRAMS] as const;
const test = testWith(...ALL);
const stack = new AsyncDisposableStack();
let session: Session;
let portal: ReturnType<typeof portalFiles>;

beforeAll(async () => {
  if (missingOf(ALL).length > 0) return;
  const gnome = stack.use(await startGnome());
  const { folder } = gnome;
  portal = portalFiles(folder);
  const bus = gnome.start(busCommand(folder));
  const { value } = await bus.stdout.getReader().read();
  const env = { ...gnome.env, DBUS_SESSION_BUS_ADDRESS: new TextDecoder().decode(value).trim() };
  const mutter = gnome.env.DBUS_SESSION_BUS_ADDRESS ?? "";
  gnome.start(portalCommand(folder, { mutter }), env);
  const ask = "org.freedesktop.DBus.GetNameOwner";
  const where = ["--session", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"];
  await until("the portal on the bus", async () => {
    const asked = gnome.start(["dbus-send", ...where, ask, "string:org.freedesktop.portal.Desktop"], env);
    return (await asked.exited) === 0;
  });
  session = { ...gnome, env, start: (command, own = {}) => gnome.start(command, { ...env, ...own }) };
});
afterAll(() => stack.disposeAsync());

/** What svc prints, and its exit code. */
async function svc(...args: string[]) {
  const child = session.start([svcIn(session), ...args]);
  return { text: await child.stdout.text(), code: await child.exited };
}

test("before anybody has allowed it: each call fails at once, and svc diagnose names the way and the command", async () => {
  const [size, shot, key] = await execute(
    session,
    ["AC_screen_size"],
    ["AC_get_pixel", { x: 1, y: 1 }],
    ["AC_hotkey", { key_code_list: ["a"] }],
  );
  expect(size).toEqual([1280, 800]);
  for (const failed of [shot, key]) expect(failed).toContain("run `svc desktop allow`");
  const { text } = await svc("diagnose", "--only", "screenshot", "--json");
  const [check] = JSON.parse(text).checks;
  expect(check).toMatchObject({
    ...{ name: "screenshot", ok: false },
    extra: { session: "wayland", session_way: "the portal" },
    detail: expect.stringContaining(
      "Wayland (mutter), by the portal, offers no pictures, pointer and keys (nobody",
    ),
  });
  expect(portal.log()).toEqual([]);
});

test("a person allows it once; then each row of the table does what the documentation says, and nobody is asked", async () => {
  portal.person("yes");
  const allowed = await svc("desktop", "allow");
  expect(allowed).toEqual({ text: "svc may use this desktop from now on\n", code: 0 });
  portal.person("nobody");
  const file = join(session.folder, ".svc", "portal_token");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const token = readFileSync(file, "utf8").trim();
  expect(portal.tokens()).toEqual([token]);

  await using stage = openStage(session);
  await stage.shown();
  const picture = join(session.folder, "part.png");
  const film = join(session.folder, "film.webm");
  const results = await execute(
    session,
    ["AC_wait_pixel", { x: 100, y: 700, color: "#ff0000", timeout: 20 }],
    ["AC_wait_pixel", { x: 1_279, y: 799, color: "#0000ff", timeout: 20 }],
    ["AC_monitors"],
    ["AC_record_screen_start", { file_path: film }],
    ["AC_click_mouse", { mouse_keycode: "mouse_left", x: 300, y: 200 }],
    ["AC_mouse_scroll", { scroll_value: 1, x: 300, y: 200 }],
    ["AC_get_mouse_position"],
    ["AC_hotkey", { key_code_list: ["shift", "c"] }],
    ["AC_write", { write_string: "x" }],
    ["AC_write", { write_string: "世" }],
    ["AC_screenshot", { file_path: picture, screen_region: [600, 300, 700, 420] }],
    ["AC_locate_image_center", { image: picture, region: [500, 300, 800, 420] }],
    ["AC_record_screen_stop"],
    ["AC_list_windows"],
  );
  expect(results).toEqual([
    expect.objectContaining({ color: "#ff0000" }),
    expect.objectContaining({ color: "#0000ff" }),
    { monitors: [{ monitor: 0, x: 0, y: 0, width: 1280, height: 800 }] },
    expect.anything(),
    ...[
      [300, 200],
      [300, 200],
      [300, 200],
    ],
    ...[null, null],
    expect.stringContaining("the keyboard layout of the session has no key for 1 of these 1 characters"),
    expect.objectContaining({ width: 100, height: 120 }),
    expect.objectContaining({ x: 600, score: 1 }),
    expect.anything(),
    expect.stringContaining("the portal lists, focuses and places no windows"),
  ]);
  const done = await stage.done(6);
  expect(done.slice(0, 2)).toEqual(["press 1 300 200", "release 1 300 200"]);
  expect(done.slice(3)).toEqual(["key Shift_L", "key C", "key x"]);
  expect(readFileSync(film).length).toBeGreaterThan(500);
  expect(portal.log().filter(([name]) => name === "asked")).toHaveLength(1);
  expect(portal.tokens()).toEqual([token]);
});

test("svc diagnose sees the screen by the portal; the token is in no answer and no log", async () => {
  const token = readFileSync(join(session.folder, ".svc", "portal_token"), "utf8").trim();
  const { text } = await svc("diagnose", "--only", "screenshot", "--json");
  expect(JSON.parse(text)).toMatchObject({
    checks: [
      {
        ...{ name: "screenshot", ok: true },
        detail: expect.stringMatching(
          /^Wayland \(mutter\), by the portal: 1280x800, \d+ kB[^;]*; no clipboard \(ext/,
        ),
      },
    ],
  });
  expect(text).not.toContain(token);
  const { text: rows } = await svc("audit", "list", "--json");
  expect(rows).toContain("desktop.allow");
  expect(rows).not.toContain(token);
});

test("where a server runs, it asks, and uses what was allowed", async () => {
  portal.takeBack();
  portal.person("yes");
  const flags = ["--config-dir", join(session.folder, "own")];
  const server = session.start([svcIn(session), "serve", "--port", "0", "--json", ...flags]);
  await follow(server.stdout).says("url");
  expect((await svc("desktop", "allow", ...flags)).code).toBe(0);
  portal.person("nobody");
  const shot = await svc("screenshot", "--output", join(session.folder, "shot.png"), ...flags);
  expect(shot.code).toBe(0);
  server.kill();
  await server.exited;
});
