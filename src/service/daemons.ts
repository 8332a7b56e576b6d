/**
 * The daemons that run the program of this process, as an upgrade sees them.
 */
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Daemon } from "../host/release/upgrade";
import { requireKnownFormat } from "../lib/format";
import { lookThrough } from "../lib/look";
import { isLoopback } from "../lib/loopback";
import { configFiles } from "../lib/paths";
import { findRunningServer, type RunningServer } from "../lib/running-server";

/** How long a program of the platform may take, in milliseconds. */
const ASKED_MS = 20_000;

/** How long a daemon may take to answer, in milliseconds. */
const ANSWER_MS = 10_000;

/** Those of this user and of the machine. @param binary absolute, without links. */
export async function daemonsRunning(binary: string): Promise<Daemon[]> {
  const [{ daemonsOf, upgradingUser }, { runProgram }, { spawn }] = await Promise.all([
    import("../host/daemon/installed-daemons"),
    import("../lib/run-program"),
    import("../lib/spawn"),
  ]);
  return daemonsOf(binary, await upgradingUser()).map(({ user, configDir, restart, byRoot }) => ({
    name: user
      ? `the daemon of ${isThisUser(user) ? "this user" : user.userName}`
      : "the daemon of the machine",
    mayRestart: user !== null || process.getuid === undefined || process.getuid() === 0,
    byRoot: byRoot && process.getuid?.() !== 0,
    answering: () => findRunningServer(configDir)?.pid ?? null,
    endsThis: () => isOfSameService(findRunningServer(configDir)?.pid ?? null),
    async restart() {
      const last = restart.at(-1) ?? [];
      // What clears the way for the last may find nothing to clear.
      for (const line of restart.slice(0, -1)) await runProgram(line, ASKED_MS).catch(() => {});
      await runProgram(last, ASKED_MS);
    },
    async startApart(command) {
      if (process.platform === "linux") await runProgram(apartLine(user === null, command), ASKED_MS);
      else spawn(command, { stdio: ["ignore", "ignore", "ignore"], detached: true }).unref();
    },
    requireReadable: (reader) => requireKnownFormat(configDir, reader),
    async isReady(pid, version) {
      const server = findRunningServer(configDir);
      if (!server || server.pid === pid || (server.version ?? version) !== version) return false;
      return isHealthy(configDir, server).catch(() => false);
    },
  }));
}

/**
 * The command that has systemd start `command` as a unit of its own: what a unit has started ends with it, whatever process group it is
 * in. systemd replaces variables in it (systemd.service(5), "Command lines").
 */
export const apartLine = (isOfMachine: boolean, command: readonly string[]): string[] => [
  ...["systemd-run", ...(isOfMachine ? [] : ["--user"]), "--collect", "--quiet"],
  ...command.map((word) => word.replaceAll("$", "$$$$")),
];

const isThisUser = ({ userId }: { readonly userId: number }) => userId === (process.getuid?.() ?? userId);

/**
 * Whether this process is in the control group of the service that `pid` is of: systemd ends all of that at once. False
 * elsewhere than on Linux.
 *
 * @param proc where the system shows its processes, for tests.
 */
export function isOfSameService(pid: number | null, proc = "/proc"): boolean {
  const groupOf = (name: string) => readFileSync(join(proc, name, "cgroup"), "utf8");
  try {
    const own = groupOf("self");
    // In a container every process may be in the group `/`, and in a session those that were started by hand.
    return pid !== null && /\.service$/m.test(own) && own === groupOf(`${pid}`);
  } catch {
    return false;
  }
}

/**
 * Whether the server of `configDir` answers. Who asks may be root, and the server's user less: so no token is sent, and nobody but this
 * machine is asked, whatever its file says.
 *
 * @throws why it does not answer, as an error.
 */
export async function isHealthy(
  configDir: string,
  { url, pin, asks_certificate }: RunningServer,
): Promise<boolean> {
  if (!(await isHere(new URL(url).hostname))) return false;
  const [{ callRemote }, { health }, { shownPair }] = await Promise.all([
    import("../client/remote-call"),
    import("../http/operations"),
    import("../trust/tls"),
  ]);
  const files = configFiles(configDir);
  const hasPair = [files.tlsKey, files.tlsCert].every((path) => lookThrough(path)?.isFile());
  const server = {
    url,
    token: undefined,
    trust: pin ? ({ kind: "pin", pins: [pin] } as const) : ({ kind: "any" } as const),
    identity: asks_certificate && hasPair ? shownPair(files) : undefined,
  };
  const { status } = await callRemote(server, health, {}, ANSWER_MS);
  return status === "ok";
}

/** Whether `host`, of a URL, is this machine: a server may listen on one address of its network only. */
async function isHere(host: string): Promise<boolean> {
  if (isLoopback(host)) return true;
  const { lookup } = await import("node:dns/promises");
  const { address } = await lookup(host.replace(/^\[(.*)\]$/, "$1"));
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return isLoopback(address) || own.some((one) => one.address === address);
}
