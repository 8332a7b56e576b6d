/**
 * A scheduled task of Windows (Task Scheduler schema 1.2). A Windows service has no desktop; a task of the user who is logged
 * on has one. A task for the machine starts with it, without a desktop.
 */
import { win32 } from "node:path";
import { badInput } from "../lib/errors";
import type { DaemonOptions, DaemonPlan } from "./daemon";
import { xmlText } from "./xml";

const TASK = "svc";
/** Its SID (Windows, "Well-known SIDs"). */
const LOCAL_SERVICE = "S-1-5-19";

export function scheduledTaskPlan(options: DaemonOptions): DaemonPlan {
  const { system, home } = options;
  const folder = system ? "C:\\ProgramData\\svc" : win32.join(home, "AppData", "Local", "svc");
  const path = win32.join(folder, "svc-task.xml");
  const log = win32.join(folder, "svc.log");
  return {
    file: {
      path,
      content: task(options, system ? (options.configDir ?? folder) : options.configDir, log),
      // schtasks reads no other Unicode encoding: it fails with "unable to switch the encoding".
      encoding: "utf16le",
    },
    install: [
      ["schtasks", "/Create", "/TN", TASK, "/XML", path, "/F"],
      ["schtasks", "/Run", "/TN", TASK],
    ],
    uninstall: [
      ["schtasks", "/End", "/TN", TASK],
      ["schtasks", "/Delete", "/TN", TASK, "/F"],
    ],
    forget: [],
    status: ["schtasks", "/Query", "/TN", TASK, "/V", "/FO", "LIST"],
    logs: (follow) => [
      "powershell",
      "-NoProfile",
      "-Command",
      `Get-Content -Tail 100 ${follow ? "-Wait " : ""}-LiteralPath '${log.replaceAll("'", "''")}'`,
    ],
  };
}

function task(
  { binary, flags, system, userName }: DaemonOptions,
  configDir: string | null,
  log: string,
): string {
  const own = configDir === null ? [] : ["--config-dir", configDir];
  const line = [binary, "serve", ...flags, ...own].map(quoted).join(" ");
  const user = `<UserId>${xmlText(system ? LOCAL_SERVICE : userName)}</UserId>`;
  // A trigger for every user's log-on could only be made by an administrator.
  const trigger = system ? "<BootTrigger/>" : `<LogonTrigger>${user}</LogonTrigger>`;
  const principal = system
    ? user
    : `${user}<LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel>`;
  return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>svc: operate this desktop-automation host from afar</Description></RegistrationInfo>
  <Triggers>${trigger}</Triggers>
  <Principals><Principal id="Author">${principal}</Principal></Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>255</Count></RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>cmd.exe</Command>
      <Arguments>${xmlText(`/d /s /c "${line} >> ${quoted(log)} 2>&1"`)}</Arguments>
    </Exec>
  </Actions>
</Task>
`;
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
