/** A desk for tests of `svc fleet` as a person calls it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "../../src/lib/log";
import { createService } from "../../src/service/service";
import type { host } from "../desk/fleet/support";
import { SVC, temporaryFolder } from "../support";

/** A desk in a folder of its own, with these hosts, and `svc` there. */
export async function deskWith(hosts: ReadonlyArray<ReturnType<typeof host>>) {
  const folder = temporaryFolder();
  const configDir = join(folder.path, "config");
  const service = createService({ configDir, log: silentLog });
  await (await service.addressBook()).addAll([...hosts], false);
  await service.stop();
  /** Begins `svc` with these words; what it has written and its exit code come once it is over. */
  const start = (...args: string[]) => {
    const child = Bun.spawn([...SVC, ...args, "--config-dir", configDir], {
      cwd: folder.path,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const over = async () => {
      const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      return { stdout, stderr, code: await child.exited };
    };
    return { interrupt: () => child.kill("SIGINT"), over: over() };
  };
  return {
    configDir,
    write: (name: string, text: string) => writeFileSync(join(folder.path, name), text),
    start,
    svc: (...args: string[]) => start(...args).over,
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}
