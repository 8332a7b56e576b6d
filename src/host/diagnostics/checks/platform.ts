/** `platform`: what svc runs on. */
import { arch, availableParallelism, freemem, release, totalmem, type } from "node:os";
import { commit, version } from "../../../version";
import { check, type Finding, fine, warning } from "../check";

const SUPPORTED: readonly NodeJS.Platform[] = ["linux", "darwin", "win32"];

export const platform = check({
  name: "platform",
  summary: "svc is built for this platform (else a warning)",
  advice: [],
  run: () => judgePlatform(process.platform),
});

export function judgePlatform(platform: NodeJS.Platform): Finding {
  const detail = `svc ${version} on ${type()} ${release()} ${arch()}`;
  const extra = {
    version,
    commit,
    platform,
    release: release(),
    arch: arch(),
    bun: Bun.version,
    cpus: availableParallelism(),
    memory_bytes: totalmem(),
    free_memory_bytes: freemem(),
  };
  if (SUPPORTED.includes(platform)) return fine(detail, extra);
  return warning(`${detail}, which svc is not built for`, ["use Linux, macOS or Windows"], extra);
}
