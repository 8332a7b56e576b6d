/**
 * A machine of its own with a real systemd: the files of this one under an overlay in memory, and none of its units.
 *
 * Nothing that happens in it is seen outside, but for the network.
 */
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { missingOf, runToEnd, temporaryFolder, testWith, until } from "../support";

/** What a manager is started for. */
export type Scope = "system" | "user";

const CGROUPS = "/sys/fs/cgroup";
const PROGRAMS = ["/lib/systemd/systemd", "systemctl", "unshare", "nsenter", "setpriv", "chroot"];

const isAllowed = mayBoot();

/** Whether a systemd can be started: what only its tests need is made for none of them otherwise. */
export const canBoot = isAllowed && missingOf(PROGRAMS).length === 0;

/** `test` where a systemd can be started: as root, who may write to the control groups. */
export const testWithSystemd = testWithSystemdAnd();

/** The same, where these programs are there too. */
export function testWithSystemdAnd(...programs: string[]) {
  const wanted = testWith(...PROGRAMS, ...programs);
  return isAllowed ? wanted : wanted.skip;
}

function mayBoot(): boolean {
  try {
    const own = `${CGROUPS}/systemd`;
    accessSync(existsSync(own) ? own : CGROUPS, constants.W_OK);
    if (process.getuid?.() === 0) return true;
  } catch {
    // Not there, or read-only as in most containers.
  }
  console.warn("skipping tests: only root can start a systemd, where control groups can be written to");
  return false;
}

/** Run as bash with a folder, the binary, the scope, the files of the machine, and a folder that is its `/mnt`. */
const BOOT = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=$4,upperdir=$1/upper,workdir=$1/work" "$1/root"
cd "$1/root"
mkdir -p proc sys dev
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
for path in run tmp root etc/systemd/system; do
  mkdir -p "$path"
  mount -t tmpfs tmpfs "$path"
done
if [ -n "$2" ]; then
  touch usr/local/bin/svc
  mount --bind "$2" usr/local/bin/svc
fi
if [ -n "$5" ]; then
  mkdir -p mnt
  mount --bind "$5" mnt
fi
mkdir -p units run/systemd/system run/user/0
for name in sysinit basic shutdown multi-user default network-online; do
  printf '[Unit]\\nDefaultDependencies=no\\n' > "units/$name.target"
done
for path in \${2:+etc/systemd/system root/.config/systemd/user}; do
  mkdir -p "$path/svc.service.d"
  printf '[Service]\\nWatchdogSec=1s\\nTimeoutAbortSec=1s\\nRestartSec=100ms\\n' > "$path/svc.service.d/quick.conf"
done
export container=test SYSTEMD_GENERATOR_PATH=/nowhere HOME=/root XDG_RUNTIME_DIR=/run/user/0
log=--log-target=null
if [ "$3" = system ]; then
  export SYSTEMD_UNIT_PATH=/etc/systemd/system:/units\${5:+:/usr/lib/systemd/system}
  exec chroot . /lib/systemd/systemd --system --unit=multi-user.target $log --show-status=no
fi
export SYSTEMD_UNIT_PATH=/root/.config/systemd/user:/units
exec chroot . bash -c '/lib/systemd/systemd --user $0 & wait' $log`;

/** Moves bash into control groups of its own, which `$0` names, and goes on as the rest of the line. */
const GROUPED = `for at in /sys/fs/cgroup /sys/fs/cgroup/*; do
  if [ -e "$at/cgroup.procs" ]; then mkdir "$at/$0" && echo $$ > "$at/$0/cgroup.procs"; fi
done 2>/dev/null
exec "$@"`;

interface Files {
  /** A folder with the files of the machine (default: those of this one). */
  readonly root?: string;
  /** A folder that is its `/mnt`; the units that its files have are then found too. */
  readonly mounted?: string;
}

/** Boots one whose `svc` is `binary`, if there is one; a hung daemon is then found after a second. */
export async function bootMachine(
  binary: string | undefined,
  scope: Scope,
  { root = "/", mounted = "" }: Files = {},
) {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder());
  const group = `svc-test-${crypto.randomUUID()}`;
  stack.defer(async () => {
    const groups = [CGROUPS, ...readdirSync(CGROUPS).map((name) => join(CGROUPS, name))]
      .map((hierarchy) => join(hierarchy, group))
      .filter((path) => existsSync(path));
    // What was in them takes a moment to be gone.
    while (groups.some((path) => existsSync(path))) {
      await $`find ${groups} -depth -type d -exec rmdir {} +`.nothrow().quiet();
    }
  });
  const spaces = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--cgroup", "--uts", "--ipc"];
  // It outlives whatever but SIGKILL, so that is what it gets when the test is cut off.
  const boot = [
    "setpriv",
    "--pdeathsig",
    "KILL",
    "unshare",
    ...spaces,
    "bash",
    "-c",
    BOOT,
    "-",
    folder.path,
    binary ?? "",
    scope,
    root,
    mounted,
  ];
  const child = Bun.spawn(["bash", "-c", GROUPED, group, ...boot], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  stack.defer(async () => {
    // It waits for what it has started, unless it is killed; then all that is in it goes.
    child.kill("SIGKILL");
    await child.exited;
  });

  /** Runs a command line in it, as root. */
  const run = async (...command: string[]) => {
    const init = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim();
    const inside = ["nsenter", "-t", init, "--mount", "--pid", "--cgroup", "--root", "--wd"];
    const env = {
      PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
      HOME: "/root",
      XDG_RUNTIME_DIR: "/run/user/0",
    };
    return runToEnd([...inside, ...command], { env });
  };
  const systemctl = (...words: string[]) =>
    run("systemctl", ...(scope === "user" ? ["--user"] : []), ...words);
  const booted = async () => {
    if (child.exitCode !== null) throw new Error(`it did not boot: exit code ${child.exitCode}`);
    return (await systemctl("is-system-running")).stdout === "running\n";
  };
  await until("systemd to be running", booted, { seconds: 60, everyMs: 50 });
  const own = stack.move();
  return { run, systemctl, [Symbol.asyncDispose]: () => own.disposeAsync() };
}
