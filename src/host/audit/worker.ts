/**
 * The child process that does what takes long with a log, so that the server answers meanwhile.
 */
import { serveParent } from "../../lib/child";
import { lowerPriority } from "../../lib/priority";
import { AuditFile } from "./file";
import { type PruneOptions, pruneRows } from "./prune";
import { scanDatabase, structureFault } from "./verify";
import { joinAll } from "./witness/join";

export interface AuditEvents {
  progress(rows: number, total: number): void;
}

/** What the child does, each with the log at `path`. */
export type AuditCalls = ReturnType<typeof calls>;

const calls = ({ progress }: AuditEvents) => ({
  /**
   * @param vkey the key of the log, where its tree is to be verified too.
   * @param rowsOnly whether another process looks at the structure of the file.
   */
  async verify(path: string, heads: readonly string[], vkey: string | null, rowsOnly: boolean) {
    const { verdict, missing } = scanDatabase(path, heads, { progress, rowsOnly });
    const tree = vkey === null ? null : (await import("./witness/scan")).scanTree(path, vkey, progress);
    return { verdict, missing: [...missing], tree };
  },
  structure: structureFault,
  async join(path: string): Promise<boolean> {
    const file = new AuditFile(path);
    try {
      await joinAll(file);
      return true;
    } finally {
      file.close();
    }
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
