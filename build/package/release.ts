/**
 * What a release is of: the version, the commit and its time, from which every time in its files comes.
 */
import { dirname } from "node:path";
import { $ } from "bun";
import { version } from "../../package.json";
import { sourceCommit } from "../compile";
import { ROOT } from "../targets";

export interface Release {
  readonly version: string;
  readonly commit: string;
  /** Seconds since 1970: that of the commit. */
  readonly epoch: number;
  /** The day of {@link epoch}, in UTC: `2026-11-23`. */
  readonly date: string;
}

/** The release that the sources are. Their time is `SOURCE_DATE_EPOCH`, else that of the commit, else the start of 1980. */
export async function release(env: NodeJS.ProcessEnv = process.env): Promise<Release> {
  const epoch = Number(env.SOURCE_DATE_EPOCH || (await timeOfCommit()));
  if (!Number.isSafeInteger(epoch) || epoch < ZIP_START) {
    throw new Error(`SOURCE_DATE_EPOCH: expected whole seconds since 1970, from ${ZIP_START} on`);
  }
  const date = new Date(epoch * 1_000).toISOString().slice(0, 10);
  return { version, commit: await sourceCommit(ROOT), epoch, date };
}

/** 1980-01-01, before which a ZIP archive knows no time. */
const ZIP_START = 315_532_800;

async function timeOfCommit(): Promise<string> {
  // Not those of a repository that this one is unpacked in.
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(ROOT) };
  const shown = await $`git -C ${ROOT} show --no-patch --format=%ct HEAD`.env(env).quiet().nothrow();
  return shown.exitCode === 0 ? shown.text().trim() : `${ZIP_START}`;
}
