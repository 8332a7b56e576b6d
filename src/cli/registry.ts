/**
 * The table of subcommands. Each is loaded when it is called.
 */
import type { AnyCommand, CommandGroup } from "./command";

interface CommandEntry {
  readonly usage: string;
  readonly describe: string;
  readonly load: () => Promise<{ default: AnyCommand | CommandGroup }>;
  /** Runs until it is told to end: see `resident.ts`. */
  readonly resident?: true;
}

/** Every subcommand. */
export const commands: readonly CommandEntry[] = [
  {
    usage: "serve",
    describe: "Run the REST server",
    load: () => import("../../commands/serve"),
    resident: true,
  },
  {
    usage: "execute <script>",
    describe: "Run a list of actions",
    load: () => import("../../commands/execute"),
  },
  { usage: "runs", describe: "See and cancel what runs", load: () => import("../../commands/runs") },
  { usage: "jobs", describe: "Run scripts at their times", load: () => import("../../commands/jobs") },
  { usage: "history", describe: "List what ran here", load: () => import("../../commands/history") },
  {
    usage: "commands [name]",
    describe: "List or explain the commands of actions",
    load: () => import("../../commands/commands"),
  },
  {
    usage: "audit",
    describe: "Read, check and keep the audit log",
    load: () => import("../../commands/audit"),
  },
  {
    usage: "token",
    describe: "Show, replace, add and remove bearer tokens",
    load: () => import("../../commands/token"),
  },
  {
    usage: "diagnose",
    describe: "Check whether this host is fit",
    load: () => import("../../commands/diagnose"),
  },
  { usage: "inspect", describe: "Show how the links are", load: () => import("../../commands/inspect") },
  {
    usage: "admin",
    describe: "Manage many hosts: an address book, polls and broadcasts",
    load: () => import("../../commands/admin"),
  },
  { usage: "usb <action>", describe: "List and watch USB devices", load: () => import("../../commands/usb") },
  {
    usage: "screenshot",
    describe: "Take a picture of the desktop",
    load: () => import("../../commands/screenshot"),
  },
  {
    usage: "config",
    describe: "Export or import the configuration of a host as one bundle",
    load: () => import("../../commands/config"),
  },
  {
    usage: "turn [action] [url]",
    describe: "Make a TURN relay of another machine, or test one",
    load: () => import("../../commands/turn"),
  },
  {
    usage: "sessions <action> [id]",
    describe: "List and close peer sessions",
    load: () => import("../../commands/sessions"),
  },
  {
    usage: "sync <dir>",
    describe: "Send the files of a folder to another host",
    load: () => import("../../commands/sync"),
  },
  {
    usage: "service",
    describe: "Run the REST server as a daemon of this machine",
    load: () => import("../../commands/service"),
  },
  {
    usage: "licenses",
    describe: "List what is embedded in svc, and under which licences",
    load: () => import("../../commands/licenses"),
  },
  {
    usage: "completion <shell>",
    describe: "Print what makes a shell complete svc's command lines",
    load: () => import("../../commands/completion"),
  },
];
