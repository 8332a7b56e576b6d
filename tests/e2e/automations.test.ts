/**
 * Automations as their authors wrote them, run by the compiled binary against real programs. Each has to be right each time:
 * `npm run automations` runs each 20 times, `npm run automations -- 3` (or `SVC_AUTOMATION_RUNS=3`) three times.
 *
 * What is right is seen in what the programs have written, not in what svc says of it.
 */
import { expect, setDefaultTimeout } from "bun:test";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { replays, WANTED } from "../host/desktop/replays";
import { startDisplay } from "../host/desktop/support";
import { installBinary, testWith } from "../support";

setDefaultTimeout(3_600_000);

const RUNS = Number(process.env.SVC_AUTOMATION_RUNS ?? 1);
const AUTOMATIONS = join(import.meta.dir, "..", "fixtures", "automations");
const PROGRAMS = ["Xvfb", "openbox"];

/** What a run has left, and what svc said. */
interface Ran {
  readonly exitCode: number;
  readonly stderr: string;
  /** The content of a file in its folder; empty without one. */
  left(name: string): string;
}

/** Runs an automation again and again on one display, in one folder. @param seen what has to be as `wanted` after each run. */
function automation<T>(name: string, programs: readonly string[], seen: (ran: Ran) => T, wanted: T): void {
  testWith(...PROGRAMS, ...programs)(`the automation ${name} is right`, async () => {
    await using display = await startDisplay();
    using folder = installBinary();
    cpSync(AUTOMATIONS, folder.path, { recursive: true });
    for (const file of readdirSync(folder.path).filter((one) => one.endsWith(".yaml"))) {
      const path = join(folder.path, file);
      writeFileSync(path, readFileSync(path, "utf8").replaceAll("WORK", folder.path));
    }
    const left = (file: string) => {
      const path = join(folder.path, file);
      return existsSync(path) ? readFileSync(path, "utf8") : "";
    };
    const env = { ...display.env, HOME: folder.path, NO_AT_BRIDGE: "1" };
    for (let nth = 1; nth <= RUNS; nth++) {
      for (const file of LEFT) rmSync(join(folder.path, file), { force: true });
      const args = ["execute", `${name}.yaml`, "--allow-shell", "--timeout", "3m"];
      const { exitCode, stdout, stderr } = await folder.run(args, { env });
      const ran: unknown = await settled(() => seen({ exitCode, stderr, left }), wanted);
      const said = Bun.deepEquals(ran, wanted) && exitCode === 0 ? "" : stdout + stderr;
      expect({ nth, exitCode, said, ran }).toEqual({ nth, exitCode: 0, said: "", ran: wanted });
    }
  });
}

/** What is seen once it is as `wanted`; else what is there 5 s later: programs write after the run has ended that started them. */
async function settled<T>(look: () => T, wanted: T): Promise<T> {
  for (const late = performance.now() + 5_000; performance.now() < late; await Bun.sleep(20)) {
    const found = look();
    if (Bun.deepEquals(found, wanted)) return found;
  }
  return look();
}

/** What they write. */
const LEFT = ["out.txt", "dialog.txt", "tries", "dst.txt", "src.txt", "chromium-evidence.png"];

const CUSTOMERS = [
  "Jörg Müller|Hauptstraße 1|Köln|12.50",
  "Smith, John|High St 5|London|99.00",
  "François Dupont|Rue de l'Église|Orléans|3.10",
  "Łukasz Żak|ul. Złota 7|Łódź|45.00",
  "李雷|中山路 8|北京|7.77",
];

automation("form", ["zenity", "python3"], ({ left }) => left("out.txt").trim().split("\n"), CUSTOMERS);
automation("read-text", ["zenity", "tesseract"], () => null, null);
automation("dialog", ["zenity"], ({ left }) => /^(yes|none)\n$/.test(left("dialog.txt")), true);
automation("retry", ["zenity"], ({ left }) => left("tries"), "x\nx\nx\n");
automation(
  "clip",
  ["mousepad", "zenity", "tesseract"],
  ({ left }) => left("dst.txt").trimEnd(),
  "Grüße aus Köln – 42 €\nzweite Zeile",
);
automation("parent", [], ({ stderr }) => stderr.includes("total is 10"), true);
automation(
  "chromium",
  ["chromium", "tesseract"],
  ({ left }) => left("chromium-evidence.png").length > 10_000,
  true,
);
automation("calc", ["libreoffice"], () => null, null);
automation("ok-in-booking", ["zenity", "tesseract"], () => null, null);

testWith(
  ...PROGRAMS,
  "xdotool",
  "xwininfo",
  "zenity",
)("a recording is replayed right", async () => {
  await using display = await startDisplay();
  using folder = installBinary();
  const svc = [join(folder.path, "svc")];
  const { record, replay } = replays({ env: display.env, folder: folder.path, svc });
  await record();
  for (let nth = 1; nth <= RUNS; nth++) {
    const { held, code, said } = await replay(200 + 23 * (nth % 20), 60 + 13 * (nth % 20));
    expect({ nth, held, code, said }).toEqual({ nth, held: WANTED, code: 0, said: "" });
  }
});
