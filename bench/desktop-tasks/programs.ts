/** How programs are started in a world: with which switches, and what their settings must say so that nothing else comes up. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { firefoxPreferences, flagsOf } from "./changes";
import type { World } from "./world";

/** Root needs it, and nobody else. */
const noSandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];

/** Chromium with one page and a profile of its own. */
export function chromium({ home, url, change }: World, path: string, { bars = false } = {}): string[] {
  return [
    ...["chromium", ...noSandbox, "--force-renderer-accessibility", `--user-data-dir=${home}/chromium`],
    ...["--no-first-run", "--no-default-browser-check", "--disable-gpu", "--password-store=basic"],
    ...["--disable-background-networking", "--disable-component-update"],
    ...flagsOf("chromium", change, home),
    bars ? `${url}${path}` : `--app=${url}${path}`,
  ];
}

/** Firefox with one page (of the web server, or one of its own, `about:…`) and a profile of its own. */
export function firefox({ home, url, change }: World, path: string): string[] {
  const profile = join(home, "firefox");
  mkdirSync(profile, { recursive: true });
  const preferences = {
    ...{ "browser.shell.checkDefaultBrowser": false, "browser.aboutwelcome.enabled": false },
    ...{
      "datareporting.policy.dataSubmissionEnabled": false,
      "browser.startup.homepage_override.mstone": "ignore",
    },
    ...{ "app.update.enabled": false, "toolkit.telemetry.reportingpolicy.firstRun": false },
    ...{ "browser.translations.automaticallyPopup": false, "signon.rememberSignons": false },
    ...{ "accessibility.force_disabled": 0, "browser.sessionstore.interval": 1000 },
    ...{
      "network.proxy.type": 0,
      "browser.urlbar.suggest.quicksuggest.all": false,
      "termsofuse.bypassNotification": true,
    },
    ...firefoxPreferences(change),
  };
  const lines = Object.entries(preferences).map(
    ([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`,
  );
  writeFileSync(join(profile, "user.js"), `${lines.join("\n")}\n`);
  return ["firefox-esr", "--no-remote", "--profile", profile, path.startsWith("/") ? `${url}${path}` : path];
}

/** LibreOffice with a profile of its own (that of the home) and a file. */
export const office = (application: "calc" | "writer", ...files: readonly string[]) => [
  ...["soffice", `--${application}`, "--norestore", "--nologo", "--nofirststartwizard", "--nodefault"],
  ...files,
];

/** The Swing program of this folder, with the bridge to AT-SPI. */
export const orders = ({ home, change }: World, ...files: readonly string[]) => [
  "java",
  ...["-Djavax.accessibility.assistive_technologies=org.GNOME.Accessibility.AtkWrapper"],
  ...["-cp", "/usr/share/java/java-atk-wrapper.jar", ...flagsOf("java", change, home)],
  join(import.meta.dir, "sources", "Orders.java"),
  ...files,
];

/** A program of Qt 5. */
export const qt = ({ home, change }: World, name: string, ...words: readonly string[]) => [
  name,
  ...flagsOf("qt", change, home),
  ...words,
];
