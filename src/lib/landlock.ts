/**
 * Landlock (https://docs.kernel.org/userspace-api/landlock.html): from now on, this thread and whatever it runs reach these
 * files only, open no TCP connection but to a DNS server, and signal nobody outside.
 */
import { closeSync, openSync, readFileSync } from "node:fs";
import { unavailable } from "./errors";
import { lookThrough } from "./look";
import { unlessCode } from "./or-else";
import { forbidNewPrivileges, O_PATH, syscall } from "./syscall";

/** The files that a process may reach, each absolute: a folder stands for everything in it. */
export interface Reach {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

/** The same numbers on every processor. */
const [CREATE_RULESET, ADD_RULE, RESTRICT_SELF] = [444, 445, 446];

/** `linux/landlock.h` */
const EXECUTE = 1 << 0;
const WRITE_FILE = 1 << 1;
const READ_FILE = 1 << 2;
const READ_DIR = 1 << 3;
const REMOVE_FILE = 1 << 5;
const MAKE_DIR = 1 << 7;
const MAKE_REG = 1 << 8;
const REFER = 1 << 13;
const TRUNCATE = 1 << 14;
const IOCTL_DEV = 1 << 15;
const OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
const READ = READ_FILE | READ_DIR;
const WRITE = READ | WRITE_FILE | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE;
const [BIND_TCP, CONNECT_TCP] = [1, 2];
const SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 3;
const [PATH_RULE, PORT_RULE] = [1, 2];
const DNS_PORT = 53;

/** Linux 5.19: the first version with which a file can be moved from one folder to another. */
const LEAST_VERSION = 2;

/**
 * What the runtime, the C library and its name resolution read. `/proc/self` is this process, also after it ran another
 * program; the memory and the environment of others are closed to it anyway.
 */
const SYSTEM_READS = [
  ...["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/nix/store", "/gnu/store"],
  ...[
    "ld.so.cache",
    "resolv.conf",
    "hosts",
    "host.conf",
    "nsswitch.conf",
    "gai.conf",
    "services",
    "protocols",
  ].map((name) => `/etc/${name}`),
  ...["/etc/localtime", "/dev/urandom", "/dev/random", "/proc/self", "/proc/sys/vm", "/proc/meminfo"],
  ...["/proc/cpuinfo", "/proc/stat", "/sys/devices/system", "/sys/kernel/mm", "/sys/fs/cgroup"],
];

/** The version of Landlock in this kernel. @throws an `unavailable` failure when there is none, or too old a one. */
function landlockVersion(): number {
  const version = syscall("landlock", CREATE_RULESET, 0, 0, 1);
  if (version < LEAST_VERSION) throw unavailable("Landlock of this kernel is too old: Linux 5.19 is needed");
  return version;
}

/**
 * Restricts this thread, and whatever it runs, to `reach`, to what the system itself needs, and to the files that are
 * loaded into this process now.
 *
 * @throws an `unavailable` failure when that is not possible; nothing is restricted then.
 */
export function restrictFiles({ reads, writes }: Reach): void {
  const version = landlockVersion();
  const handled = (1 << (version >= 5 ? 16 : version >= 3 ? 15 : 14)) - 1;
  const sets = [handled, BIND_TCP | CONNECT_TCP, SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS];
  const attribute = new BigUint64Array(sets.slice(0, version >= 6 ? 3 : version >= 4 ? 2 : 1).map(BigInt));
  const ruleset = syscall("landlock_create_ruleset", CREATE_RULESET, attribute, attribute.byteLength, 0);
  const allow = (path: string, rights: number) => {
    const found = lookThrough(path);
    if (!found) return;
    const fd = openIfAllowed(path);
    if (fd === undefined) return;
    const rule = new DataView(new ArrayBuffer(12));
    rule.setBigUint64(0, BigInt(handled & rights & (found.isDirectory() ? ~0 : OF_FILES)), true);
    rule.setInt32(8, fd, true);
    try {
      syscall("landlock_add_rule", ADD_RULE, ruleset, PATH_RULE, rule, 0);
    } finally {
      closeSync(fd);
    }
  };
  try {
    for (const path of loadedFiles()) allow(path, READ_FILE | EXECUTE);
    for (const path of [...SYSTEM_READS, ...reads]) allow(path, READ);
    for (const path of writes) allow(path, WRITE);
    allow("/dev/null", READ_FILE | WRITE_FILE);
    if (version >= 4) {
      const rule = new BigUint64Array([BigInt(CONNECT_TCP), BigInt(DNS_PORT)]);
      syscall("landlock_add_rule", ADD_RULE, ruleset, PORT_RULE, rule, 0);
    }
    forbidNewPrivileges();
    syscall("landlock_restrict_self", RESTRICT_SELF, ruleset, 0);
  } finally {
    closeSync(ruleset);
  }
}

/** A descriptor that names the file, not open for reading; undefined where a parent folder is closed to this user. */
const openIfAllowed = (path: string): number | undefined =>
  unlessCode("EACCES", () => unlessCode("ENOENT", () => openSync(path, O_PATH)));

/** The program, its loader, its libraries and its addons. */
function loadedFiles(): Set<string> {
  const maps = readFileSync("/proc/self/maps", "utf8");
  return new Set(maps.split("\n").flatMap((line) => line.match(/\s(\/.*)$/)?.[1] ?? []));
}
