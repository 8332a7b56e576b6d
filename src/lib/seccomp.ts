/**
 * A filter of system calls (seccomp(2)) on every thread of this process and all that it starts: what a helper never does and
 * what widens the grip of somebody who has taken it over.
 */
import { ptr } from "bun:ffi";
import { unavailable } from "./errors";
import { forbidNewPrivileges, syscall } from "./syscall";

/** `basic`: what no helper does. `alone`: it also starts no process and speaks to none, but over UDP and DNS. */
export type Filter = "basic" | "alone";

/** By the `process.arch` of Node: the audit name (`linux/audit.h`), and the numbers of two calls. */
const PROCESSORS: Readonly<Partial<Record<string, { audit: number; seccomp: number; prlimit: number }>>> = {
  x64: { audit: 0xc000003e, seccomp: 317, prlimit: 302 },
  arm64: { audit: 0xc00000b7, seccomp: 277, prlimit: 261 },
};

/** `asm-generic/resource.h` */
const RLIMIT_CORE = 4;

/** A call by its number on x64 and on arm64 (`asm/unistd.h`); null where it does not exist. */
type Numbers = readonly [x64: number | null, arm64: number | null];

/** Calls that no helper makes: other processes, the kernel and its keys, mounts, time, names, devices, identities. */
const NEVER: readonly Numbers[] = [
  ...sameNumbers(
    "pidfd_send_signal 424 open_tree 428 move_mount 429 fsopen 430 fsconfig 431 fsmount 432 fspick 433",
  ),
  ...sameNumbers(
    "pidfd_getfd 438 process_madvise 440 mount_setattr 442 quotactl_fd 443 process_mrelease 448",
  ),
  ...sameNumbers("io_uring_setup 425 io_uring_enter 426 io_uring_register 427"),
  ...numbers("ptrace 101/117 process_vm_readv 310/270 process_vm_writev 311/271 kcmp 312/272"),
  ...numbers("mount 165/40 umount2 166/39 pivot_root 155/41 chroot 161/51 unshare 272/97 setns 308/268"),
  ...numbers("bpf 321/280 perf_event_open 298/241 userfaultfd 323/282 keyctl 250/219 add_key 248/217"),
  ...numbers("request_key 249/218 kexec_load 246/104 kexec_file_load 320/294 init_module 175/105"),
  ...numbers("finit_module 313/273 delete_module 176/106 reboot 169/142 swapon 167/224 swapoff 168/225"),
  ...numbers("acct 163/89 quotactl 179/60 syslog 103/116 settimeofday 164/170 clock_settime 227/112"),
  ...numbers("adjtimex 159/171 clock_adjtime 305/266 sethostname 170/161 setdomainname 171/162"),
  ...numbers("iopl 172/- ioperm 173/- modify_ldt 154/- uselib 134/- vhangup 153/58 personality 135/92"),
  ...numbers("name_to_handle_at 303/264 open_by_handle_at 304/265 fanotify_init 300/262"),
  ...numbers("mknod 133/- mknodat 259/33 setuid 105/146 setgid 106/144 setreuid 113/145 setregid 114/143"),
  ...numbers("setresuid 117/147 setresgid 119/149 setgroups 116/159 setfsuid 122/151 setfsgid 123/152"),
  ...numbers("capset 126/91 rt_sigqueueinfo 129/138 rt_tgsigqueueinfo 297/240"),
];

/** Further calls that the helper of a session does not make: programs, sockets, memory and queues of others, files by path. */
const NOT_ALONE: readonly Numbers[] = [
  ...numbers("execve 59/221 execveat 322/281 fork 57/- vfork 58/- listen 50/201 tkill 200/130"),
  // A datagram socket of a pair sends to any other UNIX socket.
  ...numbers("socketpair 53/199 symlink 88/- symlinkat 266/36 truncate 76/45 inotify_add_watch 254/27"),
  ...numbers(
    "shmget 29/194 shmat 30/196 shmctl 31/195 msgget 68/186 msgsnd 69/189 msgrcv 70/188 msgctl 71/187",
  ),
  ...numbers("semget 64/190 semop 65/193 semctl 66/191 semtimedop 220/192 mq_open 240/180 mq_unlink 241/181"),
  ...numbers("chown 92/- fchown 93/55 lchown 94/- fchownat 260/54 setxattr 188/5 lsetxattr 189/6"),
  ...numbers("fsetxattr 190/7 removexattr 197/14 lremovexattr 198/15 fremovexattr 199/16"),
  ...numbers("migrate_pages 256/238 move_pages 279/239"),
  ...sameNumbers("pidfd_open 434"),
];

/** The values of an argument that are refused, by one of these. */
interface Tests {
  /** All others. */
  readonly only?: readonly number[];
  /** These. */
  readonly never?: readonly number[];
  /** Those with any of these bits. */
  readonly without?: number;
  /** Those with none of these bits. */
  readonly some?: number;
}

/** A call that is refused by the value of one argument. */
interface Condition extends Tests {
  readonly call: Numbers;
  readonly argument: number;
  /** The bits of the argument that count (default: all). */
  readonly mask?: number;
  /** The condition holds only where this argument has this value (default: always). */
  readonly where?: readonly [argument: number, value: number];
}

/** `linux/sched.h`; permission bits of others, and set-user-id. */
const CLONE_THREAD = 0x10000;
const NOT_PRIVATE = 0o7077;

/** `linux/socket.h`, `linux/net.h`, `linux/in.h` */
const [AF_INET, AF_INET6, AF_NETLINK] = [2, 10, 16];
const [SOCK_STREAM, SOCK_DGRAM, SOCK_TYPES] = [1, 2, 0xf];
const [NETLINK_ROUTE, IPPROTO_TCP, IPPROTO_UDP] = [0, 6, 17];
const MSG_FASTOPEN = 0x20000000;

/** What has the kernel signal another process: `F_SETOWN`, `F_SETSIG`, `F_SETOWN_EX`; `FIOSETOWN`, `SIOCSPGRP`. */
const SIGNAL_FLAGS = [8, 10, 15];
const SIGNAL_CONTROLS = [0x8901, 0x8902];

const SOCKET: Numbers = [41, 198];

/**
 * Sockets for UDP and TCP as Landlock knows it: it looks at connect(2) of plain TCP, not at MPTCP, SCTP or SMC, nor at what
 * connects while it sends. And one that lists the interfaces.
 */
const SOCKETS: readonly Condition[] = [
  { call: SOCKET, argument: 0, only: [AF_INET, AF_INET6, AF_NETLINK] },
  { call: SOCKET, argument: 2, where: [0, AF_NETLINK], only: [NETLINK_ROUTE] },
  ...[AF_INET, AF_INET6].flatMap((family): Condition[] => [
    { call: SOCKET, argument: 1, where: [0, family], mask: SOCK_TYPES, only: [SOCK_STREAM, SOCK_DGRAM] },
    { call: SOCKET, argument: 2, where: [0, family], only: [0, IPPROTO_TCP, IPPROTO_UDP] },
  ]),
  // sendto, sendmsg, sendmmsg
  { call: [44, 206], argument: 3, without: MSG_FASTOPEN },
  { call: [46, 211], argument: 2, without: MSG_FASTOPEN },
  { call: [307, 269], argument: 3, without: MSG_FASTOPEN },
];

/** System calls that signal or change another process, by its id. */
const processes = (pid: number): readonly Condition[] => [
  // kill, tgkill, prlimit64
  { call: [62, 129], argument: 0, only: [pid] },
  { call: [234, 131], argument: 0, only: [pid] },
  { call: [302, 261], argument: 0, only: [0, pid] },
  // setpriority, ioprio_set, sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr
  { call: [141, 140], argument: 1, only: [0, pid] },
  { call: [251, 30], argument: 1, only: [0, pid] },
  { call: [142, 118], argument: 0, only: [0, pid] },
  { call: [144, 119], argument: 0, only: [0, pid] },
  { call: [203, 122], argument: 0, only: [0, pid] },
  { call: [314, 274], argument: 0, only: [0, pid] },
  // fcntl, ioctl
  { call: [72, 25], argument: 1, never: SIGNAL_FLAGS },
  { call: [16, 29], argument: 1, never: SIGNAL_CONTROLS },
];

const conditions = (pid: number): readonly Condition[] => [
  // clone
  { call: [56, 220], argument: 0, some: CLONE_THREAD },
  ...SOCKETS,
  ...processes(pid),
  // chmod, fchmod, fchmodat
  { call: [90, null], argument: 1, without: NOT_PRIVATE },
  { call: [91, 52], argument: 1, without: NOT_PRIVATE },
  { call: [268, 53], argument: 2, without: NOT_PRIVATE },
];

/** `clone3` passes its flags in memory, which no filter reads: libc uses `clone` where it is missing. */
const CLONE3 = 435;

/** The first call that this list does not know (those of Linux 6.5 and later): as on an older kernel, it is missing. */
const UNKNOWN = 452;

const [EPERM, ENOSYS] = [1, 38];

/** `linux/seccomp.h`, `linux/bpf_common.h` */
const [SET_MODE_FILTER, FLAG_TSYNC] = [1, 1];
const [ALLOW, ERRNO, KILL_PROCESS] = [0x7fff0000, 0x00050000, 0x80000000];
const [LOAD, AND, IF_EQUAL, IF_LEAST, IF_SET, RETURN] = [0x20, 0x54, 0x15, 0x35, 0x45, 0x06];

type Instruction = readonly [code: number, value: number, ifTrue?: number, ifFalse?: number];

/** `struct seccomp_data`: the number of the call, and the lower half of an argument. */
const LOAD_NUMBER: Instruction = [LOAD, 0];
const loadArgument = (argument: number): Instruction => [LOAD, 16 + 8 * argument];

/**
 * Installs the filter on every thread, and forbids core dumps, which would hold the secrets of the process.
 *
 * @throws an `unavailable` failure when it cannot be installed.
 */
export function filterCalls(filter: Filter): void {
  const processor = PROCESSORS[process.arch];
  if (!processor) throw unavailable(`svc has no filter of system calls for ${process.arch}`);
  syscall("prlimit64", processor.prlimit, 0, RLIMIT_CORE, new BigUint64Array(2), 0);
  forbidNewPrivileges();
  const code = encode(program(filter, processor.audit));
  const header = new DataView(new ArrayBuffer(16));
  header.setUint16(0, code.byteLength / 8, true);
  header.setBigUint64(8, BigInt(ptr(code)), true);
  const failed = syscall("seccomp", processor.seccomp, SET_MODE_FILTER, FLAG_TSYNC, header);
  if (failed !== 0) throw unavailable(`seccomp: thread ${failed} could not be confined`);
}

function program(filter: Filter, audit: number): readonly Instruction[] {
  const own = ([x64, arm64]: Numbers) => (process.arch === "x64" ? x64 : arm64);
  const refuse = (errno: number): Instruction => [RETURN, ERRNO | errno];
  const never = (call: Numbers): Instruction[] => {
    const number = own(call);
    return number === null ? [] : [[IF_EQUAL, number, 0, 1], refuse(EPERM)];
  };
  const conditional = ({ call, argument, mask, where, ...tests }: Condition): Instruction[] => {
    const number = own(call);
    if (number === null) return [];
    const body: Instruction[] = [loadArgument(argument)];
    if (mask !== undefined) body.push([AND, mask]);
    body.push(...testsOf(tests), refuse(EPERM));
    if (where) body.unshift(loadArgument(where[0]), [IF_EQUAL, where[1], 0, body.length]);
    return [[IF_EQUAL, number, 0, body.length + 1], ...body, LOAD_NUMBER];
  };
  const alone = filter === "alone";
  return [
    [LOAD, 4],
    [IF_EQUAL, audit, 1, 0],
    [RETURN, KILL_PROCESS],
    LOAD_NUMBER,
    [IF_LEAST, UNKNOWN, 0, 1],
    refuse(ENOSYS),
    ...(alone ? [[IF_EQUAL, CLONE3, 0, 1] as const, refuse(ENOSYS)] : []),
    ...[...NEVER, ...(alone ? NOT_ALONE : [])].flatMap(never),
    ...(alone ? conditions(process.pid).flatMap(conditional) : []),
    [RETURN, ALLOW],
  ];
}

/** What goes on to the next instruction where the loaded argument is refused, and to the one after it where it is not. */
function testsOf({ only = [], never = [], without, some }: Tests): Instruction[] {
  const good = only.map((value) => [IF_EQUAL, value] as const);
  if (some !== undefined) good.push([IF_SET, some]);
  if (good.length > 0) return good.map(([code, value], nth) => [code, value, good.length - nth, 0]);
  const bad = never.map((value) => [IF_EQUAL, value] as const);
  if (without !== undefined) bad.push([IF_SET, without]);
  const last = bad.length - 1;
  return bad.map(([code, value], nth) => [code, value, last - nth, nth === last ? 1 : 0]);
}

/** As the kernel reads it: `struct sock_filter` (`linux/filter.h`). */
function encode(instructions: readonly Instruction[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(instructions.length * 8));
  for (const [at, [code, value, ifTrue = 0, ifFalse = 0]] of instructions.entries()) {
    view.setUint16(at * 8, code, true);
    view.setUint8(at * 8 + 2, ifTrue);
    view.setUint8(at * 8 + 3, ifFalse);
    view.setUint32(at * 8 + 4, value >>> 0, true);
  }
  return new Uint8Array(view.buffer);
}

/** `name 101/117 …` */
function numbers(list: string): Numbers[] {
  const number = (text = "-") => (text === "-" ? null : Number(text));
  return [...list.matchAll(/\w+ (\d+|-)\/(\d+|-)/g)].map(([, x64, arm64]) => [number(x64), number(arm64)]);
}

/** `name 424 …`: calls since Linux 5.1 have the same number everywhere. */
function sameNumbers(list: string): Numbers[] {
  return [...list.matchAll(/\w+ (\d+)/g)].map(([, number]) => [Number(number), Number(number)]);
}
