/**
 * The first answers to requests with an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07), for repeats of them.
 *
 * The promise: what has an `Idempotency-Key` begins once in {@link KEPT_MS}, also when svc crashes meanwhile. Neither a key nor an
 * answer can be read from the file: an answer is sealed with a key that is derived from the `Idempotency-Key`. The file is bounded;
 * a named token leaves others some of it, and what is kept is never given up for something newer.
 */
import type { Database } from "bun:sqlite";
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import type { Grant } from "../core/rights";
import { type OldestKept, oldestKept } from "../lib/age";
import { steadyClock } from "../lib/clock";
import { isWithinShare } from "../lib/quota";
import { openDatabase } from "../lib/sqlite";

/** How long an answer is kept, in milliseconds: a day. */
const KEPT_MS = 86_400_000;

/** The most requests that are kept, and the bytes of their answers in all. */
const MAX = { rows: 100_000, bytes: 256 * 1_048_576 };

/** Who asks: the name of a token, and since when it has that name; null for the owner. */
type Asker = Pick<Grant, "name" | "since">;

interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * How a request ended: with this answer, or one that is too large; `interrupted`, and nobody knows how far it came; null when
 * nothing has begun.
 */
export type Ending = KeptAnswer | { readonly status: number } | "interrupted" | null;

/** How far a request has come; `large`: it was answered with this status, and the answer was too large to be kept. */
export type RequestState =
  | { readonly kind: "new"; end(answer: Ending): void }
  | { readonly kind: "answered"; readonly answer: KeptAnswer }
  | { readonly kind: "large"; readonly status: number }
  | { readonly kind: "running" | "interrupted" | "other" | "full" };

interface Row {
  readonly request: Uint8Array;
  readonly status: number | null;
  readonly answer: Uint8Array | null;
}

/** The first answers to requests with an idempotency key, on disk. */
export interface FirstAnswers {
  /**
   * How far this request has come. When it is `new`, it is on disk as begun, and `end` takes how it ends.
   *
   * @param request what it asks for: another one must not have the same key.
   * @throws the SQLite error when the file cannot be written: then the request must not begin.
   */
  begin(asker: Asker, key: string, request: string): RequestState;
  close(): void;
}

/**
 * @param now milliseconds since the epoch, of a clock that nobody sets: one that jumps ahead would forget what is under way.
 * @param oldest says what is forgotten.
 */
export function createFirstAnswers(
  path: string,
  { now = steadyClock(), most = MAX, oldest = oldestKept as OldestKept } = {},
): FirstAnswers {
  let db: Database | undefined;
  /** The ids of those that this process works on: what the file has of others without an answer was interrupted. */
  const running = new Set<string>();
  const used = new Map<string, { rows: number; bytes: number }>();

  const count = (token: string, rows: number, bytes: number) => {
    const sum = used.get(token) ?? { rows: 0, bytes: 0 };
    const next = { rows: sum.rows + rows, bytes: sum.bytes + bytes };
    if (next.rows > 0) used.set(token, next);
    else used.delete(token);
  };
  const hasRoom = (token: string, what: "rows" | "bytes", more: number) => {
    const own = used.get(token)?.[what] ?? 0;
    const free = used.values().reduce((rest, sum) => rest - sum[what], most[what]);
    return token === "" ? more <= free : isWithinShare(own, more, free, 1);
  };
  const opened = (): Database => {
    if (db) return db;
    db = openDatabase(path, {
      synchronous: "FULL",
      busyMs: 1_000,
      prepare: (file) =>
        file.run(`CREATE TABLE IF NOT EXISTS requests (
          id BLOB PRIMARY KEY, token TEXT NOT NULL, request BLOB NOT NULL, at INTEGER NOT NULL,
          status INTEGER, answer BLOB) WITHOUT ROWID;
          CREATE INDEX IF NOT EXISTS requests_at ON requests(at)`),
    });
    used.clear();
    const sums = db.query<{ token: string; rows: number; bytes: number }, []>(
      "SELECT token, count(*) AS rows, coalesce(sum(length(answer)), 0) AS bytes FROM requests GROUP BY token",
    );
    for (const { token, rows, bytes } of sums.all()) used.set(token, { rows, bytes });
    return db;
  };
  const remove = (file: Database, where: string, value: number | Uint8Array) => {
    const gone = file.query<{ token: string; bytes: number | null }, [number | Uint8Array]>(
      `DELETE FROM requests WHERE ${where} ?1 RETURNING token, length(answer) AS bytes`,
    );
    for (const { token, bytes } of gone.all(value)) count(token, -1, -(bytes ?? 0));
  };

  return {
    begin({ name, since = 0 }, key, request) {
      const token = name ?? "";
      const owner = JSON.stringify([name, name === null ? 0 : since]);
      const keys = keysOf(key, owner);
      const digest = createHmac("sha256", keys.request).update(request).digest();
      const file = opened();
      remove(file, "at <", oldest(KEPT_MS));
      const row = file.query<Row, [Uint8Array]>("SELECT request, status, answer FROM requests WHERE id = ?1");
      const known = row.get(keys.id);
      if (known) return foundIn(known, digest, keys.seal, running.has(keys.id.toString("hex")));
      // Where there is no room, what is too old by the clock goes, right or not.
      if (!hasRoom(token, "rows", 1)) remove(file, "at <", now() - KEPT_MS);
      if (!hasRoom(token, "rows", 1)) return { kind: "full" };
      file.run("INSERT INTO requests (id, token, request, at) VALUES (?1, ?2, ?3, ?4)", [
        ...[keys.id, token, digest, now()],
      ]);
      count(token, 1, 0);
      running.add(keys.id.toString("hex"));
      return {
        kind: "new",
        end(answer) {
          running.delete(keys.id.toString("hex"));
          if (answer === "interrupted") return;
          if (answer === null) return remove(opened(), "id =", keys.id);
          const sealed = "body" in answer ? sealedWith(keys.seal, JSON.stringify(answer)) : null;
          const kept = sealed && hasRoom(token, "bytes", sealed.length) ? sealed : null;
          const { changes } = opened().run(
            "UPDATE requests SET status = ?2, answer = ?3, at = ?4 WHERE id = ?1",
            [...[keys.id, answer.status, kept, now()]],
          );
          if (changes > 0) count(token, 0, kept?.length ?? 0);
        },
      };
    },
    close() {
      db?.close();
      db = undefined;
    },
  };
}

function foundIn(
  { request, status, answer }: Row,
  digest: Uint8Array,
  seal: Buffer,
  isRunning: boolean,
): RequestState {
  if (Buffer.compare(request, digest) !== 0) return { kind: "other" };
  if (status === null) return { kind: isRunning ? "running" : "interrupted" };
  if (answer === null) return { kind: "large", status };
  return { kind: "answered", answer: JSON.parse(openedWith(seal, answer)) };
}

/** What names a request in the file, what its content is compared by, and what seals its answer: none of them reveals another. */
function keysOf(key: string, owner: string) {
  const bytes = Buffer.from(hkdfSync("sha256", key, owner, "svc Idempotency-Key", 96));
  return { id: bytes.subarray(0, 32), request: bytes.subarray(32, 64), seal: bytes.subarray(64) };
}

/** The lengths of what GCM needs, in bytes (NIST SP 800-38D). */
const NONCE = 12;
const TAG = 16;

function sealedWith(key: Buffer, text: string): Buffer {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

function openedWith(key: Buffer, sealed: Uint8Array): string {
  const cipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, NONCE));
  cipher.setAuthTag(sealed.subarray(NONCE, NONCE + TAG));
  return Buffer.concat([cipher.update(sealed.subarray(NONCE + TAG)), cipher.final()]).toString("utf8");
}
