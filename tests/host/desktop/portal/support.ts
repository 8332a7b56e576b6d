/** A portal of a test's own (`portal.py`), and what happens in it. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The program that runs it. */
const PYTHON = "/usr/bin/python3";
/** What it imports (python3-gi). */
export const GI = "/usr/lib/python3/dist-packages/gi";
/** What it needs, and its bus. */
export const PORTAL_PROGRAMS = ["dbus-daemon", PYTHON, GI] as const;

/** What there is in a portal; the rest is as Plasma has it. */
export interface PortalOptions {
  /** Of RemoteDesktop; 0 for none. */
  readonly version?: number;
  /** `AvailableCursorModes`; 0 for no ScreenCast. */
  readonly modes?: number;
  /** Whether there is the store that the tokens are in. */
  readonly store?: boolean;
  /** The address of the bus on which Mutter does what a session may. */
  readonly mutter?: string;
}

/** The command line of a portal that keeps its files in `folder`. */
export const portalCommand = (folder: string, options: PortalOptions = {}): string[] => [
  PYTHON,
  // A user that is not root may not read the folder of the tests.
  "-c",
  readFileSync(join(import.meta.dir, "portal.py"), "utf8"),
  JSON.stringify({ ...options, folder }),
];

/** A session bus on which nothing is started that the host has: a portal of its own, where there is one. */
const busConfig = (folder: string) => `<busconfig><type>session</type>
<listen>unix:path=${join(folder, "portal-bus")}</listen><auth>EXTERNAL</auth><policy context="default">
<allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>`;

/** The command line of such a bus, which prints its address. @param folder for its files: the socket is there too. */
export function busCommand(folder: string): string[] {
  const config = join(folder, "bus.conf");
  writeFileSync(config, busConfig(folder));
  chmodSync(config, 0o644);
  return ["dbus-daemon", `--config-file=${config}`, "--nofork", "--nopidfile", "--print-address"];
}

/** What is in the folder of a portal. */
export function portalFiles(folder: string) {
  const write = (name: string, text: string) => {
    const file = join(folder, name);
    writeFileSync(file, text);
    chmodSync(file, 0o666);
  };
  for (const name of ["log", "tokens"]) write(name, "");
  write("person", "nobody");
  const read = (name: string) =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8") : "";
  return {
    /** What whoever sits at the screen does when asked. */
    person: (does: "yes" | "no" | "nobody") => write("person", does),
    /** How long a session takes to start from now on, in milliseconds. */
    delay: (ms: number) => write("delay", `${ms}`),
    /** The tokens that restore a session. */
    tokens: () => read("tokens").split("\n").filter(Boolean),
    /** A person takes back what was allowed. */
    takeBack: () => write("tokens", ""),
    /** What has happened so far. */
    log: () =>
      read("log")
        .split("\n")
        .filter(Boolean)
        .map((line): readonly unknown[] => JSON.parse(line)),
  };
}
