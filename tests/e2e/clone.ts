/**
 * This repository as somebody has it who has just cloned it, with Node and npm, an empty home and no bun.
 *
 * It includes uncommitted changes, so that it tests the same tree as the other tests.
 */
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { ROOT } from "../../build/targets";

export interface Clone {
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * @param folder an empty one for the clone and the home. The caches of npm and bun stay those of this machine, so that
 *   nothing is fetched twice; they may be empty.
 */
export async function freshClone(folder: string): Promise<Clone> {
  const path = join(folder, "clone");
  await $`git clone --quiet --no-local ${ROOT} ${path}`;
  await $`git -C ${ROOT} diff --binary HEAD | git -C ${path} apply --allow-empty --whitespace=nowarn`;
  const untracked = await $`git -C ${ROOT} ls-files --others --exclude-standard -z`.text();
  for (const name of untracked.split("\0").filter(Boolean)) cpSync(join(ROOT, name), join(path, name));

  const HOME = join(folder, "home");
  mkdirSync(HOME);
  const ours = /^(npm_|BUN_|SVC_|XDG_|NODE_ENV$|INIT_CWD$)/i;
  const places = process.env.PATH?.split(":") ?? [];
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name))),
    HOME,
    PATH: places.filter((place) => !existsSync(join(place, "bun"))).join(":"),
    npm_config_cache: (await $`npm config get cache`.quiet().text()).trim(),
    BUN_INSTALL_CACHE_DIR: (await $`${process.execPath} pm cache`.cwd(ROOT).quiet().text()).trim(),
  };
  return { path, env };
}
