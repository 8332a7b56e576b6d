/**
 * The binary for arm64, run by qemu beside the one of this machine.
 *
 * svc starts processes of itself, so the kernel has to run arm64 programs by qemu: a user namespace has binfmt_misc handlers
 * of its own (Linux 6.7), which need no root and go with it. On another kernel only what one process does is tried.
 */
import { expect, setDefaultTimeout } from "bun:test";
import { missingOf, temporaryFolder, testWith } from "../support";
import { buildFor } from "./build";
import { type Machine, run, serve } from "./machine";
import { PROGRAMS, smoke } from "./smoke";

setDefaultTimeout(300_000);

const QEMU = "qemu-aarch64-static";
/** The libraries of arm64 (libc6-arm64-cross, libgcc-s1-arm64-cross). */
const LIBRARIES = "/usr/aarch64-linux-gnu";
const HANDLER = "/usr/lib/binfmt.d/qemu-aarch64.conf";
const NEEDED = [QEMU, HANDLER, `${LIBRARIES}/lib/libgcc_s.so.1`, "unshare"];
/** The libraries come first in /usr/lib: under qemu's own prefix for them (-L) the path / would be theirs too. */
const LIBRARIES_FIRST = `mount -t overlay -o lowerdir=${LIBRARIES}/lib:/usr/lib overlay /usr/lib`;
const HANDLERS = `mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && cat ${HANDLER} > /proc/sys/fs/binfmt_misc/register`;

/** The command line that runs another one after `steps`, all in a namespace. */
const after = (...steps: readonly string[]) => [
  ...["unshare", "--user", "--map-root-user", "--mount"],
  ...["sh", "-c", [...steps, 'exec "$0" "$@"'].join(" && ")],
];

const isReady = missingOf([...NEEDED, ...PROGRAMS]).length === 0;
const hasHandlers = isReady && Bun.spawnSync([...after(HANDLERS), "true"]).success;

async function startArm64(env: NodeJS.ProcessEnv): Promise<Machine & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const { binary } = stack.use(await buildFor("linux-arm64"));
  const { path: home } = stack.use(temporaryFolder());
  const kept = stack.move();
  return {
    command: hasHandlers
      ? [...after(HANDLERS, LIBRARIES_FIRST), binary]
      : [...after(LIBRARIES_FIRST), QEMU, binary],
    env,
    home,
    named: (path) => path,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const test = testWith(...NEEDED, ...PROGRAMS);
if (hasHandlers || !isReady) smoke(test, isReady, startArm64);
else {
  console.warn(
    "arm64: svc cannot start processes of itself here: the desktop, the audit log and sync are left out",
  );
  test("one process says its version, and serves", async () => {
    await using machine = await startArm64(process.env);
    expect(await run(machine, ["--version"])).toMatchObject({ exitCode: 0 });
    await using server = await serve(machine);
    for (const path of ["/health", "/commands", "/openapi.json", "/status", "/dashboard"]) {
      expect((await server.call(path)).status).toBe(200);
    }
  });
}
