/** A form with a password (zenity, GTK) that is recorded by name, and done again where its window has another place and size. */
import { expect, setDefaultTimeout } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAMS, startSession } from "../host/desktop/elements/support";
import { installBinary, testWith, until } from "../support";

setDefaultTimeout(240_000);
const SECRET = "hunter4711";
/** How often it is done again; the measure of the bars is 20. */
const REPLAYS = Number(process.env.SVC_REPLAYS ?? 3);

testWith(...PROGRAMS, "xdotool")(
  "a form is recorded by its names without its password, and done again elsewhere and in another size",
  async () => {
    await using session = await startSession();
    using installed = installBinary();
    const folder = installed.path;
    const { env, elements } = session;
    const xdotool = async (...words: Array<string | number>) =>
      Bun.spawn(["xdotool", ...words.map(String)], {
        env,
        stdio: ["ignore", "pipe", "ignore"],
      }).stdout.text();
    const open = async (x: number, y: number, size?: [number, number]) => {
      const fields = [
        "--add-entry=City",
        "--add-password=PIN",
        "--add-combo=Sent by",
        "--combo-values=Mail|Post|Fax",
      ];
      const form = session.start("zenity", "--forms", "--title=Rec form", "--text=Customer", ...fields);
      const find = () => xdotool("search", "--onlyvisible", "--name", "^Rec form$");
      const found = await until("the form", async () => (await find()).trim() || undefined);
      const id = found.split("\n")[0] ?? "";
      await xdotool("windowmove", "--sync", id, x, y);
      if (size) await xdotool("windowsize", id, ...size);
      await xdotool("windowactivate", "--sync", id);
      return form;
    };
    const place = async (role: string, name: string) => {
      const found = await until(`${role} ${name}`, async () => {
        const { elements: all } = await elements.find({ role, name }, 10);
        return all.find(({ showing, center }) => showing && center)?.center ?? undefined;
      });
      return found;
    };
    const form = await open(200, 150);
    const recorder = Bun.spawn(["./svc", "record", "made.json", "--config-dir", "config"], {
      ...{ env, cwd: folder, stdio: ["ignore", "ignore", "pipe"] as const },
    });
    let said = "";
    const reading = (async () => {
      for await (const piece of recorder.stderr) said += new TextDecoder().decode(piece);
    })();
    await until("the recording", () => said.includes("recording;"));
    expect(said).toContain("A field that says that it is secret is written as ${password}");
    const click = async (role: string, name: string) =>
      xdotool("mousemove", ...(await place(role, name)), "sleep", 0.5, "click", 1, "sleep", 0.5);
    await click("textbox", "City");
    await xdotool("type", "--delay", 60, "Bonn");
    await xdotool("sleep", 0.3, "key", "Tab", "sleep", 0.5);
    await xdotool("type", "--delay", 60, SECRET);
    await xdotool("sleep", 0.5);
    await click("combobox", "Sent by");
    await click("menuitem", "Post");
    await click("button", "OK");
    expect(await form.stdout.text()).toBe(`Bonn|${SECRET}|Post\n`);
    await xdotool("sleep", 0.5, "key", "Escape");
    await Promise.all([recorder.exited, reading]);
    const script = readFileSync(join(folder, "made.json"), "utf8");
    const made = JSON.parse(script);
    expect(made.needs).toEqual(["password"]);
    const acts = made.actions.filter(
      ([command]: [string]) => !/^AC_(?:wait_still|wait_window|wait_window_gone|focus_window)$/.test(command),
    );
    const timeout = 10;
    expect(acts).toEqual([
      ["AC_click_element", { element: 'textbox "City"', timeout }],
      ["AC_write", { write_string: "Bonn" }],
      ["AC_type_keyboard", { keycode: "tab" }],
      ["AC_write", { write_string: "${password}" }],
      ["AC_click_element", { element: expect.stringMatching(/^combobox /), timeout }],
      ["AC_click_element", { element: expect.stringMatching(/^menuitem "Post"/), timeout }],
      ["AC_click_element", { element: 'button "OK"', timeout }],
    ]);
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
      if (/json|log/.test(name)) expect(await Bun.file(join(folder, name)).text()).not.toContain(SECRET);
    const bare = await installed.run(["execute", "made.json"], { env });
    expect([bare.exitCode, bare.stderr]).toEqual([2, expect.stringContaining("the script needs password")]);
    writeFileSync(join(folder, "pin.json"), JSON.stringify({ password: SECRET }));
    let good = 0;
    for (let nth = 0; nth < REPLAYS; nth++) {
      const again = await open(40 + nth * 30, 420 - nth * 15, [420 + nth * 20, 330 + nth * 8]);
      const ran = await installed.run(["execute", "made.json", "--var-file", "pin.json"], { env });
      const isDone = ran.exitCode === 0 && (await again.stdout.text()) === `Bonn|${SECRET}|Post\n`;
      if (isDone) good++;
      else {
        process.stderr.write(`replay ${nth}: ${ran.exitCode} ${ran.stdout} ${ran.stderr}\n`);
        again.kill("SIGKILL");
      }
    }
    expect(good).toBeGreaterThanOrEqual(Math.floor(REPLAYS * 0.95));
  },
);
