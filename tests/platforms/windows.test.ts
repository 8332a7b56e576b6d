/**
 * The binary for Windows, run under Wine, beside the one of this machine.
 *
 * Wine cannot answer for:
 * - `svc service`: its schtasks and powershell are empty programs that succeed;
 * - `taskkill /t`, with which svc ends all that a program has started: it refuses it, and svc then ends the program alone;
 * - USB devices: it shows none of the machine's;
 * - keys that robotjs sends by scan code, and the frames of windows: shims/user32.c and shims/dwmapi.c stand for both;
 * - UI Automation, of which Wine 8 has no client: shims/uia.c stands for it (elements.ts);
 * - files that only their owner may read, named pipes of other users, several monitors, and how fast anything is.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { decode } from "fast-png";
import { version } from "../../package.json";
import { timeLimitedCredentials } from "../../src/host/turn/credentials";
import { configFiles } from "../../src/lib/paths";
import { STREAM_PROTOCOL as PROTOCOL } from "../../src/wire/screen/stream";
import { withDatabase } from "../host/audit/support";
import { CONTINUOUS, FENCE, pixelsOf, TIGHT, view } from "../host/desktop/screen/viewer";
import { untilWindowSays } from "../host/desktop/support";
import { follow, missingOf, post, temporaryFolder, testWith, until } from "../support";
import { elements } from "./elements";
import { folderOn, type Machine, run, type Server, serve, statusesOf, thisMachine } from "./machine";
import { INTERFACES, PROGRAMS, startWindows, type Windows } from "./wine";

setDefaultTimeout(300_000);
const test = testWith(...PROGRAMS, "xdotool", "xprop", "xclip");

const stack = new AsyncDisposableStack();
let windows: Windows;
let linux: Machine;
let onWindows: Server;
let onLinux: Server;
beforeAll(async () => {
  if (missingOf(PROGRAMS).length > 0) return;
  windows = stack.use(await startWindows());
  linux = stack.use(thisMachine({ ...process.env, DISPLAY: windows.env.DISPLAY }));
  [onWindows, onLinux] = await Promise.all([serve(windows, ["--tls"]), serve(linux, ["--tls"])]);
  stack.use(onWindows);
  stack.use(onLinux);
}, 600_000);
afterAll(() => stack.disposeAsync(), 120_000);

/** What the actions returned on Windows, in order; the error of one that failed. */
async function execute(...actions: readonly unknown[]): Promise<unknown[]> {
  const answer = (await (await onWindows.call("/execute", post({ actions }))).json()) as {
    outcomes: Array<{ ok: boolean; result?: unknown; error?: string }>;
  };
  return answer.outcomes.map(({ ok, result, error }) => (ok ? result : error));
}

describe("a host on Windows", () => {
  test("says what it is, and finds all that it needs", async () => {
    const { stdout, exitCode } = await run(windows, ["--version"]);
    expect([stdout, exitCode]).toEqual([
      expect.stringMatching(new RegExp(`^svc ${RegExp.escape(version)} \\(`)),
      0,
    ]);
    // The desktop has its own tests: a check has five seconds, in which a busy machine may not have started Wine.
    const checks =
      "platform,environment,optional_deps,executor,clock,config_dir,disk_space,permissions,rest_api";
    const diagnose = () => run(windows, ["diagnose", "--only", checks]);
    let diagnosed = await diagnose();
    // The desktop has eight seconds to answer, in which Wine may not have started its process.
    for (let again = 0; again < 2 && /missing:.* gui/.test(diagnosed.stdout); again++)
      diagnosed = await diagnose();
    expect(diagnosed.stdout).toMatch(/^ok +platform +svc \S+ on Windows_NT 10\.\S+ x64$/m);
    // Wine has no way to list USB devices.
    expect(diagnosed.stdout).toMatch(/^warn +optional_deps +2 of 3 found; missing: usb; without: ocr$/m);
    expect(diagnosed.stdout).toMatch(/^9 checks; none failed; 1 with a warning: optional_deps$/m);
    const listed = await run(windows, ["usb", "list"]);
    expect(listed).toMatchObject({ stdout: "", exitCode: 1 });
    expect(listed.stderr).toContain("USB devices cannot be listed: usb: it found no device; windows: ");
  });

  test("answers each GET with the status that a host on Linux answers it with", async () => {
    for (const server of [onWindows, onLinux]) {
      await server.call("/execute", post({ actions: [["AC_sleep", { seconds: 0 }]] }));
      const add = { label: "dead", base_url: "http://127.0.0.1:1", token: "a-token-of-nobody" };
      expect((await server.call("/admin/hosts/add", post(add))).status).toBe(200);
    }
    const valuesOf = async (server: Server) => {
      const { runs } = (await (await server.call("/history")).json()) as { runs: Array<{ run_id: string }> };
      return { label: "dead", name: "AC_sleep", run_id: runs[0]?.run_id ?? "" };
    };
    // Wine has no way to list USB devices, and svc says so. The host on Linux has no accessibility bus.
    const own = { "/usb/devices": 503, "/element_at": existsSync(INTERFACES) ? 200 : 503 };
    const [found, expected] = await statusesOf(
      { server: onWindows, values: await valuesOf(onWindows) },
      { server: onLinux, values: await valuesOf(onLinux) },
      own,
    );
    expect(found).toEqual({ ...expected, ...own });
    expect(found).toMatchObject({ "/screenshot": 200 });
  });

  test("ends a program that takes too long, and gives what another one printed", async () => {
    await using server = await serve(windows, ["--allow-shell"], "shell");
    const shell = async (command: string, timeout_s: number) => {
      const actions = [["AC_shell_command", { shell_command: command, timeout_s }]];
      const answer = await server.call("/execute", post({ actions }));
      return ((await answer.json()) as { outcomes: unknown[] }).outcomes[0];
    };
    expect(await shell("echo Grüße", 60)).toMatchObject({ ok: true });
    expect(await shell("ping -n 3600 127.0.0.1", 1)).toMatchObject({
      ok: false,
      error: expect.stringContaining("1 s"),
    });
  });
});

describe("the record of a host on Windows", () => {
  test("verifies there, by its server and by another process", async () => {
    await using server = await serve(windows, [], "record");
    await server.call("/execute", post({ actions: [["AC_sleep", { seconds: 0 }]] }));
    const verify = () => run(windows, ["audit", "verify"], { configDir: server.configDir });
    const { stdout, exitCode } = await verify();
    expect([stdout, exitCode]).toEqual([expect.stringMatching(/^Chain OK \([1-9]\d* rows?\)\n/), 0]);
    expect(await (await server.call("/audit/verify")).json()).toMatchObject({ ok: true });
  });

  test("is whole after a Ctrl-C, which lets the run in hand come to its end; a changed row is found", async () => {
    const [, ...line] = windows.helper("ctrl-c.exe", ...windows.command.slice(1));
    const interruptible: Machine = { ...windows, command: ["wine", ...line] };
    await using server = await serve(interruptible, [], "interrupted");
    const answer = server.call("/execute", post({ actions: [["AC_sleep", { seconds: 1 }]] }));
    await until("the run to start", async () => {
      const { runs } = (await (await server.call("/runs")).json()) as { runs: unknown[] };
      return runs.length > 0;
    });
    server.endInput();
    expect(await (await answer).json()).toMatchObject({ ok: true });
    expect(await server.exited).toBe(130);
    const { configDir } = server;
    expect(existsSync(configFiles(configDir).runFile)).toBe(false);
    expect(await run(windows, ["audit", "verify"], { configDir })).toMatchObject({ exitCode: 0 });
    const { stdout } = await run(windows, ["history", "--json"], { configDir });
    expect(JSON.parse(stdout)).toMatchObject({ runs: [{ status: "ok" }] });
    withDatabase(configFiles(configDir).auditLog, (db) =>
      db.run("UPDATE events SET detail = 'x' WHERE id = 1"),
    );
    expect(await run(windows, ["audit", "verify"], { configDir })).toMatchObject({ exitCode: 1 });
  });
});

describe("across platforms:", () => {
  test("a desk trusts the other's certificate by its pin, polls and broadcasts", async () => {
    for (const desk of [windows, linux]) {
      const add = (label: string, { url, token }: Server, pin: string | null, ...more: string[]) =>
        run(desk, ["admin", "add", label, url, "--pin", pin ?? "", ...more], { stdin: token });
      expect(await add("linux", onLinux, onLinux.pin)).toMatchObject({ exitCode: 0, stderr: "" });
      expect(await add("windows", onWindows, onWindows.pin)).toMatchObject({ exitCode: 0, stderr: "" });
      const listed = JSON.parse((await run(desk, ["admin", "list", "--json"])).stdout);
      expect(listed.map((host: { label: string }) => host.label)).toEqual(["linux", "windows"]);
      expect(await run(desk, ["admin", "poll"])).toMatchObject({ exitCode: 0 });
      const broadcast = await run(desk, [
        "admin",
        "broadcast",
        '[["AC_screen_size"]]',
        "--on",
        "all",
        "--json",
      ]);
      expect(broadcast).toMatchObject({ exitCode: 0 });
      const results: Array<{ status: string }> = JSON.parse(broadcast.stdout);
      expect(results.map(({ status }) => status)).toEqual(["ok", "ok"]);
      await add("another", onLinux, onWindows.pin, "--unchecked");
      expect(await run(desk, ["admin", "poll", "--on", "another"])).toMatchObject({ exitCode: 1 });
    }
  });

  test("a configuration goes from Linux to Windows, and sealed back, and is the same", async () => {
    const bundle = join(import.meta.dir, "..", "fixtures", "bundle-foreign.json");
    using folder = temporaryFolder();
    const at = (name: string) => join(folder.path, name);
    const config = async (machine: Machine, place: string, ...line: readonly string[]) => {
      const ran = await run(machine, ["config", ...line], { configDir: at(place) });
      expect(ran).toMatchObject({ exitCode: 0 });
      return ran.stdout;
    };
    const sealing = (machine: Machine): Machine => ({
      ...machine,
      env: { ...machine.env, SVC_PASSPHRASE: "correct horse battery staple" },
    });
    const [there, back] = [at("there.json"), at("back.json")];
    await config(linux, "first", "import", bundle);
    await config(linux, "first", "export", there);
    const imported = await config(windows, "second", "import", windows.named(there));
    expect(imported).toContain("new        admin_hosts.json");
    await config(sealing(windows), "second", "export", windows.named(back), "--encrypt");
    expect(readFileSync(back, "utf8")).not.toContain("example-token");
    await config(sealing(linux), "third", "import", back);
    const { files } = JSON.parse(await config(linux, "third", "export", "-"));
    expect(files).toEqual(JSON.parse(readFileSync(bundle, "utf8")).files);
  });

  test("the files that set up a relay are the same, and so are the passwords for it", async () => {
    const SECRET = "a-secret-of-the-relay";
    const made: Array<Record<string, string>> = [];
    for (const machine of [windows, linux]) {
      const output = folderOn(machine, "relay");
      const flags = ["--realm", "turn.example.org", "--auth-secret", "--output-dir", machine.named(output)];
      const ran = await run(machine, ["turn", ...flags, "--secret", "-"], { stdin: SECRET });
      expect(ran).toMatchObject({ exitCode: 0 });
      made.push(
        Object.fromEntries(
          readdirSync(output).map((name) => [name, readFileSync(join(output, name), "utf8")]),
        ),
      );
      const credentials = ["turn", "credentials", "--json", "--output-dir", machine.named(output)];
      const { username, password, expires_at } = JSON.parse((await run(machine, credentials)).stdout);
      const atOnce = timeLimitedCredentials(SECRET, "client", 0, new Date(expires_at));
      expect({ username, password, expires_at }).toEqual(atOnce);
    }
    expect(made[0]).toEqual(made[1]);
  });

  for (const from of ["Windows", "Linux"]) {
    test(`a host on ${from} joins a desk on the other, which asks it over the link that it dials`, async () => {
      const [host, desk] = from === "Windows" ? [windows, linux] : [linux, windows];
      await using hub = await serve(desk, ["--tls", "--hub"], "hub");
      await using joining = await serve(host, [], "joining");
      const made = await run(desk, ["join-token"], { configDir: hub.configDir });
      const join = ["join", "--label", "over-a-link"];
      const joined = await run(host, join, { configDir: joining.configDir, stdin: made.stdout });
      expect(joined).toMatchObject({ exitCode: 0 });
      const ask = () => run(desk, ["admin", "poll", "--json"], { configDir: hub.configDir });
      await until("the host to dial", async () => (await ask()).exitCode === 0);
      expect(JSON.parse((await ask()).stdout)).toMatchObject([{ label: "over-a-link", healthy: true }]);
    });
  }

  for (const [from, to] of [
    ["Windows", "Linux"],
    ["Linux", "Windows"],
  ]) {
    test(`a folder is sent from ${from} to ${to}, subfolders and umlauts too`, async () => {
      const [sender, receiver] = from === "Windows" ? [windows, onLinux] : [linux, onWindows];
      const folder = folderOn(sender, "Für alle");
      const content = randomBytes(1_000_000);
      writeFileSync(join(folder, "large.bin"), content);
      writeFileSync(join(folder, "empty"), "");
      mkdirSync(join(folder, "Ordner 2"));
      writeFileSync(join(folder, "Ordner 2", "Grüße.txt"), "ä\r\n");
      const configDir = folderOn(sender, "sender");
      await run(sender, ["admin", "add", "other", receiver.url, "--pin", receiver.pin ?? ""], {
        ...{ configDir, stdin: receiver.token },
      });
      const line = ["sync", sender.named(folder), "--to", "other", "--once", "--include-subdirs"];
      expect(await run(sender, line, { configDir })).toMatchObject({ exitCode: 0 });
      const inbox = join(receiver.configDir, "inbox");
      const [name = ""] = readdirSync(inbox).filter((entry) => !entry.startsWith("."));
      expect(readFileSync(join(inbox, name, "large.bin")).equals(content)).toBe(true);
      expect(readFileSync(join(inbox, name, "Ordner 2", "Grüße.txt"), "utf8")).toBe("ä\r\n");
      expect(readdirSync(join(inbox, name)).sort()).toEqual(["Ordner 2", "empty", "large.bin"]);
    });
  }
});

describe("paths on Windows:", () => {
  test("programs, scripts and configuration may have spaces and umlauts in them", async () => {
    const place = folderOn(windows, "Jörg & Söhne (x86)");
    const folder = join(place, "Dienst für alle");
    windows.install(folder);
    const machine = { ...windows, command: ["wine", windows.named(join(folder, "svc.exe"))] };
    await using server = await serve(machine, [], "Jörg & Söhne (x86)/Große Ablage");
    const { configDir } = server;
    const script = join(place, "erste Schritte.json");
    writeFileSync(script, '[["AC_sleep", {"seconds": 0}], ["AC_screen_size"]]');
    expect(await run(machine, ["execute", windows.named(script)], { configDir })).toMatchObject({
      exitCode: 0,
    });
    expect(await (await server.call("/screen_size")).json()).toEqual({ width: 1280, height: 800 });
    expect(await run(machine, ["audit", "verify"], { configDir })).toMatchObject({ exitCode: 0 });
    expect(existsSync(configFiles(configDir).auditLog)).toBe(true);
  });

  test("the configuration may be on another drive", async () => {
    using drive = temporaryFolder();
    windows.drive("d", drive.path);
    const onDrive = {
      ...windows,
      home: drive.path,
      named: (path: string) => path.replace(drive.path, "D:").replaceAll("/", "\\"),
    };
    await using server = await serve({ ...onDrive, home: drive.path }, [], "svc");
    await server.call("/execute", post({ actions: [["AC_sleep", { seconds: 0 }]] }));
    const { configDir } = server;
    expect(await run(onDrive, ["config", "set", "diagnose.skip", "mouse"], { configDir })).toMatchObject({
      exitCode: 0,
    });
    expect(await run(onDrive, ["audit", "verify"], { configDir })).toMatchObject({ exitCode: 0 });
    expect(existsSync(join(drive.path, "svc", "audit.db"))).toBe(true);
  });
});

interface Ticket {
  readonly ticket: string;
  readonly url: string;
}

/** A port of this machine that leads to the stream of a ticket. */
async function carry({ ticket, url }: Ticket) {
  const server = createServer((viewer) => {
    const options = { protocols: [PROTOCOL, `ticket.${ticket}`], tls: { rejectUnauthorized: false } };
    const stream = new WebSocket(url, options);
    stream.binaryType = "arraybuffer";
    viewer.pause().on("error", () => {});
    stream.onopen = () => viewer.resume();
    stream.onmessage = ({ data }) => viewer.write(Buffer.from(data));
    stream.onclose = () => viewer.destroy();
    viewer.on("data", (bytes) => stream.send(bytes)).on("close", () => stream.close());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
}

describe("the desktop of Windows:", () => {
  /** A window with this title, once it is on the screen. */
  async function openWindow(title: string) {
    const child = Bun.spawn([...windows.helper("window.exe", title)], {
      cwd: windows.home,
      env: windows.env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const said = follow(child.stdout);
    await said.says("painted");
    const [hwnd] = await execute(["AC_wait_window", [title]]);
    const found = Bun.spawn(["xdotool", "search", "--name", title], {
      env: windows.env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    return {
      hwnd,
      /** What the X server calls it. */
      id: Number((await found.stdout.text()).trim().split("\n")[0]),
      says: said.says,
      text: said.text,
      exited: child.exited,
      async [Symbol.asyncDispose]() {
        child.kill("SIGKILL");
        await child.exited;
      },
    };
  }

  test("the pointer goes where it is sent, as the X server has it, and clicks there", async () => {
    await using window = await openWindow("pointer");
    expect(
      await execute(
        ["AC_focus_window", ["pointer"]],
        ["AC_set_mouse_position", { x: 222, y: 244 }],
        ["AC_click_mouse", { mouse_keycode: "mouse_left" }],
        ["AC_mouse_scroll", { scroll_value: 1 }],
        ["AC_get_mouse_position"],
      ),
    ).toEqual([window.hwnd, [222, 244], [222, 244], [222, 244], [222, 244]]);
    const { stdout } = Bun.spawnSync(["xdotool", "getmouselocation"], { env: windows.env });
    expect(`${stdout}`).toMatch(/^x:222 y:244 /);
    await window.says("wheel");
    expect(window.text()).toMatch(/^\+left \d+ \d+\r\n-left \d+ \d+\r\nwheel -120\r$/m);
  });

  test("what is typed arrives as characters, and hotkeys as keys", async () => {
    await using window = await openWindow("keys");
    await execute(
      ["AC_focus_window", ["keys"]],
      ["AC_write", { write_string: "aÜ界" }],
      ["AC_hotkey", { key_code_list: ["ctrl", "shift", "s"] }],
      ["AC_type_keyboard", { keycode: "enter" }],
    );
    await window.says("-key 13");
    const lines = window.text().trim().split("\r\n").slice(1);
    const typed = lines.flatMap((line) =>
      line.startsWith("character ") ? Number(line.slice("character ".length)) : [],
    );
    expect(String.fromCharCode(...typed.filter((code) => code >= 32))).toBe("aÜ界");
    // VK_CONTROL, VK_SHIFT, S, VK_RETURN (WinUser.h); VK_PACKET is a character without a key.
    const keys = lines.filter((line) => /^[+-]key (?!231)/.test(line));
    expect(keys.slice(0, 4)).toEqual(["+key 17", "+key 16", "+key 83", "-key 83"]);
    expect(keys.slice(4, 6).sort()).toEqual(["-key 16", "-key 17"]);
    expect(keys.slice(6)).toEqual(["+key 13", "-key 13"]);
  });

  test("windows are listed, moved, minimized and closed, as the window manager has them", async () => {
    await using window = await openWindow("Größe 1");
    const { id, hwnd } = window;
    const [listed] = await execute(["AC_list_windows"]);
    expect(listed).toEqual([[hwnd, "Größe 1"]]);
    await execute(["AC_maximize_window", ["Größe"]]);
    await untilWindowSays(windows.env, id, "_NET_WM_STATE_MAXIMIZED_VERT");
    await execute(["AC_minimize_window", ["Größe"]]);
    await untilWindowSays(windows.env, id, "window state: Iconic");
    expect(await execute(["AC_focus_window", ["Größe"]])).toEqual([hwnd]);
    await untilWindowSays(windows.env, id, "window state: Normal");
    await execute(["AC_move_window", { title_substring: "Größe", x: 300, y: 200 }]);
    await execute(["AC_close_window", ["Größe"]]);
    await window.says("close");
    expect(await window.exited).toBe(0);
  });

  test("a screenshot has the pixels that Linux sees on the same screen", async () => {
    await using _window = await openWindow("picture");
    await execute(["AC_focus_window", ["picture"]], ["AC_set_mouse_position", { x: 900, y: 700 }]);
    const pictures = [windows, linux].map(async (machine) => {
      const output = join(machine.home, "screen.png");
      expect(await run(machine, ["screenshot", "--output", machine.named(output)])).toMatchObject({
        exitCode: 0,
      });
      return decode(readFileSync(output));
    });
    const [there, here] = await Promise.all(pictures);
    expect([there?.width, there?.height]).toEqual([1280, 800]);
    expect(there?.data).toEqual(here?.data as never);
    expect(await execute(["AC_get_pixel", [300, 250]])).toMatchObject([{ color: "#123456" }]);
  });

  test("a viewer over wss is shown the screen as Linux sees it, and what changes on it", async () => {
    const ticket = await onWindows.call("/screen/ticket", post({}));
    await using carrier = await carry((await ticket.json()) as Ticket);
    using viewer = await view(carrier);
    expect(viewer.size).toEqual({ width: 1280, height: 800 });
    viewer.encodings(TIGHT, FENCE, CONTINUOUS);
    viewer.start();
    const output = join(linux.home, "seen.png");
    const expected = async () => {
      expect(await run(linux, ["screenshot", "--output", output])).toMatchObject({ exitCode: 0 });
      return pixelsOf(readFileSync(output).toString("base64"));
    };
    await viewer.shows(expected);
    await using _window = await openWindow("live");
    await viewer.shows(expected);
    expect(viewer.colourAt(300, 250)).toEqual([0x12, 0x34, 0x56]);
  });

  test("its clipboard is the one that other programs have", async () => {
    expect(await execute(["AC_set_clipboard", { text: "Grüße 世界" }], ["AC_get_clipboard"])).toEqual([
      null,
      "Grüße 世界",
    ]);
    const { stdout } = Bun.spawnSync(["xclip", "-o", "-selection", "clipboard"], { env: windows.env });
    expect(`${stdout}`).toBe("Grüße 世界");
  });
});

describe("what programs of Windows show, by name:", () => {
  elements(testWith(...PROGRAMS, INTERFACES), () => ({ windows, server: onWindows }));
});
