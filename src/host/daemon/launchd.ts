/**
 * A launchd job (launchd.plist(5)): an agent of this user, which sees the desktop, or a daemon of the machine, which does
 * not.
 */
import { join } from "node:path";
import { fill, unescaped } from "../../lib/fill";
import type { DaemonOptions, DaemonPlan } from "./daemon";
import propertyList from "./templates/svc.serve.plist" with { type: "text" };

const LABEL = "svc.serve";

export function launchdPlan({ binary, flags, system, configDir, home, userId }: DaemonOptions): DaemonPlan {
  const library = system ? "/Library" : join(home, "Library");
  const path = join(library, system ? "LaunchDaemons" : "LaunchAgents", `${LABEL}.plist`);
  const domain = system ? "system" : `gui/${userId}`;
  const log = join(library, "Logs", "svc.log");
  const own = configDir ?? (system ? "/Library/Application Support/svc" : null);
  const string = (text: string) => `    <string>${Bun.escapeHTML(text)}</string>`;
  const content = fill(propertyList, {
    label: LABEL,
    words: [binary, "serve", ...flags].map(string),
    environment: own === null ? [] : ["    <key>SVC_CONFIG_DIR</key>", string(own)],
    log: Bun.escapeHTML(log),
  });
  return {
    file: { path, content },
    install: [["launchctl", "bootstrap", domain, path]],
    uninstall: [["launchctl", "bootout", `${domain}/${LABEL}`]],
    forget: [],
    status: ["launchctl", "print", `${domain}/${LABEL}`],
    restart: [["launchctl", "kickstart", "-k", `${domain}/${LABEL}`]],
    read(text) {
      const stringAfter = (key: string) => {
        const found = text.split(`<key>${key}</key>`)[1];
        const [, escaped] = /^\s*(?:<array>\s*)?<string>([^<]*)<\/string>/.exec(found ?? "") ?? [];
        return escaped === undefined ? undefined : unescaped(escaped);
      };
      const program = stringAfter("ProgramArguments");
      if (program === undefined) return undefined;
      return { binary: program, configDir: stringAfter("SVC_CONFIG_DIR") ?? (system ? own : null) };
    },
    logs: (follow) => ["tail", "-n", "100", ...(follow ? ["-F"] : []), log],
  };
}
