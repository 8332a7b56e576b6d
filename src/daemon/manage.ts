/**
 * Carrying a plan out: the file written, the platform's programs run with what they say going where ours does.
 */
import { mkdirSync, rmSync } from "node:fs";
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

/** What is not there or does not run any more is no reason to leave the rest. */
export async function uninstallDaemon({ file, uninstall, forget }: DaemonPlan): Promise<void> {
  for (const line of uninstall) await runThrough(line);
  rmSync(file.path, { force: true });
  for (const line of forget) await mustRun(line);
}

/** Runs a program on our own stdin, stdout and stderr; its exit code. @throws an `unavailable` failure without it. */
export async function runThrough(line: CommandLine): Promise<number> {
  if (Bun.which(line[0] ?? "") === null) throw unavailable(`${line[0]} is not there`);
  return Bun.spawn([...line], { stdio: ["inherit", "inherit", "inherit"] }).exited;
}

async function mustRun(line: CommandLine): Promise<void> {
  const exitCode = await runThrough(line);
  if (exitCode !== 0) throw unavailable(`${line.join(" ")} failed with exit code ${exitCode}`);
}
