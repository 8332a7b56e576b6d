/**
 * Calls into the Linux kernel that neither Bun nor a kept npm package has, through libc. Only for short-lived helpers:
 * importing it loads the compiler of `bun:ffi`.
 */
import { CString, ptr, read } from "bun:ffi";
import { unavailable } from "./errors";
import { cString, openLibc } from "./libc";
import { lazily } from "./once";

/** `fcntl.h`: a descriptor that only names a file. */
export const O_PATH = 0o10000000;

/** `linux/prctl.h` */
const [PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL] = [24, 38, 47, 4];

/** `linux/capability.h`: those by which root reads and writes the files of others. The kernel knows 64 at most. */
const [CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, MAX_CAPABILITIES] = [1, 2, 3, 64];

type Argument = number | bigint | NodeJS.TypedArray | DataView;

/** The functions of libc, from the first call on. */
const libc = lazily(() =>
  openLibc({
    syscall: { args: ["i64", "i64", "i64", "i64", "i64", "i64"], returns: "i64" },
    prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
    execve: { args: ["ptr", "ptr", "ptr"], returns: "i32" },
    strerror: { args: ["i32"], returns: "ptr" },
    __errno_location: { args: [], returns: "ptr" },
  }),
);

/** The reason of the last call that failed. */
function lastError(): string {
  const location = libc().__errno_location();
  const text = location && libc().strerror(read.i32(location, 0));
  return text ? new CString(text).toString() : "unknown error";
}

/** @param call its name, for the message. @throws an `unavailable` failure when `result` is negative. */
function checked(call: string, result: number | bigint): number {
  if (Number(result) < 0) throw unavailable(`${call}: ${lastError()}`);
  return Number(result);
}

/** Calls the kernel by the `number` of the call. @returns its result. @throws an `unavailable` failure when it fails. */
export function syscall(name: string, number: number, ...args: readonly Argument[]): number {
  const plain = args.map((arg) => (typeof arg === "object" ? BigInt(ptr(arg)) : BigInt(arg)));
  const [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n] = plain;
  return checked(name, libc().syscall(BigInt(number), a, b, c, d, e));
}

/** No program that this thread, or one that it starts, runs gains a right by it (prctl(2)). @throws as {@link syscall}. */
export function forbidNewPrivileges(): void {
  checked("prctl", libc().prctl(PR_SET_NO_NEW_PRIVS, 1n, 0n, 0n, 0n));
}

/**
 * The program that this thread runs next has no capability (capabilities(7)) but those for files, also as root or in a service
 * that may bind low ports. Where this thread may not drop them, it has none to hand on but what the parent of all left it.
 */
export function limitCapabilities(): void {
  libc().prctl(PR_CAP_AMBIENT, BigInt(PR_CAP_AMBIENT_CLEAR_ALL), 0n, 0n, 0n);
  const kept = [CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER];
  for (let one = 0; one < MAX_CAPABILITIES; one++)
    if (!kept.includes(one)) libc().prctl(PR_CAPBSET_DROP, BigInt(one), 0n, 0n, 0n);
}

/** Replaces this program by another (execve(2)). @returns only by throwing, as {@link syscall} does. */
export function execute(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): never {
  const [path, argv] = [cString(program), cStrings(args)];
  const envp = cStrings(Object.entries(env).map(([name, value]) => `${name}=${value}`));
  checked("execve", libc().execve(ptr(path), ptr(argv.pointers), ptr(envp.pointers)));
  throw unavailable("execve: it returned");
}

/** `strings` are what the pointers point at: they are kept with them. */
function cStrings(texts: readonly string[]) {
  const strings = texts.map(cString);
  const pointers = new BigUint64Array(strings.length + 1);
  for (const [at, string] of strings.entries()) pointers[at] = BigInt(ptr(string));
  return { pointers, strings };
}
