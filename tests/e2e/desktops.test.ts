/** Desktops on demand by the compiled binary. */
import { describe, expect, setDefaultTimeout } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startDisplay } from "../host/desktop/support";
import {
  installBinary,
  post,
  type ServerProcess,
  serveBinary,
  temporaryFolder,
  testWith,
  until,
} from "../support";

setDefaultTimeout(120_000);

const NEEDED = ["Xvfb", "openbox", "dbus-daemon", "xterm", "zenity"] as const;
const FLAGS = ["--allow-shell", "--desktop-user", process.env.USER || "root"];

/** A server without a display of its own. */
const serve = () => serveBinary(FLAGS, { env: { ...process.env, DISPLAY: "" } });

interface Report {
  readonly status: string;
  readonly error_text: string | null;
  readonly outcomes: ReadonlyArray<{ readonly result: unknown }>;
}

const bodyOf = async <T>(answer: Response | Promise<Response>) => (await (await answer).json()) as T;

/** What `AC_shell_command` printed as the first action. */
const printedIn = ({ outcomes: [first] }: Report) => `${Object(first?.result).stdout}`.trim();

/** What a list becomes on a server. */
async function execute(host: ServerProcess, actions: unknown, more: object = {}) {
  const answer = await host.call("/execute", post({ actions, stop_on_error: true, ...more }));
  return bodyOf<Report>(answer);
}

const environmentsWith = (text: string): number =>
  readdirSync("/proc").filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "latin1").includes(text);
    } catch {
      return false;
    }
  }).length;

const FORM = { command: ["zenity", "--forms", "--title=Order 12", "--add-entry=Customer"] };

describe("desktops on demand:", () => {
  testWith(...NEEDED)("a run has a screen of its own, finds by name on it, and leaves nothing", async () => {
    await using host = await serve();
    const report = await execute(
      host,
      [
        ["AC_shell_command", { shell_command: "echo $SVC_DESKTOP", as: "out" }],
        ["AC_launch", FORM],
        ["AC_set_element_text", { element: 'textbox "Customer"', text: "ACME" }],
        ["AC_screen_size"],
      ],
      { desktop: { name: "new", size: "900x600" } },
    );
    expect(report.error_text).toBeNull();
    expect(report.outcomes[3]?.result).toEqual([900, 600]);
    const folder = printedIn(report);
    expect(folder).toStartWith("/");
    expect(environmentsWith(folder)).toBe(0);
    expect(await (await host.call("/desktops")).json()).toMatchObject({ desktops: [], count: 0 });
  });

  testWith(...NEEDED)(
    "elements are found by name where the folder for temporary files has a blank and signs in it",
    async () => {
      using folder = temporaryFolder();
      const TMPDIR = join(folder.path, "my +(files)");
      mkdirSync(TMPDIR);
      await using host = await serveBinary(FLAGS, { env: { ...process.env, DISPLAY: "", TMPDIR } });
      const list = [
        ["AC_launch", FORM],
        ["AC_set_element_text", { element: 'textbox "Customer"', text: "ACME" }],
      ];
      expect((await execute(host, list, { desktop: "new" })).error_text).toBeNull();
    },
  );

  testWith(...NEEDED)("runs on two desktops use pointer and keyboard at the same time", async () => {
    await using host = await serve();
    await Promise.all(["one", "other"].map((name) => host.call("/desktops/start", post({ name }))));
    // Each holds its own pointer and keyboard until the file of the other is there.
    const meet = (own: string, other: string) => [
      ["AC_set_mouse_position", { x: 10, y: 10 }],
      [
        "AC_shell_command",
        { shell_command: `touch ${own}; until [ -e ${other} ]; do sleep 0.02; done`, timeout_s: 60 },
      ],
      ["AC_click_mouse", { x: 20, y: 20 }],
    ];
    const [a, b] = ["a", "b"].map((name) => join(host.configDir, `met-${name}`)) as [string, string];
    const reports = await Promise.all([
      execute(host, meet(a, b), { desktop: "one" }),
      execute(host, meet(b, a), { desktop: "other" }),
    ]);
    expect(reports.map(({ status }) => status)).toEqual(["ok", "ok"]);
  });

  testWith(...NEEDED)(
    "one that is kept has its programs open for the next run, and is looked at by name",
    async () => {
      await using host = await serve();
      const first = await execute(
        host,
        [
          ["AC_launch", { ...FORM, detach: true }],
          ["AC_wait_window", { title_substring: "Order 12" }],
        ],
        {
          desktop: "orders",
        },
      );
      expect(first.error_text).toBeNull();
      const second = await execute(host, [["AC_locate_element", { element: 'textbox "Customer"' }]], {
        desktop: "orders",
      });
      expect(second.error_text).toBeNull();
      const shot = await bodyOf<{ width: number; height: number }>(host.call("/screenshot?desktop=orders"));
      expect([shot.width, shot.height]).toEqual([1280, 800]);
      const small = await host.call("/screen/thumbnail?desktop=orders&width=64");
      expect(small.headers.get("content-type")).toBe("image/jpeg");
      const none = await host.call("/screenshot?desktop=nope");
      expect(none.status).toBe(404);
      const ticket = await host.call("/screen/ticket", post({ desktop: "orders" }));
      expect(ticket.status).toBe(200);
      const stopped = await host.call("/desktops/stop", post({ name: "orders" }));
      expect(stopped.status).toBe(200);
      expect(environmentsWith("zenity--forms")).toBe(0);
    },
  );

  testWith(...NEEDED)("a command beside the server works on a desktop that the server keeps", async () => {
    using here = installBinary();
    const server = Bun.spawn(
      ["./svc", "serve", "--port", "0", "--json", "--config-dir", "config", ...FLAGS],
      {
        cwd: here.path,
        env: { ...process.env, DISPLAY: "" },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    await using _server = {
      async [Symbol.asyncDispose]() {
        server.kill();
        await server.exited;
      },
    };
    await server.stdout.getReader().read();
    writeFileSync(
      join(here.path, "job.json"),
      JSON.stringify({
        desktop: "orders",
        actions: [
          ["AC_launch", { ...FORM, detach: true }],
          ["AC_wait_window", { title_substring: "Order 12" }],
        ],
      }),
    );
    const ran = await here.run(["execute", "job.json", "--allow-shell"], { env: { DISPLAY: "" } });
    expect(ran.stderr).toBe("");
    const tree = await here.run(["tree", "--desktop", "orders"], { env: { DISPLAY: "" } });
    expect(tree.stdout).toContain('textbox "Customer"');
    const listed = await here.run(["desktops", "list"]);
    expect(listed.stdout).toContain("orders   kept");
    const other = await here.run([
      "execute",
      '[["AC_screen_size"]]',
      "--desktop",
      "orders",
      "--size",
      "640x480",
    ]);
    expect(other.stderr).toContain("the desktop orders runs with another size");
  });

  testWith(...NEEDED, "head")(
    "a run whose desktop holds more files than it may ends with it, and says why",
    async () => {
      const env = { ...process.env, DISPLAY: "" };
      await using host = await serveBinary([...FLAGS, "--desktop-disk", "16MiB"], { env });
      const fill = "for f in a b; do head -c 10000000 /dev/zero >$TMPDIR/$f; done; sleep 100";
      const report = await execute(host, [["AC_shell_command", { shell_command: fill, timeout_s: 200 }]], {
        desktop: "new",
      });
      expect(report.error_text).toMatch(
        /^its desktop has ended: its folders hold [\d.]+ MiB, which is more than --desktop-disk 16 MiB allows$/,
      );
    },
  );

  testWith(...NEEDED)("a run whose X server dies ends at once, and says so", async () => {
    await using host = await serve();
    const kill =
      'for p in /proc/[0-9]*; do if [ "$(cat $p/comm 2>/dev/null)" = Xvfb ] && grep -qz "^SVC_DESKTOP=$SVC_DESKTOP$" $p/environ; then kill -9 ${p#/proc/}; fi; done; exec sleep 100';
    const report = await execute(host, [["AC_shell_command", { shell_command: kill, timeout_s: 200 }]], {
      desktop: "new",
    });
    expect(report.error_text).toBe("its desktop has ended: Xvfb has ended");
  });

  testWith(...NEEDED)("a WebDriver session has one of its own, which ends with it", async () => {
    await using host = await serve();
    const alwaysMatch = { "svc:desktop": "new", "svc:app": FORM.command };
    const made = await host.call("/webdriver/session", post({ capabilities: { alwaysMatch } }));
    const { value } = await bodyOf<{ value: { sessionId: string } }>(made);
    const session = `/webdriver/session/${value.sessionId}`;
    const found = await host.call(
      `${session}/element`,
      post({ using: "-svc locator", value: 'textbox "Customer"' }),
    );
    expect(found.status).toBe(200);
    const { desktops } = await bodyOf<{ desktops: Array<{ name: string }> }>(host.call("/desktops"));
    expect(desktops).toHaveLength(1);
    await host.call(session, { method: "DELETE" });
    await until(
      "the desktop to end",
      async () => (await bodyOf<{ count: number }>(host.call("/desktops"))).count === 0,
    );
  });

  testWith(...NEEDED)("each command of a WebDriver session says that its desktop has ended", async () => {
    await using host = await serve();
    const alwaysMatch = { "svc:desktop": "orders" };
    const made = await host.call("/webdriver/session", post({ capabilities: { alwaysMatch } }));
    const { value } = await bodyOf<{ value: { sessionId: string } }>(made);
    await host.call("/desktops/stop", post({ name: "orders" }));
    const asked = await host.call(`/webdriver/session/${value.sessionId}/screenshot`);
    expect([asked.status, await bodyOf(asked)]).toEqual([
      404,
      {
        value: expect.objectContaining({
          error: "no such window",
          message: expect.stringMatching(/^the desktop of this session has ended: /),
        }),
      },
    ]);
    const ended = await host.call(`/webdriver/session/${value.sessionId}`, { method: "DELETE" });
    expect(ended.status).toBe(200);
  });

  testWith(...NEEDED)(
    "a server of root starts none without --desktop-user, and says what to do",
    async () => {
      if (process.getuid?.() !== 0) return;
      await using host = await serveBinary(["--allow-shell"]);
      const refused = await host.call("/desktops/start", post({ name: "orders" }));
      expect(refused.status).toBe(503);
      expect((await bodyOf<{ error: string }>(refused)).error).toContain("svc serve --desktop-user ann");
    },
  );

  testWith(...NEEDED)("programs of another user's desktop run as that user", async () => {
    if (process.getuid?.() !== 0) return;
    await using host = await serveBinary(["--allow-shell", "--desktop-user", "nobody"], {
      env: { ...process.env, DISPLAY: "" },
    });
    const report = await execute(
      host,
      [["AC_shell_command", { shell_command: "id -un" }], ["AC_screen_size"]],
      {
        desktop: "new",
      },
    );
    expect(report.error_text).toBeNull();
    expect(printedIn(report)).toBe("nobody");
  });
});

describe.each([
  ["Xvnc", "openbox"],
  ["Xephyr", "openbox"],
  ["Xvfb", "icewm"],
  ["Xvfb", "fluxbox"],
  ["Xvfb", "xfwm4"],
  ["Xvfb", "metacity"],
])("where the host has %s and %s alone,", (server, manager) => {
  testWith(
    server,
    manager,
    "dbus-daemon",
    "zenity",
    "xterm",
  )(
    "a form is filled in by name and by hand, a window behind it comes to the front, and nothing is left",
    async () => {
      using folder = temporaryFolder();
      for (const program of [server, manager, "dbus-daemon", "zenity", "xterm", "sh", "echo", "getent"])
        symlinkSync(`${Bun.which(program)}`, join(folder.path, program));
      // Xephyr is a window on a screen that is there.
      await using outer = server === "Xephyr" ? await startDisplay() : undefined;
      const env = { ...process.env, DISPLAY: outer?.env.DISPLAY ?? "", PATH: folder.path };
      await using host = await serveBinary(FLAGS, { env });
      const report = await execute(
        host,
        [
          ["AC_shell_command", { shell_command: "echo $SVC_DESKTOP", as: "out" }],
          ["AC_launch", FORM],
          ["AC_wait_window", { title_substring: "Order 12" }],
          ["AC_launch", { command: ["xterm", "-T", "Terminal", "-geometry", "80x24+0+0"] }],
          ["AC_wait_window", { title_substring: "Terminal" }],
          ["AC_focus_window", { title_substring: "Order 12" }],
          ["AC_click_element", { element: 'textbox "Customer"' }],
          ["AC_write", { write_string: "ACME é" }],
          ["AC_assert_element", { element: 'textbox "Customer"', holds: "ACME é" }],
          ["AC_screen_size"],
        ],
        { desktop: { name: "new", size: "1000x700" } },
      );
      expect(report.error_text).toBeNull();
      expect(report.outcomes.at(-1)?.result).toEqual([1000, 700]);
      expect(environmentsWith(printedIn(report))).toBe(0);
    },
  );
});
