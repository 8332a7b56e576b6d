/**
 * `{config_dir}/run/rest.json`: where the local server answers, for other subcommands to find it.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import * as v from "valibot";
import { messageOf, systemCode, unavailable } from "./errors";
import { writeFileAtomic } from "./files";
import { type Release, tryLock } from "./lock";
import { configFiles } from "./paths";

const RUN_FILE = v.object({
  url: v.string(),
  pid: v.number(),
  /** Null when the token did not come from a file. */
  token_file: v.optional(v.nullable(v.string())),
});

/** The server that runs on a `{config_dir}`. */
export type RunningServer = v.InferOutput<typeof RUN_FILE>;

/**
 * Claims `{config_dir}` for a server; undefined when one runs on it already. The claim ends with the process.
 *
 * @throws an `unavailable` failure when nothing can be written there.
 */
export function claimConfigDir(configDir: string): Release | undefined {
  try {
    return tryLock(configFiles(configDir).serveLock);
  } catch (error) {
    throw unavailable(`${configDir} cannot be written (${systemCode(error) ?? messageOf(error)})`);
  }
}

/** Says where the server answers. */
export function writeRunFile(configDir: string, server: RunningServer): void {
  writeFileAtomic(configFiles(configDir).runFile, `${JSON.stringify(server)}\n`);
}

/** Never throws. */
export function removeRunFile(configDir: string): void {
  try {
    rmSync(configFiles(configDir).runFile, { force: true });
  } catch {
    // In a folder that cannot be written any more it stays, and is recognised as stale.
  }
}

/** The server that runs on `configDir`, or null. What a server that died left behind is recognised and removed. */
export function findRunningServer(configDir: string): RunningServer | null {
  const { runFile } = configFiles(configDir);
  if (!existsSync(runFile)) return null;
  const release = claimConfigDir(configDir);
  if (release) {
    removeRunFile(configDir);
    release();
    return null;
  }
  try {
    return v.parse(RUN_FILE, JSON.parse(readFileSync(runFile, "utf8")));
  } catch {
    return null;
  }
}
