/** The process in which a standby checks a large snapshot of its desk: the server there answers meanwhile. */
import { checkSnapshot } from "../desk/join/standby/check-snapshot";
import { serveParent } from "../lib/child";
import { syncFile } from "../lib/files";
import { lowerPriority } from "../lib/priority";
import { deskReaders } from "./desk-readers";

/** What the process does. */
export type SnapshotCalls = typeof calls;

const calls = {
  /** As {@link checkSnapshot}; then the file is on the disk, so that it is put in place at once. */
  async check(file: string, keyFile: string, id: string, stamp: string): Promise<string | null> {
    const proof = await checkSnapshot(file, keyFile, await deskReaders(), id, stamp);
    syncFile(file);
    return proof;
  },
};

export default function standbyChild(): Promise<void> {
  lowerPriority();
  return serveParent<SnapshotCalls>(() => calls);
}
