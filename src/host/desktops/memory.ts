/**
 * The memory that the programs of a desktop may have together: a control group of the kernel for each (cgroups(7)).
 *
 * Promise: a program of the group stays in it, whatever it does to its environment; when the group ends, all in it is ended, and what is in
 * groups that it has made below. Only where svc and the program are one user may the program leave, by writing itself into another group of svc.
 */
import {
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { isAlive } from "../../lib/alive";
import { messageOf, unavailable } from "../../lib/errors";
import { mayUse } from "../../lib/look";
import { orElse, unlessCode } from "../../lib/or-else";

/** The folders of groups that svc makes, with its process id. */
const NAME = /^svc-desktop-(\d+)-\d+$/;

/** Where svc itself goes: a group whose memory is divided has no processes of its own ("no internal processes", cgroups(7)). */
const OWN = "svc";

/** How long killed processes have to be gone, in milliseconds. */
const GONE_MS = 2_000;
const LOOK_MS = 10;

/** The files of a group, by the version of cgroups. */
interface Files {
  readonly limit: string;
  /** What bounds swap: how, by the limit of memory. */
  readonly swap: string;
  swapOf(bytes: number): number;
  readonly used: string;
  /** It has a line `oom_kill N`. */
  readonly events: string;
}

/** https://docs.kernel.org/admin-guide/cgroup-v2.html */
const V2: Files = {
  limit: "memory.max",
  swap: "memory.swap.max",
  swapOf: () => 0,
  used: "memory.current",
  events: "memory.events",
};
/** https://docs.kernel.org/admin-guide/cgroup-v1/memory.html */
const V1: Files = {
  limit: "memory.limit_in_bytes",
  // Of both together.
  swap: "memory.memsw.limit_in_bytes",
  swapOf: (bytes) => bytes,
  used: "memory.usage_in_bytes",
  events: "memory.oom_control",
};

/** What the programs of a desktop use. */
export interface MemoryUse {
  readonly limit_bytes: number;
  readonly used_bytes: number;
  /** How many programs the kernel has ended, since there was no more. */
  readonly kills: number;
}

/** The control group of one desktop. */
export interface MemoryGroup {
  /** The command line that runs `command` in the group. */
  within(command: readonly string[]): readonly string[];
  /** Undefined once it has ended. */
  use(): MemoryUse | undefined;
  /** Ends what is still in the group, and removes it. @throws where a process does not end. */
  end(): Promise<void>;
}

/** Makes control groups. */
export interface MemoryGroups {
  /** @param nth names the group within this process. @throws `unavailable` where this host lets svc make none. */
  make(nth: number, bytes: number): MemoryGroup;
}

/** A group whose memory svc may divide. */
interface Home {
  readonly folder: string;
  readonly files: Files;
}

/** @param proc where the kernel tells of processes (proc(5)). */
export function createMemoryGroups(proc = "/proc"): MemoryGroups {
  let home: Home | undefined;
  return {
    make(nth, bytes) {
      home ??= prepared(findHome(proc), proc);
      const { folder, files } = home;
      sweep(folder);
      const group = join(folder, `svc-desktop-${process.pid}-${nth}`);
      try {
        mkdirSync(group);
        writeFileSync(join(group, files.limit), `${bytes}`);
        // A kernel may count none.
        const swap = join(group, files.swap);
        if (existsSync(swap)) writeFileSync(swap, `${files.swapOf(bytes)}`);
      } catch (error) {
        if (existsSync(group)) rmdirSync(group);
        throw noGroup(messageOf(error));
      }
      return groupAt(group, files, bytes);
    },
  };
}

/** Enters the group, then becomes the program. */
const ENTER = 'echo $$ >"$0" && exec "$@"';

function groupAt(group: string, files: Files, limit_bytes: number): MemoryGroup {
  const procs = join(group, "cgroup.procs");
  return {
    within: (command) => ["/bin/sh", "-c", ENTER, procs, ...command],
    use() {
      try {
        const events = readFileSync(join(group, files.events), "utf8");
        return {
          limit_bytes,
          used_bytes: Number(readFileSync(join(group, files.used), "utf8")),
          kills: Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0),
        };
      } catch {
        // It may end between two looks at it.
        return undefined;
      }
    },
    async end() {
      const until = performance.now() + GONE_MS;
      const groups = () => withBelow(group);
      const pids = () => groups().flatMap((one) => pidsIn(join(one, "cgroup.procs")));
      for (let left = pids(); left.length > 0; left = pids()) {
        if (performance.now() > until) throw new Error(`a process of ${group} does not end`);
        for (const pid of left) kill(pid);
        await Bun.sleep(LOOK_MS);
      }
      removeAll(group);
    },
  };
}

/** A group, where it is there, and those that its programs have made below, each after the one that it is in. */
function withBelow(group: string): string[] {
  if (!existsSync(group)) return [];
  // One that is empty may go at any time.
  const below = orElse(() => readdirSync(group, { withFileTypes: true }), []);
  const folders = below.filter((one) => one.isDirectory());
  return [group, ...folders.flatMap(({ name }) => withBelow(join(group, name)))];
}

/** Removes a group and those below, which go first. @throws the system error where one has a process. */
function removeAll(group: string): void {
  for (const one of withBelow(group).reverse()) unlessCode("ENOENT", () => rmdirSync(one));
}

/** The group of this process. @throws `unavailable` where there is none whose memory svc may divide. */
function findHome(proc: string): Home {
  const mounts = readFileSync(join(proc, "self/mountinfo"), "utf8").split("\n").map(parseMount);
  const groups = readFileSync(join(proc, "self/cgroup"), "utf8").split("\n");
  const pathOf = (isIts: (controllers: string) => boolean) =>
    groups
      .map((line) => /^\d+:([^:]*):(.*)$/.exec(line))
      .find((found) => found && isIts(found[1] ?? ""))?.[2];
  const ways = [
    { files: V2, mount: mounts.find((one) => one?.type === "cgroup2"), path: pathOf((all) => all === "") },
    {
      files: V1,
      mount: mounts.find((one) => one?.type === "cgroup" && one.options.includes("memory")),
      path: pathOf((all) => all.split(",").includes("memory")),
    },
  ];
  for (const { files, mount, path } of ways) {
    if (!mount || path === undefined) continue;
    // In a container, the mount may begin at the group itself.
    const below = path.startsWith(mount.root) ? path.slice(mount.root === "/" ? 0 : mount.root.length) : path;
    const own = join(mount.at, below);
    const divides = (at: string) => wordsIn(join(at, "cgroup.controllers")).includes("memory");
    // Where svc itself has gone before.
    const folder = files === V2 && basename(own) === OWN && !divides(own) ? dirname(own) : own;
    if (files === V2 && !wordsIn(join(folder, "cgroup.controllers")).includes("memory")) continue;
    if (!mayUse(folder, constants.W_OK)) throw noGroup(`${folder} belongs to another user`);
    return { folder, files };
  }
  throw noGroup("no control group of this process has a controller of memory");
}

/** A line of proc_pid_mountinfo(5). */
function parseMount(line: string) {
  const [before = "", after = ""] = line.split(" - ");
  const [, , , root, at] = before.split(" ");
  const [type = "", , options = ""] = after.split(" ");
  return root === undefined || at === undefined ? undefined : { root, at, type, options: options.split(",") };
}

/** A group of version 2 gives memory on to those below once it has no processes of its own. */
function prepared(home: Home, proc: string): Home {
  const { folder, files } = home;
  const control = join(folder, "cgroup.subtree_control");
  if (files === V1 || wordsIn(control).includes("memory")) return home;
  const pids = pidsIn(join(folder, "cgroup.procs"));
  const stranger = pids.find((pid) => !isOurs(pid, proc));
  if (stranger !== undefined) {
    throw noGroup(
      `process ${stranger} is in ${folder} too: run svc as a service (\`svc service install\` with --desktop-memory)`,
    );
  }
  try {
    const own = join(folder, OWN);
    mkdirSync(own, { recursive: true });
    for (const pid of pids) move(pid, join(own, "cgroup.procs"));
    writeFileSync(control, "+memory");
  } catch (error) {
    throw noGroup(messageOf(error));
  }
  return home;
}

/** Moves a process to another group; one that has ended meanwhile is in none. */
const move = (pid: number, procs: string): void => unlessCode("ESRCH", () => writeFileSync(procs, `${pid}`));

/** Whether it is this process, or one that this process has started. */
function isOurs(pid: number, proc: string): boolean {
  for (let at = pid; at > 1; ) {
    if (at === process.pid) return true;
    // proc_pid_stat(5): the name is in brackets and may hold any character.
    const file = join(proc, `${at}/stat`);
    // It has ended.
    if (!existsSync(file)) return true;
    const stat = readFileSync(file, "utf8");
    at = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  }
  return false;
}

/** Removes the groups of processes that are dead. One that still has processes stays: what ends these is `keeper.ts`. */
function sweep(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [, pid] = NAME.exec(name) ?? [];
    if (pid === undefined || isAlive(Number(pid))) continue;
    try {
      removeAll(join(folder, name));
    } catch {
      // The next one removes it.
    }
  }
}

const noGroup = (why: string) => unavailable(`--desktop-memory: this host lets svc limit no memory: ${why}`);

const wordsIn = (file: string) => (existsSync(file) ? readFileSync(file, "utf8").trim().split(/\s+/) : []);

const pidsIn = (procs: string): number[] =>
  orElse(() => readFileSync(procs, "utf8").split("\n").filter(Boolean).map(Number), []);

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
