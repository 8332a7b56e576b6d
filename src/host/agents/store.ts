/**
 * What agents did in their sessions, and scripts made of it that wait for a person: `{config_dir}/agents.db`.
 *
 * Promise: bounded in sessions, acts, bytes and time, and nothing of a field that is secret is in it. The process in which an agent
 * acts writes it, and others read it meanwhile.
 */
import type { Database } from "bun:sqlite";
import * as v from "valibot";
import { DESKTOP_REQUEST } from "../../core/desktop-request";
import type { Origin } from "../../core/rights";
import { type OldestKept, oldestKept } from "../../lib/age";
import { busy, notFound } from "../../lib/errors";
import { isMissing } from "../../lib/files";
import { jsonIn } from "../../lib/json-in";
import { shortage } from "../../lib/quota";
import { openDatabase, whenFree } from "../../lib/sqlite";
import type { ListedSession } from "./operations";

/** How many sessions and drafts are kept, and for how long: of each token some, whatever another one does. */
const MAX_SESSIONS = 50;
const DRAFTS = { what: "drafts of scripts that wait for a person", most: 50, times: 1 };
const KEPT_DAYS = 7;
const KEPT_MS = KEPT_DAYS * 86_400_000;
/** How many acts of a session are kept, and bytes of all of them: a script has 1,000 actions. */
const MAX_ACTS = 500;
const MAX_BYTES = 1024 * 1024;
/** How long a session goes on without an act where the client has no name for it, in minutes. */
const IDLE_MINUTES = 30;
/** How long to wait for another process that writes, while the event loop goes on, in milliseconds. */
const BUSY_MS = 1_000;

const ACTION = v.tuple([v.string(), v.record(v.string(), v.unknown())]);

/** A text that was typed, in an action. */
const TYPED = v.object({
  /** Where it is in the input: `["text"]`, `["body", 0, 1, "write_string"]`. */
  path: v.array(v.union([v.string(), v.number()])),
  /** What the field is called; empty where that is not known. */
  label: v.string(),
  secret: v.boolean(),
});

const ACT = v.object({
  action: ACTION,
  typed: v.array(TYPED),
  /** What showed that it had its effect. */
  checks: v.array(ACTION),
});
export type Act = v.InferOutput<typeof ACT>;

/** A session of an agent. */
export type AgentSessionRow = Omit<ListedSession, "did">;

/** A script that waits for a person. */
const DRAFT = v.object({
  draft: v.string(),
  name: v.string(),
  /** The token that has made it; null for the owner of the host. */
  token: v.nullable(v.string()),
  /** What it was made of, in words. */
  source: v.string(),
  made: v.string(),
  parameters: v.array(v.string()),
  stop_on_error: v.union([v.boolean(), v.literal("focus")]),
  timeout_s: v.number(),
  pace: v.exactOptional(v.number()),
  desktop: v.exactOptional(DESKTOP_REQUEST),
  variables: v.record(v.string(), v.unknown()),
  actions: v.array(v.unknown()),
});
export type Draft = v.InferOutput<typeof DRAFT>;

interface SessionKey {
  readonly key: string;
  readonly agent: string;
  readonly token: string | null;
  /** When the token got its name, in milliseconds since the epoch: a session of before is another's. */
  readonly since?: number | undefined;
}

/** Whether somebody may see what was made so; undefined for who may see all. */
export type Sees = ((made: Origin) => boolean) | undefined;

/** What is kept of agents. */
export interface AgentStore {
  add(of: SessionKey, acts: readonly Act[]): Promise<void>;
  /** The newest first. */
  sessions(sees: Sees): Promise<AgentSessionRow[]>;
  /** @param id of a session, its first characters, or `last`. @throws `not_found`. */
  session(id: string, sees: Sees): Promise<AgentSessionRow & { readonly done: Act[] }>;
  /** Keeps a draft, in place of one of the same token and name. @throws `conflict` where others have too many. */
  propose(draft: Omit<Draft, "draft" | "made">): Promise<Draft>;
  /** The newest first. */
  drafts(sees: Sees): Promise<Draft[]>;
  /** @throws `not_found`. */
  draft(id: string, sees: Sees): Promise<Draft>;
  drop(id: string): Promise<void>;
  close(): void;
}

/**
 * @param path of the file; it is made with the first act or draft.
 * @param oldest says what is too old.
 */
export function createAgentStore(path: string, oldest: OldestKept = oldestKept): AgentStore {
  let opened: Database | undefined;
  /** What is of this time or before is too old. Times are ISO 8601 in UTC, as JavaScript writes them: SQLite compares them as texts. */
  const age = () => new Date(oldest(KEPT_MS)).toISOString();
  const db = () => {
    opened ??= openDatabase(path, { synchronous: "NORMAL", prepare });
    return opened;
  };
  const isEmpty = () => !opened && isMissing(path);
  // There are few of both.
  const rows = (sees: Sees) =>
    isEmpty()
      ? []
      : db()
          .query<AgentSessionRow, [string]>(
            `SELECT id AS session, agent, token, began, last, left_out,
              (SELECT count(*) FROM act WHERE session = id) AS acts FROM session
              WHERE last > ? ORDER BY last DESC, id LIMIT ${MAX_SESSIONS}`,
          )
          .all(age())
          .filter(({ token, began }) => !sees || sees({ maker: token, created: Date.parse(began) }));
  const drafts = (sees: Sees) =>
    isEmpty()
      ? []
      : db()
          .query<{ body: string }, [string]>("SELECT body FROM draft WHERE made > ? ORDER BY made DESC")
          .all(age())
          .map(({ body }) => v.parse(DRAFT, jsonIn(body)))
          .filter(({ token, made }) => !sees || sees({ maker: token, created: Date.parse(made) }));
  const atStore = <T>(work: () => T) => whenFree(work, BUSY_MS);
  const store = {
    add(of: SessionKey, acts: readonly Act[]): void {
      if (acts.length > 0)
        db()
          .transaction(() => addActs(db(), of, acts, age()))
          .immediate();
    },
    session(id: string, sees: Sees) {
      const all = rows(sees);
      const [found, ...others] =
        id === "last" ? all.slice(0, 1) : all.filter((one) => one.session.startsWith(id));
      if (!found || others.length > 0)
        throw notFound(
          others.length > 0
            ? "several sessions begin so"
            : "no session is named so: it has done nothing, or is too old",
        );
      const done = db()
        .query<{ body: string }, [string]>("SELECT body FROM act WHERE session = ? ORDER BY n")
        .all(found.session)
        .map(({ body }) => v.parse(ACT, jsonIn(body)));
      return { ...found, done };
    },
    propose(given: Omit<Draft, "draft" | "made">): Draft {
      const draft = { ...given, draft: newId(), made: new Date().toISOString() };
      db()
        .transaction(() => {
          db().run("DELETE FROM draft WHERE made <= ?", [age()]);
          db().run("DELETE FROM draft WHERE token IS ? AND name = ?", [draft.token, draft.name]);
          requireRoom(db(), draft.token);
          db().run("INSERT INTO draft (id, token, name, made, body) VALUES (?, ?, ?, ?, ?)", [
            ...[draft.draft, draft.token, draft.name, draft.made, JSON.stringify(draft)],
          ]);
        })
        .immediate();
      return draft;
    },
    draft(id: string, sees: Sees): Draft {
      const found = drafts(sees).find(({ draft }) => draft === id);
      if (found) return found;
      throw notFound("no draft has this id: it is stored, dropped, replaced or older than 7 days");
    },
    drop: (id: string): void => void db().run("DELETE FROM draft WHERE id = ?", [id]),
  };
  return {
    add: (of, acts) => atStore(() => store.add(of, acts)),
    sessions: (sees) => atStore(() => rows(sees)),
    session: (id, sees) => atStore(() => store.session(id, sees)),
    propose: (given) => atStore(() => store.propose(given)),
    drafts: (sees) => atStore(() => drafts(sees)),
    draft: (id, sees) => atStore(() => store.draft(id, sees)),
    drop: (id) => atStore(() => store.drop(id)),
    close: () => opened?.close(),
  };
}

/** That time before now, as far as the clock is right. */
const ago = (span: string) => `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-${span}')`;

/** Room for a draft of `token`: those that are too old by the clock, right or not, go where there is none. @throws `conflict` where others have too many. */
function requireRoom(db: Database, token: string | null): void {
  const full = () => {
    const makers = db.query<{ token: string | null }, []>("SELECT token FROM draft").all();
    return shortage(
      DRAFTS,
      makers.map((maker) => maker.token),
      token,
    );
  };
  if (full() === undefined) return;
  db.run(`DELETE FROM draft WHERE made <= ${ago(`${KEPT_DAYS} days`)}`);
  const reason = full();
  if (reason !== undefined) throw busy(reason, "conflict");
}

const newId = () => crypto.randomUUID().slice(0, 8);

function prepare(db: Database): void {
  db.run(
    `CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, key TEXT NOT NULL, agent TEXT NOT NULL, token TEXT,
      began TEXT NOT NULL, last TEXT NOT NULL, left_out INTEGER NOT NULL DEFAULT 0) STRICT`,
  );
  db.run(
    `CREATE TABLE IF NOT EXISTS act (n INTEGER PRIMARY KEY, session TEXT NOT NULL, body TEXT NOT NULL) STRICT`,
  );
  db.run("CREATE INDEX IF NOT EXISTS act_of ON act (session)");
  db.run(
    `CREATE TABLE IF NOT EXISTS draft (id TEXT PRIMARY KEY, token TEXT, name TEXT NOT NULL, made TEXT NOT NULL,
      body TEXT NOT NULL) STRICT`,
  );
}

/** @param age those of this time or before are too old. */
function addActs(
  db: Database,
  { key, agent, token, since = 0 }: SessionKey,
  acts: readonly Act[],
  age: string,
): void {
  const now = new Date().toISOString();
  const from = new Date(since).toISOString();
  // A client that names its session has it for as long as that is kept.
  const known = db
    .query<{ id: string }, { key: string; agent: string; token: string | null; from: string }>(
      `SELECT id FROM session WHERE key = $key AND agent = $agent AND token IS $token AND began >= $from
        AND ($key <> '' OR last > ${ago(`${IDLE_MINUTES} minutes`)}) ORDER BY last DESC`,
    )
    .get({ key, agent, token, from });
  const id = known?.id ?? newId();
  if (known) db.run("UPDATE session SET last = ? WHERE id = ?", [now, id]);
  else
    db.run("INSERT INTO session (id, key, agent, token, began, last) VALUES (?, ?, ?, ?, ?, ?)", [
      ...[id, key, agent, token, now, now],
    ]);
  const size = db
    .query<{ acts: number; bytes: number | null }, [string]>(
      "SELECT count(*) AS acts, sum(length(body)) AS bytes FROM act WHERE session = ?",
    )
    .get(id);
  let [count, bytes] = [size?.acts ?? 0, size?.bytes ?? 0];
  for (const act of acts) {
    const body = JSON.stringify(act);
    count++;
    bytes += body.length;
    if (count <= MAX_ACTS && bytes <= MAX_BYTES)
      db.run("INSERT INTO act (session, body) VALUES (?, ?)", [id, body]);
    else db.run("UPDATE session SET left_out = left_out + 1 WHERE id = ?", [id]);
  }
  // The newest of each token, then the next of each: one that begins many pushes out no others.
  db.run(
    `DELETE FROM session WHERE last <= ? OR id NOT IN (
      SELECT id FROM (SELECT id, last, row_number() OVER (PARTITION BY token ORDER BY last DESC) AS nth FROM session)
      ORDER BY nth, last DESC LIMIT ${MAX_SESSIONS})`,
    [age],
  );
  db.run("DELETE FROM act WHERE session NOT IN (SELECT id FROM session)");
}
