/**
 * What the platform offers against a takeover of a child that runs native code. On Linux: no new privileges, Landlock for
 * files, a filter of system calls, no core dump. macOS and Windows have nothing that a program can put on itself here.
 */
import { constants, openSync } from "node:fs";
import { resolve } from "node:path";
import { messageOf } from "./errors";
import type { Reach } from "./landlock";
import { lookThrough } from "./look";
import type { Filter } from "./seccomp";
import { selfCommand } from "./self-command";

/** The argument of a process that runs under Landlock. */
const RESTRICTED = "--restricted";

/** The descriptor of Bun's channel to the parent. */
const CHANNEL_FD = 3;

/** The variables that the runtime and the C library need. */
const VARIABLES = ["BUN_TMPDIR", "TMPDIR", "TMP", "TEMP", "LOCALAPPDATA", "SystemRoot", "LD_LIBRARY_PATH"];

/** The environment of a child that needs nothing of this one's. */
export const bareEnvironment = (): Record<string, string> =>
  Object.fromEntries(VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));

/** The command line of a child that {@link confine} restricts to `reach`. @param more what it gets besides, no secrets. */
export const confinedCommand = (child: string, reach: Reach, more: readonly string[] = []) =>
  selfCommand([child, JSON.stringify(reach), ...more]);

/**
 * Confines this process for good, all its threads. Landlock holds for one thread and what it runs: so the process runs its own
 * program once more.
 *
 * @param args those that {@link confinedCommand} put after the name of the `child`.
 * @param load loads the native code. Called before the process is restricted too: what it loads may still be read then.
 * @param open opens what the process may not open later, such as a local socket; called once. Must not throw.
 * @returns what is missing, with the reason; null when nothing is.
 */
export async function confine(
  child: string,
  args: readonly string[],
  load: () => Promise<unknown>,
  open: (more: readonly string[]) => Promise<void> = async () => {},
): Promise<string | null> {
  const [reach = "", ...more] = args;
  await load().catch(() => {});
  if (process.platform !== "linux") {
    await open(more);
    return "svc has no sandbox for this platform";
  }
  const reasons: string[] = [];
  const missing = (error: unknown) => void reasons.push(messageOf(error));
  if (reach === RESTRICTED) {
    // While this folder is open, the kernel does not forget that the rule for it names it.
    openSync("/proc/self", constants.O_RDONLY | constants.O_DIRECTORY);
  } else {
    await runRestricted(child, JSON.parse(reach), more).catch(missing);
  }
  await open(more);
  await filter("alone").catch(missing);
  return reasons.length > 0 ? reasons.join("; ") : null;
}

/**
 * A rule of Landlock names a folder itself, not its path. @returns a function that says whether one of the `paths` has been
 * replaced or removed since.
 */
export function watchFolders(paths: readonly string[]): () => boolean {
  const identities = () => paths.map((path) => identityOf(path)).join();
  const before = identities();
  return () => identities() !== before;
}

function identityOf(path: string): string {
  const found = lookThrough(path);
  return found ? `${found.dev}:${found.ino}` : "";
}

/** Runs this program again under Landlock. @throws why it cannot; it does not return. */
async function runRestricted(
  child: string,
  { reads, writes }: Reach,
  more: readonly string[],
): Promise<never> {
  const [{ restrictFiles }, { execute, limitCapabilities }] = await Promise.all([
    import("./landlock"),
    import("./syscall"),
  ]);
  const [program = "", ...source] = selfCommand([]);
  restrictFiles({ reads: [...reads, ...source.map((path) => resolve(path, "../.."))], writes });
  limitCapabilities();
  const env = { NODE_CHANNEL_FD: String(CHANNEL_FD), NODE_CHANNEL_SERIALIZATION_MODE: "json" };
  return execute(program, [program, ...source, child, RESTRICTED, ...more], { ...bareEnvironment(), ...env });
}

/** Takes away from a helper of the desktop or of USB what none of them needs, where this platform can (`seccomp.ts`). */
export async function confineLightly(): Promise<void> {
  if (process.platform === "linux") await filter("basic").catch(() => {});
}

/**
 * The same for one that has loaded and opened all that it uses: it starts no process either, signals none, and opens no local socket. The
 * channel to its parent stays. Its files are what they were: that takes {@link confine}.
 */
export async function confineAlone(): Promise<void> {
  if (process.platform === "linux") await filter("alone").catch(() => {});
}

const filter = async (name: Filter) => (await import("./seccomp")).filterCalls(name);
