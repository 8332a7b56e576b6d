/**
 * A confined process in the hands of an attacker: reaches for what is outside and prints the outcome of each attempt.
 * Arguments: a folder that it may write to, one that it may not, and the name of a filter.
 */
import { ptr } from "bun:ffi";
import { chmodSync, linkSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { restrictFiles } from "../../src/lib/landlock";
import { openLibc } from "../../src/lib/libc";
import { filterCalls } from "../../src/lib/seccomp";
import { syscall } from "../../src/lib/syscall";

const [inside = "", outside = "", filter = ""] = process.argv.slice(2);
const parent = process.ppid;

const libc = await openLibc({
  socket: { args: ["i32", "i32", "i32"], returns: "i32" },
  socketpair: { args: ["i32", "i32", "i32", "ptr"], returns: "i32" },
  connect: { args: ["i32", "ptr", "i32"], returns: "i32" },
  sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "i32"], returns: "i64" },
  sendmsg: { args: ["i32", "ptr", "i32"], returns: "i64" },
  sendmmsg: { args: ["i32", "ptr", "u32", "i32"], returns: "i32" },
  fcntl: { args: ["i32", "i32", "i64"], returns: "i32" },
  ioctl: { args: ["i32", "u64", "ptr"], returns: "i32" },
  shmctl: { args: ["i32", "i32", "ptr"], returns: "i32" },
  setpriority: { args: ["i32", "i32", "i32"], returns: "i32" },
  sched_setscheduler: { args: ["i32", "i32", "ptr"], returns: "i32" },
  inotify_init: { args: [], returns: "i32" },
  inotify_add_watch: { args: ["i32", "ptr", "u32"], returns: "i32" },
  syscall: { args: ["i64", "i64", "i64"], returns: "i64" },
});

const dial = (where: string | number) =>
  new Promise<void>((resolve, reject) => {
    const socket = typeof where === "string" ? connect(where) : connect(where, "127.0.0.1");
    socket.on("connect", resolve).on("error", reject);
  });

/** `linux/socket.h`, `linux/in.h` */
const [AF_UNIX, AF_INET, AF_NETLINK, AF_VSOCK] = [1, 2, 16, 40];
const [STREAM, DATAGRAM, RAW, SEQUENCED] = [1, 2, 3, 5];
const [TCP, UDP, SCTP, SMC, MPTCP] = [6, 17, 132, 256, 262];
const MSG_FASTOPEN = 0x20000000;

const socket = (family: number, type: number, protocol = 0) => libc.socket(family, type, protocol);
const opens = (...args: Parameters<typeof socket>) => socket(...args) >= 0;

/** `struct sockaddr_in` of the server on loopback, and `struct mmsghdr` with one byte for it. */
const address = new DataView(new ArrayBuffer(16));
address.setUint16(0, AF_INET, true);
address.setUint16(2, Number(readFileSync(`${inside}/port`, "utf8")));
address.setUint32(4, 0x7f000001);
const byte = new Uint8Array(1);
const vector = new BigUint64Array([BigInt(ptr(byte)), 1n]);
const message = new BigUint64Array([BigInt(ptr(address)), 16n, BigInt(ptr(vector)), 1n, 0n, 0n, 0n, 0n]);
const none = new BigUint64Array(32);
/** What calls write, which others must not read: there are as many segments of shared memory as other programs have. */
const written = new BigUint64Array(32);

if (filter === "alone") restrictFiles({ reads: [], writes: [inside] });
filterCalls(filter === "alone" ? "alone" : "basic");

const attempts: Record<string, () => unknown> = {
  writeInside: () => writeFileSync(`${inside}/file`, "x"),
  readInside: () => readFileSync(`${inside}/file`),
  readOutside: () => readFileSync(`${outside}/key`),
  listOutside: () => readdirSync("/etc"),
  writeOutside: () => writeFileSync(`${outside}/new`, "x"),
  linkOutside: () => linkSync(`${outside}/key`, `${inside}/key`),
  linkTo: () => symlinkSync(`${outside}/key`, `${inside}/link`),
  openToAll: () => chmodSync(`${outside}/key`, 0o4755),
  run: () => Bun.spawnSync(["/bin/true"]).success,
  signalParent: () => process.kill(parent, 0),
  parentMemory: () => readFileSync(`/proc/${parent}/environ`),
  trace: () => syscall("ptrace", process.arch === "x64" ? 101 : 117, 16, parent),
  unixSocket: () => dial(`${outside}/socket`),
  tcp: () => dial(Number(readFileSync(`${inside}/port`, "utf8"))),
  interfaces: () => Object.keys(networkInterfaces()).length > 0,
  udp: () => libc.connect(socket(AF_INET, DATAGRAM, UDP), ptr(address), 16) === 0,
  multipathTcp: () => libc.connect(socket(AF_INET, STREAM, MPTCP), ptr(address), 16) === 0,
  sctp: () => opens(AF_INET, STREAM, SCTP) || opens(AF_INET, SEQUENCED, SCTP),
  smc: () => opens(AF_INET, STREAM, SMC),
  rawSocket: () => opens(AF_INET, RAW, TCP) || opens(10, RAW, TCP),
  otherFamily: () => opens(AF_VSOCK, STREAM) || opens(AF_UNIX, DATAGRAM),
  otherNetlink: () => opens(AF_NETLINK, RAW, 9) || opens(AF_NETLINK, RAW, 15),
  socketPair: () => libc.socketpair(AF_UNIX, DATAGRAM, 0, ptr(written)) === 0,
  fastOpen: () => libc.sendto(socket(AF_INET, STREAM), ptr(byte), 1n, MSG_FASTOPEN, ptr(address), 16) >= 0n,
  fastOpenMessage: () => libc.sendmsg(socket(AF_INET, STREAM), ptr(message), MSG_FASTOPEN) >= 0n,
  fastOpenMessages: () => libc.sendmmsg(socket(AF_INET, STREAM), ptr(message), 1, MSG_FASTOPEN) >= 0,
  /** `F_SETOWN`, `F_SETSIG`, `SIOCSPGRP`, `FIOSETOWN` */
  signalByOwner: () => libc.fcntl(socket(AF_INET, DATAGRAM), 8, BigInt(parent)) === 0,
  signalOfChoice: () => libc.fcntl(socket(AF_INET, DATAGRAM), 10, 9n) === 0,
  signalByControl: () => {
    const owner = new Int32Array([parent]);
    const fd = socket(AF_INET, DATAGRAM);
    return libc.ioctl(fd, 0x8902n, ptr(owner)) === 0 || libc.ioctl(fd, 0x8901n, ptr(owner)) === 0;
  },
  ring: () => libc.syscall(425n, 1n, BigInt(ptr(none))) >= 0n,
  /** `SHM_INFO` */
  sharedMemory: () => libc.shmctl(0, 14, ptr(written)) >= 0,
  priorityOfParent: () => libc.setpriority(0, parent, 0) === 0,
  schedulerOfParent: () => libc.sched_setscheduler(parent, 0, ptr(none)) === 0,
  watchOutside: () => libc.inotify_add_watch(libc.inotify_init(), ptr(Buffer.from(`${outside}\0`)), 2) >= 0,
  listen: () =>
    new Promise((resolve, reject) =>
      createServer()
        .on("error", reject)
        .listen(0, () => resolve(0)),
    ),
};

const outcomes: Record<string, boolean> = {};
for (const [name, attempt] of Object.entries(attempts)) {
  try {
    outcomes[name] = (await attempt()) !== false;
  } catch {
    outcomes[name] = false;
  }
}
const threads = readdirSync("/proc/self/task").map((id) =>
  readFileSync(`/proc/self/task/${id}/status`, "utf8"),
);
const confined = (status: string) => /NoNewPrivs:\t1/.test(status) && /Seccomp:\t2/.test(status);
console.log(JSON.stringify({ ...outcomes, allThreads: threads.every(confined) }));
process.exit();
