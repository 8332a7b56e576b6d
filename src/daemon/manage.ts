/**
 * Carrying a plan out: the file written, the platform's programs run with what they say going where ours does.
 */
import { mkdirSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf, systemCode, unavailable } from "../lib/errors";
import { writeFileAtomic } from "../lib/files";
import type { CommandLine, DaemonPlan } from "./daemon";

/** @throws an `unavailable` failure naming what could not be written or run. */
export async function installDaemon({ file, install }: DaemonPlan): Promise<void> {
  try {
    mkdirSync(dirname(file.path), { recursive: true });
    const content = file.encoding ? Buffer.from(`\ufeff${file.content}`, file.encoding) : file.content;
    writeFileAtomic(file.path, content, 0o644);
  } catch (error) {
    throw unavailable(`${file.path} cannot be written (${systemCode(error) ?? messageOf(error)})`);
  }
  for (const line of install) await mustRun(line);
}

/**
 * What is not there or does not run any more is no reason to leave the rest.
 *
 * @throws an `unavailable` failure naming what could not be removed or run.
 */
export async function uninstallDaemon({ file, uninstall, forget }: DaemonPlan): Promise<void> {
  for (const line of uninstall) await runThrough(line);
  try {
    unlinkSync(file.path);
  } catch (error) {
    const code = systemCode(error) ?? messageOf(error);
    if (code !== "ENOENT") throw unavailable(`${file.path} cannot be removed (${code})`);
  }
  for (const line of forget) await mustRun(line);
}

/**
 * Runs a program on our own stdin, stdout and stderr; its exit code. One that follows a log ends with us.
 *
 * @throws an `unavailable` failure without it.
 */
export async function runThrough(line: CommandLine): Promise<number> {
  if (Bun.which(line[0] ?? "") === null) throw unavailable(`${line[0]} is not there`);
  const told = new AbortController();
  process.once("SIGTERM", () => told.abort());
  return Bun.spawn([...line], { stdio: ["inherit", "inherit", "inherit"], signal: told.signal }).exited;
}

async function mustRun(line: CommandLine): Promise<void> {
  const exitCode = await runThrough(line);
  if (exitCode !== 0) throw unavailable(`${line.join(" ")} failed with exit code ${exitCode}`);
}
