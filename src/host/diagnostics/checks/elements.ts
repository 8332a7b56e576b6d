/** `elements`: programs can be found and used by name; those that show nothing are named, with what to start them with. */
import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { requesterOf } from "../../../core/caller";
import { isNoScreen, messageOf } from "../../../lib/errors";
import { orElse } from "../../../lib/or-else";
import { printable } from "../../../lib/sanitize";
import type { Requester } from "../../../lib/slots";
import type { DesktopWindow } from "../../desktop/backend";
import { check, type Finding, fine, warning } from "../check";

/** A program that does not answer costs a second and a half. */
const DEADLINE_MS = 8_000;
/** How many programs are named. */
const MAX_NAMED = 20;

interface BusProgram {
  readonly name: string;
  readonly process_id: number | null;
  readonly windows: number;
  /** In the windows; a few are all that is counted. */
  readonly elements: number;
}

type Window = Pick<DesktopWindow, "title" | "pid" | "process">;

interface Uses {
  desktop(): Promise<{
    readonly elements: {
      survey(): Promise<{ readonly programs: readonly BusProgram[]; readonly deaf: readonly string[] }>;
    };
    windows(requester: Requester): Promise<readonly Window[] | undefined>;
  }>;
}

const NOT_WANTED = "on a host where nothing is done by name: svc config set diagnose.skip elements";
const NO_BUS = [
  "install at-spi2-core (Debian), and run svc in the desktop's session: with DBUS_SESSION_BUS_ADDRESS, or $XDG_RUNTIME_DIR/bus",
  NOT_WANTED,
];

export const elements = check({
  name: "elements",
  summary:
    "Programs can be found by name; a warning without an accessibility bus, and for programs that do not answer, or show nothing until they are started otherwise",
  deadlineMs: DEADLINE_MS,
  advice: NO_BUS,
  async run(service: Uses, caller) {
    if (process.platform === "darwin") return fine("by name: not on this platform", { bus: null });
    const desktop = await service.desktop();
    const windows = await desktop.windows(requesterOf(caller)).catch((error) => error);
    // The check of the screenshot says so.
    if (isNoScreen(windows)) return fine("no screen, so no programs", { bus: null });
    const found = await desktop.elements.survey().catch((error) => printable(messageOf(error), 300));
    const isLinux = process.platform === "linux";
    if (typeof found === "string") return warning(found, isLinux ? NO_BUS : [NOT_WANTED], { bus: false });
    return judge(found.programs, found.deaf, Array.isArray(windows) ? windows : []);
  },
});

/** What is found of the programs. @param windows those of the display. @param commandOf what a process is. */
export function judge(
  programs: readonly BusProgram[],
  deaf: readonly string[],
  windows: readonly Window[],
  commandOf: (pid: number) => string = commandLine,
): Finding {
  const known = new Set(programs.map(({ process_id }) => process_id));
  const isAbsent = ({ pid, title }: Window) =>
    pid !== null && title !== "" && !known.has(pid) && !deaf.includes(`process ${pid}`);
  const absent = new Map(windows.filter(isAbsent).map(({ pid, title, process }) => [pid, process ?? title]));
  const silent = [
    ...programs.filter(isEmpty).map(({ name, process_id: pid }) => ({ name, pid })),
    ...[...absent].map(([pid, name]) => ({ name, pid })),
  ].slice(0, MAX_NAMED);
  const told = silent.map(({ name, pid }) => {
    const command = pid === null ? "" : commandOf(pid);
    const [, start_with = null] = STARTS.find(([fits]) => fits.test(command)) ?? [];
    return { name: printable(name, 100), start_with };
  });
  const answering = programs.filter((one) => one.elements > 0 && !isEmpty(one));
  const late = deaf.slice(0, MAX_NAMED).map((name) => printable(name, 100));
  const extra = {
    bus: true,
    answering: [...new Set(answering.slice(0, MAX_NAMED).map(({ name }) => printable(name, 100)))],
    silent: told,
    deaf: late,
  };
  // What no switch helps, such as xterm, is no finding.
  const advice = [
    ...told.flatMap(({ name, start_with }) => (start_with === null ? [] : [`${name}: ${start_with}`])),
    ...late.map((name) => `${name} does not answer: a dialog of it may wait for somebody, or it hangs`),
  ];
  const detail = [
    `${answering.length} ${answering.length === 1 ? "program answers" : "programs answer"}`,
    ...(told.length > 0 ? [`${told.map(({ name }) => name).join(", ")}: nothing by name`] : []),
    ...(late.length > 0 ? [`${late.join(", ")}: no answer`] : []),
  ].join("; ");
  return advice.length === 0 ? fine(detail, extra) : warning(detail, [...new Set(advice)], extra);
}

/** Chromium has a window with one empty element in it until it is started otherwise. */
const isEmpty = ({ windows, elements }: BusProgram) => windows > 0 && elements <= 1;

/** What programs need from their start, by their command line and the libraries that they have loaded. */
const STARTS: ReadonlyArray<readonly [fits: RegExp, start: string]> = [
  [
    /chrom(?:e|ium)|electron|\bcode\b|msedge|brave|app\.asar/i,
    "start it with --force-renderer-accessibility (Chromium, Electron)",
  ],
  [
    /(?:^|\/)java\b|libjvm/i,
    "start it with -Djavax.accessibility.assistive_technologies=org.GNOME.Accessibility.AtkWrapper and java-atk-wrapper.jar on the class path (Java)",
  ],
  [/libQt\d?|libqt/, "start it again with QT_LINUX_ACCESSIBILITY_ALWAYS_ON=1 (Qt)"],
  [/libgtk-3|libgtk-4/, "start it again without NO_AT_BRIDGE=1 and GTK_A11Y=none (GTK)"],
];

/** The command line of a process and the names of the toolkits that it has loaded; empty where the system does not say. */
function commandLine(pid: number): string {
  const read = (file: string) => orElse(() => readFileSync(`/proc/${pid}/${file}`, "latin1"), "");
  const [program = ""] = read("cmdline").split("\0");
  const libraries = read("maps").match(/lib(?:Qt\d?Gui|gtk-[34]|jvm)/gi) ?? [];
  return [program, isElectron(pid) ? "electron" : "", ...new Set(libraries)].join(" ");
}

/** Electron has this file beside every program that is made with it. */
const isElectron = (pid: number): boolean =>
  orElse(() => existsSync(join(dirname(readlinkSync(`/proc/${pid}/exe`)), "chrome_100_percent.pak")), false);
