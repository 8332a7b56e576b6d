/**
 * The index of the files that a sync has sent (`{config_dir}/sync/<id>.db`): with it, a restart loses no change.
 */
import { openDatabase } from "../../lib/sqlite";
import type { FileState } from "./file-state";
import type { SentIndex } from "./ledger";

/** @throws the SQLite error when the file cannot be opened. */
export function openSentIndex(path: string): SentIndex & Disposable {
  const db = openDatabase(path, {
    // When a power cut undoes a row, its file is sent once more; no change is lost.
    synchronous: "NORMAL",
    busyMs: 5_000,
    prepare(file) {
      file.run(
        `CREATE TABLE IF NOT EXISTS sent (name TEXT PRIMARY KEY, mtime_ms REAL NOT NULL, size INTEGER NOT NULL,
           inode INTEGER NOT NULL) WITHOUT ROWID`,
      );
      // At most one row.
      file.run("CREATE TABLE IF NOT EXISTS host (id TEXT NOT NULL)");
    },
  });
  const put = db.query("INSERT OR REPLACE INTO sent VALUES ($name, $mtimeMs, $size, $inode)");
  const remove = db.query("DELETE FROM sent WHERE name = $name");
  const select = db.query<{ name: string } & FileState, []>(
    "SELECT name, mtime_ms AS mtimeMs, size, inode FROM sent",
  );

  const setHost = (id: string) => void db.run("INSERT INTO host VALUES (?)", [id]);

  return {
    load: () => new Map(select.all().map(({ name, ...state }) => [name, state])),
    replace: db.transaction((files: ReadonlyMap<string, FileState>, host: string | null) => {
      db.run("DELETE FROM sent");
      for (const [name, state] of files) put.run({ name, ...state });
      db.run("DELETE FROM host");
      if (host !== null) setHost(host);
    }).immediate,
    host: () => db.query<{ id: string }, []>("SELECT id FROM host").get()?.id ?? null,
    setHost,
    put: (name, state) => void put.run({ name, ...state }),
    remove: (name) => void remove.run({ name }),
    [Symbol.dispose]: () => db.close(),
  };
}
