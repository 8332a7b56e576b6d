/** Programs that the runner itself runs in a world. */
import { join } from "node:path";
import { BINARY } from "../support";
import type { World } from "./world";

/** What a program of the runner came to. */
export interface Exit {
  readonly code: number | null;
  readonly out: string;
  readonly said: string;
}

/** Runs a program in a world. @param seconds after which it is ended. */
export async function runIn(world: World, command: readonly string[], seconds: number): Promise<Exit> {
  const child = Bun.spawn([...command], {
    ...{ env: world.env, cwd: world.folder, timeout: seconds * 1_000 },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, said] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, out, said };
}

/** Runs the compiled binary in a world. */
export const svc = (world: World, words: readonly string[], seconds: number) =>
  runIn(world, [BINARY, ...words, "--config-dir", join(world.home, ".svc")], seconds);

/** The line of what a program printed that says what went wrong. */
export const firstError = ({ out, said, code }: Exit) =>
  `${out}\n${said}`
    .split("\n")
    .find((line) => /error|fail|there is no|names \d|not /i.test(line))
    ?.trim() ?? `exit code ${code}`;
