import { expect, test } from "bun:test";
import { chownSync, statSync } from "node:fs";
import { join } from "node:path";
import { ensurePrivateFolder, writeFileAtomic, writeNamedFile } from "../../src/lib/files";
import { tryLock } from "../../src/lib/lock";
import { silentLog } from "../../src/lib/log";
import { createHistory } from "../../src/runs/history";
import { temporaryFolder } from "../support";

const SOMEBODY = 4_242;

test.skipIf(process.getuid?.() !== 0)(
  "what root makes in another user's folder is theirs; what it writes to a path that it was given is its own",
  async () => {
    using folder = temporaryFolder();
    const at = (...names: string[]) => join(folder.path, ...names);
    chownSync(folder.path, SOMEBODY, SOMEBODY);
    writeFileAtomic(at("rest_token"), "a token\n");
    const history = createHistory({ path: at("history.db"), maxRows: undefined, log: silentLog });
    history.note({
      ...{ run_id: "one", source_type: "cli", source_id: "", token: null, script_path: "", commands: [] },
      ...{ started_at: "", finished_at: null, status: "running", error_text: null, duration_seconds: null },
    });
    await history.close();
    tryLock(at("run", "tokens.lock"))?.();
    ensurePrivateFolder(at("audit-archive"));
    for (const name of ["rest_token", "history.db", "run", "run/tokens.lock", "audit-archive"]) {
      const { uid, gid, mode } = statSync(at(name));
      expect([name, uid, gid, mode & 0o077]).toEqual([name, SOMEBODY, SOMEBODY, 0]);
    }
    writeNamedFile(at("bundle.json"), "{}", "file");
    expect(statSync(at("bundle.json")).uid).toBe(0);
  },
);
