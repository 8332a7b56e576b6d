/**
 * Other work that uses the machine while a bench runs: as many processes as there are processors, each of which computes all the time.
 */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../build/targets";

const PROGRAM = join(ROOT, "bench", "programs", "busy.ts");

/** The load as the page has it. */
export const LOAD =
  "as many processes as it has processors, each computing SHA-256 all the time at the priority of the bench";

/** Other work, ended when the scope ends: `await using`. */
export interface Load extends AsyncDisposable {
  readonly pids: readonly number[];
  /** @throws when a part of it has ended: then the bench had the machine for itself. */
  requireAll(): void;
}

/** Starts it. Resolves when all of it computes. @throws when a process ends before. */
export async function startLoad(count = availableParallelism()): Promise<Load> {
  const started = Array.from({ length: count }, () => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const child = Bun.spawn([process.execPath, PROGRAM], {
      stdio: ["ignore", "ignore", "inherit"],
      ipc: resolve,
      onExit: (_, code) => reject(new Error(`the load ended with exit code ${code}`)),
    });
    return { child, computes: promise };
  });
  const load: Load = {
    pids: started.map(({ child }) => child.pid),
    requireAll() {
      if (started.some(({ child }) => child.exitCode !== null || child.signalCode !== null))
        throw new Error("a part of the load had ended before the bench");
    },
    async [Symbol.asyncDispose]() {
      for (const { child } of started) child.kill("SIGKILL");
      await Promise.all(started.map(({ child }) => child.exited));
    },
  };
  try {
    await Promise.all(started.map(({ computes }) => computes));
    return load;
  } catch (error) {
    await load[Symbol.asyncDispose]();
    throw error;
  }
}
