/**
 * The binary for musl (Alpine), run on Debian with Debian's musl.
 *
 * It needs a libstdc++ for musl, which Debian has not: its own, built for glibc, is linked with shims/libstdcxx.c in place of
 * what musl lacks. So this shows that svc, its addons and their children run on musl's C library. It does not show that they run with
 * Alpine's libstdc++, in an Alpine system.
 */
import { setDefaultTimeout } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { missingOf, temporaryFolder, testWith } from "../support";
import { buildFor } from "./build";
import type { Machine } from "./machine";
import { PROGRAMS, smoke } from "./smoke";

setDefaultTimeout(300_000);

/** Of Debian 12's packages musl, gcc-12 and libstdc++-12-pic. */
const GCC = "/usr/lib/gcc/x86_64-linux-gnu/12";
const ARCHIVE = `${GCC}/libstdc++_pic.a`;
const NEEDED = ["musl-gcc", "gcc", "/lib/ld-musl-x86_64.so.1", ARCHIVE];
const isReady = missingOf([...NEEDED, ...PROGRAMS]).length === 0;

async function startMusl(env: NodeJS.ProcessEnv): Promise<Machine & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const { path: root } = stack.use(temporaryFolder());
  const libraries = join(root, "lib");
  const home = join(root, "home");
  mkdirSync(libraries);
  mkdirSync(home);
  const shim = join(root, "libstdcxx.o");
  await $`musl-gcc -D_GNU_SOURCE -fPIC -c ${join(import.meta.dir, "shims", "libstdcxx.c")} -o ${shim}`;
  const whole = ["-Wl,--whole-archive", ARCHIVE, "-Wl,--no-whole-archive"];
  const output = ["-o", join(libraries, "libstdc++.so.6"), "-Wl,-soname,libstdc++.so.6"];
  await $`gcc -shared -nostdlib ${output} ${GCC}/crtbeginS.o ${shim} ${whole} -lgcc -lgcc_eh ${GCC}/crtendS.o`;
  const { binary } = stack.use(await buildFor("linux-x64-musl"));
  const kept = stack.move();
  return {
    command: [binary],
    env: { ...env, LD_LIBRARY_PATH: libraries },
    home,
    named: (path) => path,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

smoke(testWith(...NEEDED, ...PROGRAMS), isReady, startMusl);
