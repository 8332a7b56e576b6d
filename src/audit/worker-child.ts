/**
 * The child process that does what takes long with a log.
 */
import { serveParent } from "../lib/child";
import { lowerPriority } from "../lib/priority";
import { AuditFile } from "./file";
import { pruneRows } from "./prune";
import { verifyDatabase } from "./verify";
import type { AuditCalls, AuditEvents } from "./worker";

export default async function auditChild(): Promise<void> {
  lowerPriority();
  await serveParent<AuditCalls, AuditEvents>(({ progress }) => ({
    verify: async (path, noted) => verifyDatabase(path, { noted, progress }),
    async prune(path, options) {
      const file = new AuditFile(path);
      try {
        return await pruneRows(file, options);
      } finally {
        file.close();
      }
    },
  }));
}
