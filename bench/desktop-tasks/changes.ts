/** What is changed of a desktop, by the settings of each toolkit, before programs start. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Change } from "./task";

interface Settings {
  /** The size of the screen. */
  readonly screen: string;
  readonly env: Readonly<Record<string, string>>;
  /** Writes what programs read from the home folder. */
  prepare(home: string): void;
  /** Writes the configuration of openbox, and returns its path. */
  manager(folder: string): string;
}

const QT_DARK = "QWidget { background: #232629; color: #eff0f1; }\n";

const ENV: Readonly<Partial<Record<Change, Readonly<Record<string, string>>>>> = {
  dark: { GTK_THEME: "Adwaita:dark", ADW_DEBUG_COLOR_SCHEME: "prefer-dark" },
  font: { GDK_DPI_SCALE: "1.5", QT_FONT_DPI: "144" },
  german: { LC_ALL: "de_DE.UTF-8", LANG: "de_DE.UTF-8", LANGUAGE: "de" },
  scale2: { GDK_SCALE: "2", QT_SCALE_FACTOR: "2" },
};

/** Hidden: dialogs for files show the home. */
const stylesheetIn = (home: string) => join(home, ".dark.qss");

/** Words that a program is given for a change, by what starts it. */
export function flagsOf(program: string, change: Change | undefined, home: string): string[] {
  if (program === "chromium") {
    if (change === "dark") return ["--force-dark-mode", "--enable-features=WebContentsForceDark"];
    if (change === "german") return ["--lang=de"];
    if (change === "scale2") return ["--force-device-scale-factor=2"];
    if (change === "font") return ["--force-device-scale-factor=1.5"];
  }
  if (program === "java") {
    if (change === "german") return ["-Duser.language=de"];
    if (change === "scale2") return ["-Dsun.java2d.uiScale=2"];
    if (change === "font") return ["-Dswing.plaf.metal.controlFont=Dialog-20"];
  }
  if (program === "qt" && change === "dark") return ["-stylesheet", stylesheetIn(home)];
  return [];
}

/** Lines of Firefox's `user.js` for a change. */
export function firefoxPreferences(change: Change | undefined): Record<string, unknown> {
  if (change === "dark") return { "ui.systemUsesDarkTheme": 1 };
  if (change === "font") return { "ui.textScaleFactor": 150 };
  if (change === "scale2") return { "layout.css.devPixelsPerPx": "2" };
  return {};
}

export function settingsOf(change: Change | undefined): Settings {
  const sizes: Partial<Record<Change, string>> = { size: "1024x700", scale2: "2560x1600" };
  return {
    screen: (change && sizes[change]) ?? "1280x800",
    env: (change && ENV[change]) ?? {},
    prepare(home) {
      if (change === "dark") writeFileSync(stylesheetIn(home), QT_DARK);
      if (change === "font") {
        // GTK 4 has no variable for it.
        const folder = join(home, ".config", "glib-2.0", "settings");
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, "keyfile"), "[org/gnome/desktop/interface]\ntext-scaling-factor=1.5\n");
      }
    },
    manager(folder) {
      const path = join(folder, "openbox.xml");
      const place = '<position force="yes"><x>300</x><y>150</y></position>';
      const size = "<size><width>900</width><height>600</height></size>";
      const rules =
        change === "place" || change === "size"
          ? `<applications><application type="normal">${change === "place" ? place : size}</application></applications>`
          : "";
      writeFileSync(
        path,
        `<?xml version="1.0"?><openbox_config xmlns="http://openbox.org/3.4/rc"><theme><name>Clearlooks</name></theme><focus><focusNew>yes</focusNew></focus>${rules}</openbox_config>\n`,
      );
      return path;
    },
  };
}

/** A window that nobody expects, with buttons of names that scripts press elsewhere; it comes after a second. */
export const POPUP = [
  "sh",
  "-c",
  "sleep 1; zenity --warning --title Update --text 'New version' --modal & " +
    "exec zenity --question --title Notice --text 'Another program has news' --ok-label Save --cancel-label OK",
];
