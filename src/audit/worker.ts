/**
 * The child process that does what takes long with a log, so that the server answers meanwhile.
 */
import { serveParent } from "../lib/child";
import { lowerPriority } from "../lib/priority";
import { AuditFile } from "./file";
import { type PruneOptions, pruneRows } from "./prune";
import { scanDatabase } from "./verify";

export interface AuditEvents {
  progress(rows: number, total: number): void;
}

/** What the child does, each with the log at `path`. */
export type AuditCalls = ReturnType<typeof calls>;

const calls = ({ progress }: AuditEvents) => ({
  verify(path: string, heads: readonly string[]) {
    const { verdict, missing } = scanDatabase(path, heads, progress);
    return { verdict, missing: [...missing] };
  },
  async prune(path: string, options: PruneOptions) {
    const file = new AuditFile(path);
    try {
      return await pruneRows(file, options);
    } finally {
      file.close();
    }
  },
});

export default function auditChild(): Promise<void> {
  lowerPriority();
  return serveParent(calls);
}
