/**
 * A scheduled task of Windows (Task Scheduler schema 1.2). A Windows service has no desktop; a task of the user who is logged
 * on has one. A task for the machine starts with it, without a desktop.
 */
import { win32 } from "node:path";
import { badInput } from "../../lib/errors";
import { fill, unescaped } from "../../lib/fill";
import type { DaemonOptions, DaemonPlan } from "./daemon";
import task from "./templates/svc-task.xml" with { type: "text" };

const TASK = "svc";
/** Its SID (Windows, "Well-known SIDs"). */
const LOCAL_SERVICE = "S-1-5-19";

export function scheduledTaskPlan(options: DaemonOptions): DaemonPlan {
  const { binary, flags, system, home, userName } = options;
  const folder = system ? "C:\\ProgramData\\svc" : win32.join(home, "AppData", "Local", "svc");
  const path = win32.join(folder, "svc-task.xml");
  const log = win32.join(folder, "svc.log");
  const configDir = options.configDir ?? (system ? folder : null);
  const own = configDir === null ? [] : ["--config-dir", configDir];
  const line = [binary, "serve", ...flags, ...own].map(quoted).join(" ");
  const user = `<UserId>${Bun.escapeHTML(system ? LOCAL_SERVICE : userName)}</UserId>`;
  const content = fill(task, {
    // A trigger for every user's log-on could only be made by an administrator.
    trigger: system ? "<BootTrigger/>" : `<LogonTrigger>${user}</LogonTrigger>`,
    principal: system
      ? user
      : `${user}<LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel>`,
    arguments: Bun.escapeHTML(`/d /s /c "${line} >> ${quoted(log)} 2>&1"`),
  });
  const schtasks = (action: string, ...words: string[]) => ["schtasks", action, "/TN", TASK, ...words];
  return {
    // schtasks reads no other Unicode encoding: it fails with "unable to switch the encoding".
    file: { path, content, encoding: "utf16le" },
    install: [schtasks("/Create", "/XML", path, "/F"), schtasks("/Run")],
    uninstall: [schtasks("/End"), schtasks("/Delete", "/F")],
    forget: [],
    restart: [schtasks("/End"), schtasks("/Run")],
    read(text) {
      const [, escaped = ""] = /<Arguments>([^<]*)<\/Arguments>/.exec(text) ?? [];
      const [, line = ""] = /^\/d \/s \/c "(.*) >> /s.exec(unescaped(escaped)) ?? [];
      const words = Array.from(
        line.matchAll(/"([^"]*)"|(\S+)/g),
        ([, inQuotes, bare]) => inQuotes ?? bare ?? "",
      );
      const [program] = words;
      if (program === undefined) return undefined;
      const at = words.lastIndexOf("--config-dir");
      return { binary: program, configDir: at < 0 ? null : (words[at + 1] ?? null) };
    },
    status: schtasks("/Query", "/V", "/FO", "LIST"),
    logs(follow) {
      const script = `Get-Content -Tail 100 ${follow ? "-Wait " : ""}-LiteralPath '${log.replaceAll("'", "''")}'`;
      return ["powershell", "-NoProfile", "-Command", script];
    },
  };
}

/**
 * Quotes a word for both cmd.exe and CommandLineToArgvW: backslashes before the closing quote are doubled.
 *
 * @throws a `bad_input` failure for characters that are special to cmd.exe even within quotes.
 */
function quoted(word: string): string {
  if (/["%]/.test(word))
    throw badInput(`${JSON.stringify(word)}: must have neither " nor %, which cmd.exe interprets`);
  if (/^[\w:.\\/=,@-]+$/.test(word)) return word;
  return `"${word.replace(/(\\+)$/, "$1$1")}"`;
}
