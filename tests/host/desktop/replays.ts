/**
 * A form that somebody fills in while `svc record` looks on, and that the recorded script fills in again, wherever its window is then.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runToEnd, until } from "../../support";

/** What the form has to hold, as zenity prints it. */
export const WANTED = "Bonn|Max Muster|Post";

/** Milliseconds that a person takes between two things. */
const PERSON_MS = 900;

/** What the rig needs of its caller. */
export interface ReplayParts {
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
  /** The command line of svc, without a subcommand. */
  readonly svc: readonly string[];
}

/** The form, and its recording. */
export function replays({ env, folder, svc }: ReplayParts) {
  const script = join(folder, "made.json");
  const answer = join(folder, "answer");
  const xdotool = (...words: Array<string | number>) =>
    Bun.spawn(["xdotool", ...words.map(String)], { env, stdio: ["ignore", "pipe", "ignore"] }).stdout.text();
  const run = async (...words: string[]) => {
    const {
      stdout: out,
      stderr: said,
      exitCode: code,
    } = await runToEnd([...svc, ...words, "--config-dir", join(folder, "config")], { env });
    return { out, said, code };
  };

  /** Opens the form, its corner at a place. @param first the names of the first two fields. */
  async function open(x: number, y: number, first = ["City", "Name"]) {
    rmSync(answer, { force: true });
    const entries = first.map((name) => `--add-entry=${name}`);
    const fields = [...entries, "--add-combo=Sent by", "--combo-values=Mail|Post|Fax"];
    const flags = ["--forms", "--title=Rec form", "--text=Customer", ...fields];
    const form = Bun.spawn(["zenity", ...flags], {
      env: { ...env, LC_ALL: "C.UTF-8", NO_AT_BRIDGE: "1" },
      stdio: ["ignore", Bun.file(answer), "ignore"],
    });
    const find = () => xdotool("search", "--onlyvisible", "--name", "^Rec form$");
    const id = (await until("the form", async () => (await find()).trim() || undefined)).split("\n")[0] ?? "";
    await xdotool("windowmove", "--sync", id, x, y, "windowactivate", "--sync", id);
    return {
      id,
      [Symbol.asyncDispose]: async () => {
        form.kill();
        await form.exited;
      },
    };
  }
  const saved = () => {
    try {
      return readFileSync(answer, "utf8").trim();
    } catch {
      return "";
    }
  };

  return {
    script,
    /** Fills the form in as a person does, and records that. */
    async record(): Promise<void> {
      await using form = await open(200, 150);
      const child = Bun.spawn(
        [...svc, "record", script, "--replace", "--config-dir", join(folder, "config")],
        {
          env,
          stdio: ["ignore", "ignore", "pipe"],
        },
      );
      let said = "";
      const reading = (async () => {
        for await (const piece of child.stderr) said += new TextDecoder().decode(piece);
      })();
      await until("it to listen", () => said.includes("recording;"));
      const places = await fieldsOf(form.id);
      for (const [place, ...keys] of places) {
        await xdotool("mousemove", ...place);
        await Bun.sleep(PERSON_MS);
        await xdotool("click", 1);
        await Bun.sleep(PERSON_MS);
        for (const key of keys) {
          if (key.startsWith("key:")) await xdotool("key", key.slice(4));
          else await xdotool("type", "--delay", 60, key);
          await Bun.sleep(PERSON_MS);
        }
      }
      await until("the answer", () => saved() === WANTED || undefined);
      await Bun.sleep(PERSON_MS);
      await xdotool("key", "Escape");
      await Promise.all([child.exited, reading]);
      writeFileSync(join(folder, "said"), said);
    },
    /** Replays it over a form at a place. @returns what the form held then, and what svc said. */
    async replay(x: number, y: number, first?: string[]) {
      await using _form = await open(x, y, first);
      const { said, code, out } = await run("execute", script);
      return { held: saved(), code, said, out };
    },
  };

  /** Where the fields are, and what is typed into each: from the size of the window, as zenity lays it out. */
  async function fieldsOf(id: string): Promise<Array<[place: [number, number], ...keys: string[]]>> {
    const info = await Bun.spawn(["xwininfo", "-id", id], {
      env,
      stdio: ["ignore", "pipe", "ignore"],
    }).stdout.text();
    const number = (name: string) => Number(new RegExp(`${name}:\\s+(-?\\d+)$`, "m").exec(info)?.[1]);
    const right = number("Absolute upper-left X") + number("Width");
    const bottom = number("Absolute upper-left Y") + number("Height");
    const row = (nth: number) => bottom - 147 + nth * 40;
    return [
      [[right - 100, row(0)], "Bonn"],
      [[right - 100, row(1)], "Max Muster"],
      [[right - 100, row(2)], "key:Down", "key:Return"],
      [[right - 50, row(3) + 2]],
    ];
  }
}
