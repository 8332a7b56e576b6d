/**
 * `svc demo`: a desk and three hosts on loopback, in a temporary folder, to look at and to try commands on.
 *
 * Promise: nothing of it is left when it stops. When this process dies, its servers end too; only the temporary folder is left then.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callLocalServer } from "../client/local-server";
import { askOwner } from "../client/owner";
import { addJoinString } from "../desk/join/operations";
import { startDesktop } from "../host/desktops/operations";
import { findTools } from "../host/desktops/tools";
import { join as joinDesk } from "../host/join/operations";
import { executeActions } from "../host/runs/operations/execute";
import { addJob } from "../host/scheduler/operations";
import { deadline } from "../lib/deadline";
import { cancelled, messageOf, unavailable } from "../lib/errors";
import type { Log } from "../lib/log";
import { OWN_GROUP } from "../lib/process-group";
import { selfCommand } from "../lib/self-command";
import { spawn } from "../lib/spawn";

/** How long a server may take until it answers, in milliseconds. */
const START_MS = 20_000;

/** How often the script that fails now and then runs, in seconds. */
const FLAKY_EVERY_S = 15;

/** The hosts, with what runs on the desktop of each: the first that this host has. */
const HOSTS = {
  "form-01": [
    ["zenity", "--forms", "--title=Order 12", "--text=Order", "--add-entry=Customer", "--add-entry=City"],
  ],
  "clock-01": [["xclock", "-update", "1"]],
  "term-01": [],
} as const satisfies Record<string, readonly (readonly string[])[]>;
const ELSE = ["xterm", "-T", "Terminal"];

/** The desktop of each host. */
const DESKTOP = "main";

/** A script that fills in the form by name. */
const ORDER = {
  desktop: DESKTOP,
  actions: [
    ["AC_set_element_text", { element: 'textbox "Customer"', text: "ACME" }],
    ["AC_set_element_text", { element: 'textbox "City"', text: "Ulm" }],
  ],
};

/** What runs. */
export interface Demo {
  readonly url: string;
  readonly tokenFile: string;
  /** Of all: `desk` in it is the `{config_dir}` of the desk, `order.json` a script for the form. */
  readonly folder: string;
  readonly hosts: readonly string[];
  /** Why the hosts have no desktops; null where they have. */
  readonly noDesktops: string | null;
  /** Resolves when one of the servers has ended, with its name. */
  readonly ended: Promise<string>;
  /** Ends all of it, and removes the folder. Never throws. */
  stop(): Promise<void>;
}

/** A server, also one that has not answered yet. */
interface ServerProcess {
  readonly name: string;
  readonly exited: Promise<unknown>;
  stop(): Promise<void>;
}

interface Server {
  readonly name: string;
  readonly folder: string;
  readonly url: string;
}

interface DemoParts {
  readonly log: Log;
  /** Ends it while it starts. */
  readonly signal: AbortSignal;
  /** The command line of a server with these arguments (default: svc itself). */
  readonly command?: (args: readonly string[]) => readonly string[];
  /** How long a server may take until it answers, in milliseconds (default: {@link START_MS}). */
  readonly startMs?: number;
}

/** The servers of a demo, as they are started. */
interface ServerStart {
  readonly command: (args: readonly string[]) => readonly string[];
  readonly startMs: number;
  /** Aborted once all of it is to end: no further server begins. */
  readonly over: AbortSignal;
  /** Gets each process at once, so that it is ended too where it never answers. */
  readonly running: ServerProcess[];
}

/** @throws `unavailable` where a server does not start; `cancelled`. Nothing is left then. */
export async function startDemo(parts: DemoParts): Promise<Demo> {
  const folder = mkdtempSync(join(tmpdir(), "svc-demo-"));
  const running: ServerProcess[] = [];
  const over = new AbortController();
  const stop = async () => {
    over.abort(cancelled("the demo ends"));
    // Hosts first: they would dial a desk that has gone.
    const [desk, ...hosts] = running;
    await Promise.all(hosts.map((host) => host.stop()));
    await desk?.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const { command = selfCommand, startMs = START_MS } = parts;
  const work = furnished(folder, { command, startMs, over: over.signal, running }, parts.log);
  try {
    return { ...(await deadline(work, { signal: parts.signal, aborted: gone })), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const gone = () => cancelled("cancelled while the demo started");

/** Starts and furnishes all of it. @throws `unavailable`; `cancelled`. */
async function furnished(folder: string, starting: ServerStart, log: Log): Promise<Omit<Demo, "stop">> {
  const tools = process.platform === "linux" ? findTools(process.env) : { missing: [] };
  const missing = "missing" in tools ? tools.missing : undefined;
  const user = process.getuid?.() === 0 ? ["--desktop-user", "root"] : [];
  const start = (name: string, flags: readonly string[]) =>
    startServer(name, join(folder, name), flags, starting);
  const desk = await start("desk", ["--hub", "--tls"]);
  const hosts = await Promise.all(
    Object.entries(HOSTS).map(async ([label, programs]) => {
      const host = await start(label, ["--allow-shell", ...user]);
      await joinTo(desk, host);
      if (!missing) await furnish(host, programs).catch((error) => log.warn(`${label}: ${messageOf(error)}`));
      return host;
    }),
  );
  starting.over.throwIfAborted();
  writeFileSync(join(folder, "order.json"), JSON.stringify(ORDER));
  await addFlakyJob(
    hosts.find(({ name }) => name === "term-01"),
    folder,
    missing === undefined,
  );
  return {
    url: desk.url,
    tokenFile: join(desk.folder, "rest_token"),
    folder,
    hosts: Object.keys(HOSTS),
    noDesktops: missing ? `apt install ${missing.map(({ install }) => install).join(" ")}` : null,
    ended: Promise.race(starting.running.map(({ name, exited }) => exited.then(() => name))),
  };
}

async function startServer(
  name: string,
  folder: string,
  flags: readonly string[],
  { command: commandOf, startMs, over, running }: ServerStart,
): Promise<Server> {
  over.throwIfAborted();
  const command = commandOf(["serve", "--port", "0", "--json", "--config-dir", folder, ...flags]);
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith("SVC_")));
  const kept = process.platform === "win32" ? command : [...WHILE_ASKED, ...command];
  const child = spawn(kept, { ...OWN_GROUP, env, stdio: ["pipe", "pipe", "ignore"] });
  running.push({
    name,
    exited: child.exited,
    async stop() {
      // The shell ends the server then.
      void child.stdin.end();
      if (process.platform === "win32") child.kill();
      await child.exited;
    },
  });
  const read = async () => {
    const reader = child.stdout.getReader();
    let text = "";
    while (!text.includes("\n")) {
      const { done, value } = await reader.read();
      if (done) throw unavailable(`the server of ${name} ended before it answered`);
      text += new TextDecoder().decode(value);
    }
    return Object(JSON.parse(text)).url as string;
  };
  const url = await deadline(read(), {
    ms: startMs,
    late: () => unavailable(`the server of ${name} did not answer within ${startMs / 1_000} s`),
  });
  return { name, folder, url };
}

/** Runs a command until the standard input of the shell ends, as it does when this process dies. */
const WHILE_ASKED = ["/bin/sh", "-c", '"$@" & p=$!; cat >/dev/null; kill "$p"; wait "$p"', "svc-demo"];

/** Has a host join the desk by a string, as a person does. */
async function joinTo(desk: Server, host: Server): Promise<void> {
  const made = await askOwner(desk.folder, addJoinString, { advertise: new URL(desk.url).host });
  if (!made) throw unavailable("the desk has gone");
  const { join_string } = made.answer;
  await askOwner(host.folder, joinDesk, { join_string, label: host.name, allow: ["admin"] });
}

/** Gives a host a desktop with a program on it. */
async function furnish(host: Server, programs: readonly (readonly string[])[]): Promise<void> {
  await askOwner(host.folder, startDesktop, { name: DESKTOP, size: "800x500" });
  const command = [...programs, ELSE].find(([program = ""]) => Bun.which(program));
  if (!command) return;
  const actions = [["AC_launch", { command: [...command], detach: true }]];
  await callLocalServer(host.folder, executeActions, { actions, desktop: DESKTOP });
}

/** A job that fails a third of the time: something to see on the page of jobs. */
async function addFlakyJob(host: Server | undefined, folder: string, hasDesktop: boolean): Promise<void> {
  if (!host) return;
  const script = join(folder, "now-and-then.json");
  const actions = [
    ["AC_log", { message: "looks whether the order is there" }],
    ["AC_shell_command", { shell_command: "[ $(($(date +%s) % 3)) -ne 0 ]" }],
  ];
  writeFileSync(script, JSON.stringify({ ...(hasDesktop && { desktop: DESKTOP }), actions }));
  await askOwner(host.folder, addJob, {
    script_path: script,
    interval_seconds: FLAKY_EVERY_S,
    job_id: "now-and-then",
  });
}
