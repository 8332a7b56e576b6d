/** A form of another program (yad, GTK): filled in for each row of a list, with a trace; and recorded, then replayed elsewhere. */
import { expect, setDefaultTimeout } from "bun:test";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAMS, startDisplay } from "../host/desktop/support";
import { installBinary, testWith, until } from "../support";

setDefaultTimeout(180_000);
const testOnDisplay = testWith(...PROGRAMS, "yad", "xdotool");

/** A display on which a form asks for one customer after the other, each at another place, and what it has saved. */
async function setUp() {
  const display = await startDisplay();
  const installed = installBinary();
  const folder = installed.path;
  const saved = join(folder, "saved");
  const places = join(folder, "places");
  appendFileSync(saved, "");
  mkdirSync(join(folder, "home"));
  const { env: given } = display;
  // A theme of the host's own, or a cursor that blinks, would be in the pictures.
  const env: NodeJS.ProcessEnv = {
    ...given,
    HOME: join(folder, "home"),
    GTK_THEME: "Adwaita",
    NO_AT_BRIDGE: "1",
  };
  let form: ReturnType<typeof Bun.spawn> | undefined;
  /** A form at each of the places, each opened some time after the one before was saved. */
  const open = (...at: readonly string[]) => {
    writeFileSync(places, `${at.join("\n")}\n`);
    const yad =
      'yad --title Customer --form --field=Name --field=City --button=Save:0 --geometry="400x200$place" </dev/null >> "$1"';
    form = Bun.spawn(["sh", "-c", `while read -r place; do sleep 0.4; ${yad}; done < "$0"`, places, saved], {
      env,
      stdio: ["ignore", "ignore", "ignore"],
    });
  };
  const svc = async (...words: readonly string[]) => {
    const { stdout: out, stderr: said, exitCode: code } = await installed.run(words, { env });
    return { out, said, code };
  };
  const xdotool = async (...words: readonly string[]) => {
    const child = Bun.spawn(["xdotool", ...words], { env, stdio: ["ignore", "pipe", "ignore"] });
    return [await child.stdout.text(), await child.exited] as const;
  };
  return {
    ...{ env, folder, open, svc, xdotool },
    lines: (count: number) =>
      until(`${count} rows to be saved`, () => {
        const rows = readFileSync(saved, "utf8").split("\n").slice(0, -1);
        return rows.length >= count ? rows : undefined;
      }),
    /** Where the form is, with its title bar, once it is there and drawn. */
    async place() {
      const look = [
        ["AC_wait_window", { title_substring: "Customer" }],
        ["AC_wait_still", { still: 0.3, timeout: 3 }],
        ["AC_windows", { title_substring: "Customer" }],
      ];
      const { out } = await svc("execute", JSON.stringify(look), "--json");
      const { outcomes } = JSON.parse(out) as { outcomes: Array<{ result?: unknown }> };
      const rows = (outcomes[2]?.result ?? []) as Array<Record<"x" | "y" | "width" | "height", number>>;
      const [row] = rows;
      if (!row) throw new Error(`no form: ${out}`);
      return row;
    },
    async [Symbol.asyncDispose]() {
      form?.kill();
      await form?.exited;
      await display[Symbol.asyncDispose]();
      installed[Symbol.dispose]();
    },
  };
}

testOnDisplay(
  "a form is filled in for each row of a list, checked by image and text, with a trace",
  async () => {
    await using host = await setUp();
    host.open("+100+100", "+420+260");
    const { x, y, width, height } = await host.place();
    const pictures = {
      "name.png": [x + 2, y + 24, x + 44, y + 54],
      "save.png": [x + width - 90, y + height - 46, x + width - 3, y + height - 6],
    };
    for (const [name, region] of Object.entries(pictures)) {
      const shot = await host.svc("screenshot", "--output", name, "--region", region.join(","));
      expect(shot).toMatchObject({ code: 0 });
    }
    const form = { title_substring: "Customer" };
    const rows = [
      { name: "Ada Lovelace", city: "London" },
      { name: "Zoë Müller", city: "Köln" },
    ];
    const script = [
      [
        "AC_for_each",
        {
          list: rows,
          var: "row",
          body: [
            // The form opens some time after the one before.
            [
              "AC_retry",
              { max_attempts: 10, backoff: 0.2, body: [["AC_wait_window", { ...form, timeout: 0 }]] },
            ],
            ["AC_focus_window", form],
            ["AC_assert_image", { image: "save.png", message: "the form has no Save" }],
            ["AC_locate_and_click", { image: "name.png", offset_x: 100, timeout: 5 }],
            ["AC_write", { write_string: "${row.name}" }],
            ["AC_hotkey", { key_code_list: ["ctrl", "a"] }],
            ["AC_hotkey", { key_code_list: ["ctrl", "c"] }],
            [
              "AC_retry",
              {
                body: [
                  ["AC_get_clipboard", { as: "text" }],
                  ["AC_assert", { name: "text", value: "${row.name}" }],
                ],
              },
            ],
            ["AC_type_keyboard", { keycode: "tab" }],
            ["AC_write", { write_string: "${row.city}" }],
            ["AC_locate_and_click", { image: "save.png", timeout: 5 }],
            ["AC_wait_window_gone", { ...form, timeout: 5 }],
          ],
        },
      ],
    ];
    writeFileSync(join(host.folder, "fill.json"), JSON.stringify(script));
    const ran = await host.svc("execute", "fill.json", "--stop-on-error", "--trace", "run.zip");
    expect([ran.code, ran.said]).toEqual([0, expect.stringContaining("[info] trace: ")]);
    expect(await host.lines(2)).toEqual(["Ada Lovelace|London|", "Zoë Müller|Köln|"]);

    const shown = await host.svc("trace", "show", "run.zip", "--json", "--pictures", "shots");
    const { run, steps } = JSON.parse(shown.out) as {
      run: { status: string; pictures: number };
      steps: Array<{
        command: string;
        ok: boolean;
        place: string;
        before: string | null;
        after: string | null;
      }>;
    };
    expect(run.status).toBe("ok");
    const retried = steps.filter(({ place, ok }) => place === "[0].body[0].body[0]" && !ok);
    expect(retried.length).toBeGreaterThan(0);
    const written = steps.filter(({ command }) => command === "AC_write");
    expect(written.length).toBe(4);
    for (const { before, after } of written) expect([before, after]).not.toContain(null);
    expect(new Set(written.map(({ after }) => after)).size).toBe(4);
    expect(shown.out).not.toMatch(/Lovelace|Müller|Köln/);
  },
);

/** A script as `svc record` writes it. */
interface Recorded {
  readonly stop_on_error: boolean;
  readonly actions: ReadonlyArray<readonly [command: string, input?: unknown]>;
}

/** What the person did, without what waits between the acts and looks at what came of them. */
const actsOf = ({ actions }: Recorded) =>
  actions.filter(([command]) => !/^AC_(?:wait_still|wait_image|wait_window_gone)$/.test(command));

testOnDisplay(
  "what a person does in a form is recorded, and done again where the window is elsewhere",
  async () => {
    await using host = await setUp();
    host.open("+100+100", "+640+380");
    const { x, y, width, height } = await host.place();
    const recorder = Bun.spawn(["./svc", "record", "made.json", "--config-dir", "config"], {
      env: host.env,
      cwd: host.folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    const reading = (async () => {
      for await (const piece of recorder.stderr) said += new TextDecoder().decode(piece);
    })();
    await until("the recording", () => said.includes("recording;"));
    const click = (left: number, top: number) =>
      host.xdotool("mousemove", `${left}`, `${top}`, "sleep", "0.3", "click", "1", "sleep", "0.3");
    await click(x + Math.floor(width / 2), y + 38);
    await host.xdotool("type", "--delay", "30", "Grace Hopper");
    await host.xdotool("key", "Tab");
    await host.xdotool("type", "--delay", "30", "New York");
    await click(x + width - 45, y + height - 26);
    expect(await host.lines(1)).toEqual(["Grace Hopper|New York|"]);
    await host.xdotool("key", "Escape");
    await Promise.all([recorder.exited, reading]);
    const made = JSON.parse(readFileSync(join(host.folder, "made.json"), "utf8")) as Recorded;
    const image = (nth: number) => expect.objectContaining({ image: `made.images/${nth}.png` });
    expect(made.stop_on_error).toBe(true);
    expect(actsOf(made)).toEqual([
      ["AC_wait_window", { title_substring: "Customer", timeout: 10 }],
      ["AC_focus_window", { title_substring: "Customer" }],
      ["AC_locate_and_click", image(1)],
      ["AC_write", { write_string: "Grace Hopper" }],
      ["AC_type_keyboard", { keycode: "tab" }],
      ["AC_write", { write_string: "New York" }],
      ["AC_locate_and_click", image(2)],
    ]);

    const moved = await host.place();
    expect([moved.x, moved.y]).not.toEqual([x, y]);
    const ran = await host.svc("execute", "made.json", "--stop-on-error");
    expect([ran.code, ran.out]).toEqual([0, expect.any(String)]);
    expect(await host.lines(2)).toEqual(["Grace Hopper|New York|", "Grace Hopper|New York|"]);
  },
);

testOnDisplay(
  "each window is awaited and focused before the first click in it, also where another has the focus",
  async () => {
    await using host = await setUp();
    host.open("+100+100", "+640+380");
    const { x, y, width, height } = await host.place();
    const other = () =>
      Bun.spawn(["xterm", "-T", "other", "-geometry", "20x5+900+50"], {
        env: host.env,
        stdio: ["ignore", "ignore", "ignore"],
      });
    const first = other();
    await host.svc("desktop", "wait-window", "other");
    await host.svc("desktop", "focus-window", "Customer");
    const recorder = Bun.spawn(["./svc", "record", "made.json", "--config-dir", "config"], {
      env: host.env,
      cwd: host.folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    const reading = (async () => {
      for await (const piece of recorder.stderr) said += new TextDecoder().decode(piece);
    })();
    try {
      await until("the recording", () => said.includes("recording;"));
      const click = (left: number, top: number) =>
        host.xdotool("mousemove", `${left}`, `${top}`, "sleep", "0.5", "click", "1", "sleep", "0.5");
      await click(x + Math.floor(width / 2), y + 38);
      await host.xdotool("type", "--delay", "30", "Grace");
      await click(x + width - 45, y + height - 26);
      expect(await host.lines(1)).toEqual(["Grace||"]);
      await host.place();
      await click(930, 100);
      // Escape would close the next form.
      recorder.kill("SIGINT");
      await Promise.all([recorder.exited, reading]);
      const made = JSON.parse(readFileSync(join(host.folder, "made.json"), "utf8")) as Recorded;
      const acts = actsOf(made);
      expect(acts.map(([command]) => command)).toEqual([
        "AC_wait_window",
        "AC_focus_window",
        "AC_locate_and_click",
        "AC_write",
        "AC_locate_and_click",
        "AC_wait_window",
        "AC_focus_window",
        expect.stringMatching(/^AC_(?:click_mouse|locate_and_click)$/),
      ]);
      expect(said).toContain('the window "other" did not have the focus');
      await host.svc("desktop", "focus-window", "other");
      // Without the last click: a picture of a window without the focus is not found again, as the warning says.
      writeFileSync(join(host.folder, "again.json"), JSON.stringify(acts.slice(0, -1)));
      const ran = await host.svc("execute", "again.json", "--stop-on-error");
      expect([ran.code, ran.out]).toEqual([0, expect.any(String)]);
      expect(await host.lines(2)).toEqual(["Grace||", "Grace||"]);
    } finally {
      recorder.kill();
      first.kill();
      await Promise.all([recorder.exited, first.exited]);
    }
  },
);
