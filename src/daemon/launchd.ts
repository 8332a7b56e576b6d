/**
 * A launchd job (launchd.plist(5)): an agent of this user, which sees the desktop, or a daemon of the machine, which does
 * not.
 */
import { join } from "node:path";
import type { DaemonOptions, DaemonPlan } from "./daemon";
import { xmlText } from "./xml";

const LABEL = "svc.serve";

export function launchdPlan(options: DaemonOptions): DaemonPlan {
  const { system, home, userId } = options;
  const library = system ? "/Library" : join(home, "Library");
  const path = join(library, system ? "LaunchDaemons" : "LaunchAgents", `${LABEL}.plist`);
  const domain = system ? "system" : `gui/${userId}`;
  const log = join(library, "Logs", "svc.log");
  return {
    file: { path, content: propertyList(options, log) },
    install: [["launchctl", "bootstrap", domain, path]],
    uninstall: [["launchctl", "bootout", `${domain}/${LABEL}`]],
    forget: [],
    status: ["launchctl", "print", `${domain}/${LABEL}`],
    logs: (follow) => ["tail", "-n", "100", ...(follow ? ["-F"] : []), log],
  };
}

function propertyList({ binary, flags, system, configDir }: DaemonOptions, log: string): string {
  const words = [binary, "serve", ...flags].map((word) => `    <string>${xmlText(word)}</string>`);
  const own = system ? (configDir ?? "/Library/Application Support/svc") : configDir;
  const environment =
    own === null
      ? ""
      : `  <key>EnvironmentVariables</key>
  <dict>
    <key>SVC_CONFIG_DIR</key>
    <string>${xmlText(own)}</string>
  </dict>
`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${words.join("\n")}
  </array>
${environment}  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>15</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardOutPath</key>
  <string>${xmlText(log)}</string>
  <key>StandardErrorPath</key>
  <string>${xmlText(log)}</string>
</dict>
</plist>
`;
}
