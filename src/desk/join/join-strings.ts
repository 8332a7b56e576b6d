/**
 * The join strings of a desk: `{config_dir}/join.db`, a SQLite database.
 *
 * The promises: the database holds digests and no secret. A use is consumed in one statement, so that a string never lets in
 * more hosts than it allows, however many come at once and whichever process asks.
 */
import type { Database } from "bun:sqlite";
import * as v from "valibot";
import { type Publish, unheard } from "../../core/events";
import { oldestKept } from "../../lib/age";
import { createBuckets } from "../../lib/buckets";
import { sha256 as digestOf } from "../../lib/checksum";
import { busy, conflict, forbidden, notFound, tooMany } from "../../lib/errors";
import { openDatabase } from "../../lib/sqlite";
import { isThere } from "../../lib/trust-files";
import { newId, newSecret } from "../../wire/join/join-string";
import { joinAdded, joinRemoved, joinUsed } from "./events";

const ROW = v.object({
  id: v.string(),
  sha256: v.string(),
  /** What the string says of the desk. */
  address: v.string(),
  pin: v.string(),
  tags: v.pipe(v.string(), v.parseJson(), v.array(v.string())),
  label_prefix: v.string(),
  uses: v.number(),
  used: v.number(),
  /** Milliseconds since the epoch. */
  created: v.number(),
  expires: v.number(),
  /** The region of the NATS server that hosts connect to which join with it; null for the first. */
  region: v.nullable(v.string()),
});

/** A join string without its secret. */
export type JoinRow = v.InferOutput<typeof ROW>;

interface NewJoinString
  extends Readonly<Pick<JoinRow, "address" | "pin" | "tags" | "label_prefix" | "uses">> {
  /** As in a row (default: null). */
  readonly region?: string | null;
  /** How long it works, in seconds. */
  readonly expires_s: number;
}

const TABLES = `
CREATE TABLE IF NOT EXISTS strings(id TEXT PRIMARY KEY, sha256 TEXT NOT NULL, address TEXT NOT NULL, pin TEXT NOT NULL,
  tags TEXT NOT NULL, label_prefix TEXT NOT NULL, uses INTEGER NOT NULL, used INTEGER NOT NULL, created INTEGER NOT NULL,
  expires INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS uses(string TEXT NOT NULL REFERENCES strings(id) ON DELETE CASCADE, host TEXT NOT NULL,
  wishes TEXT NOT NULL, time INTEGER NOT NULL, PRIMARY KEY(string, host));
CREATE TABLE IF NOT EXISTS regions(string TEXT PRIMARY KEY REFERENCES strings(id) ON DELETE CASCADE, region TEXT NOT NULL);
DROP TABLE IF EXISTS hosts;`;

/** Beside the strings: builds of svc that know no regions fill in every column of those. */
const ROWS = "SELECT strings.*, region FROM strings LEFT JOIN regions ON string = id";

/** The last use of a string by a host. */
const USE = v.object({
  /** A digest of what it asked for. */
  wishes: v.string(),
  /** When it signed that, milliseconds since 1970. */
  time: v.number(),
});

type Use = v.InferOutput<typeof USE>;

/** How often a host may ask: it needs to once, and a few times where its network is bad. */
const ASKING = { ratePerMinute: 6, burst: 12 };

/** How long another process may hold the database, in milliseconds. */
const BUSY_MS = 5_000;

/** The most strings that are kept, and for how long after their end, in milliseconds. */
const MAX_STRINGS = 1_000;
const KEPT_MS = 7 * 86_400_000;

/** The join strings of a desk. */
export interface JoinStrings {
  /**
   * Makes a string. Its secret is not kept, so it cannot be shown again.
   *
   * @throws `conflict` when there are {@link MAX_STRINGS}.
   */
  add(newJoinString: NewJoinString): { id: string; secret: string; expires: number };
  /** The newest first. */
  list(): JoinRow[];
  /** @returns whether there was such a string. */
  remove(id: string): boolean;
  /**
   * The string of that id, whatever is left of it.
   *
   * @throws `not_found` where there is none, `forbidden` where its secret is another.
   */
  find(id: string, secret: string): JoinRow;
  /**
   * @param again whether the host has used it before, and asks again since it did not get the answer.
   * @throws a `conflict` failure that says why the string lets nobody in any more.
   */
  refuseSpent(joinRow: JoinRow, again?: boolean): void;
  /** @throws `too_many` when this host asks too often. */
  refuseOften(host: string): void;
  /** What this host used the string for; undefined where it has not. */
  lastUse(id: string, host: string): Use | undefined;
  /**
   * Consumes one use, unless the host asks for the same `again`, and keeps what it was for.
   *
   * @returns what takes it back, when the host could not be kept.
   * @throws as {@link refuseSpent}; `not_found` when it was removed meanwhile.
   */
  use(id: string, host: string, use: Use, again: boolean): () => void;
  close(): void;
}

/** The strings in `file`, which is made with the first one. */
export function createJoinStrings(file: string, publish: Publish = unheard): JoinStrings {
  let opened: Database | undefined;
  const open = () => {
    opened ??= openDatabase(file, {
      synchronous: "FULL",
      busyMs: BUSY_MS,
      prepare,
    });
    return opened;
  };
  /** Undefined where there never was a string: looking makes no file. */
  const existing = () => (opened || isThere(file) ? open() : undefined);
  const find = (id: string): JoinRow | undefined => {
    const row = existing()?.query(`${ROWS} WHERE id = ?`).get(id);
    return row ? v.parse(ROW, row) : undefined;
  };
  const lastUse = (id: string, host: string): Use | undefined => {
    const row = existing()
      ?.query("SELECT wishes, time FROM uses WHERE string = ? AND host = ?")
      .get(id, host);
    return row ? v.parse(USE, row) : undefined;
  };
  const spend = createBuckets(ASKING);

  const strings = {
    add({ address, pin, tags, label_prefix, uses, expires_s, region = null }: NewJoinString) {
      const db = open();
      const now = Date.now();
      const removeOld = (expired: number) => db.query("DELETE FROM strings WHERE expires < ?").run(expired);
      removeOld(oldestKept(KEPT_MS));
      // Where there is no room, what is too old by the clock goes, right or not.
      if (strings.list().length >= MAX_STRINGS) removeOld(now - KEPT_MS);
      if (strings.list().length >= MAX_STRINGS) {
        throw busy(`there are already ${MAX_STRINGS} join strings: remove some`, "conflict");
      }
      const [id, secret, expires] = [newId(), newSecret(), now + expires_s * 1_000];
      const row = { id, sha256: digestOf(secret), address, pin, label_prefix, uses, created: now, expires };
      db.transaction(() => {
        db.query(
          "INSERT INTO strings VALUES ($id, $sha256, $address, $pin, $tags, $label_prefix, $uses, 0, $created, $expires)",
        ).run({ ...row, tags: JSON.stringify(tags) });
        if (region !== null) db.query("INSERT INTO regions VALUES (?, ?)").run(id, region);
      })();
      publish(joinAdded, { id });
      return { id, secret, expires };
    },
    list(): JoinRow[] {
      const rows = existing()?.query(`${ROWS} ORDER BY created DESC, id`).all() ?? [];
      return rows.map((row) => v.parse(ROW, row));
    },
    remove(id: string): boolean {
      const isRemoved = (existing()?.query("DELETE FROM strings WHERE id = ?").run(id).changes ?? 0) > 0;
      if (isRemoved) publish(joinRemoved, { id });
      return isRemoved;
    },
    find(id: string, secret: string): JoinRow {
      const row = find(id);
      if (!row) {
        throw notFound("this desk has no such join string: it was removed, or another desk made it");
      }
      if (!isSecretOf(row, secret)) throw forbidden("the secret of this join string is wrong");
      return row;
    },
    refuseSpent,
    refuseOften(host: string): void {
      const wait = spend(host, performance.now());
      if (wait > 0) throw tooMany(`this host asks too often: try again in ${Math.ceil(wait / 1_000)} s`);
    },
    lastUse,
    use(id: string, host: string, use: Use, again: boolean): () => void {
      const db = open();
      const former = lastUse(id, host);
      const keep = (kept: Use) =>
        db.query("INSERT OR REPLACE INTO uses VALUES (?, ?, ?, ?)").run(id, host, kept.wishes, kept.time);
      const consume = db.transaction(() => {
        const isConsumed = consumeUse(db, id, again ? 0 : 1);
        if (isConsumed) keep(use);
        return isConsumed;
      });
      if (!consume.immediate()) {
        throw whyUnused(find(id), again);
      }
      publish(joinUsed, { id });
      const takeBack = db.transaction(() => {
        if (former) keep(former);
        else db.query("DELETE FROM uses WHERE string = ? AND host = ?").run(id, host);
        if (!again) db.query("UPDATE strings SET used = used - 1 WHERE id = ? AND used > 0").run(id);
      });
      return () => {
        takeBack.immediate();
        publish(joinUsed, { id });
      };
    },
    close: () => opened?.close(),
  };
  return strings;
}

/**
 * @param again whether the host has used it before, and asks again since it did not get the answer.
 * @throws a `conflict` failure that says why the string lets nobody in any more.
 */
function refuseSpent({ uses, used, expires }: JoinRow, again = false): void {
  if (expires <= Date.now()) {
    throw conflict(`this join string expired at ${new Date(expires).toISOString()}`);
  }
  if (used >= uses && !again) {
    throw conflict(`this join string is used up: it was for ${uses === 1 ? "one host" : `${uses} hosts`}`);
  }
}

/** Why a use of the string was not consumed. @throws as {@link refuseSpent}. */
function whyUnused(row: JoinRow | undefined, again: boolean) {
  if (!row) return notFound("this join string was removed");
  refuseSpent(row, again);
  return conflict("this join string is used up");
}

function prepare(db: Database): void {
  db.run("PRAGMA foreign_keys = ON");
  db.run(TABLES);
}

const isSecretOf = ({ sha256 }: JoinRow, secret: string): boolean =>
  crypto.timingSafeEqual(Buffer.from(sha256, "hex"), Buffer.from(digestOf(secret), "hex"));

/** In one statement, so that of two processes only one gets the last use. @returns whether there was one. */
const consumeUse = (db: Database, id: string, cost: number): boolean =>
  db
    .query(
      "UPDATE strings SET used = used + $cost WHERE id = $id AND used + $cost <= uses AND expires > $now",
    )
    .run({ id, cost, now: Date.now() }).changes === 1;
