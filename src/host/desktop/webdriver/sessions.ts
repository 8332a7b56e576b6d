/**
 * The sessions of WebDriver clients on this host.
 *
 * The promise: a session ends with its client's word, with its token, after some time without a command, and with svc; the program that it
 * started ends with it. Only the token that made it can use it.
 */
import type { Caller } from "../../../core/caller";
import { type Grant, shareOf } from "../../../core/rights";
import type { Log } from "../../../lib/log";
import { type Quota, shortage } from "../../../lib/quota";
import { ownerOf } from "../../../wire/webdriver/endpoint";
import { failing } from "../../../wire/webdriver/errors";
import type { Desktop } from "../desktop";
import type { ProgramSession } from "../programs";
import type { Capabilities } from "./capabilities";
import { createQueries, type Queries } from "./query";

/** Sessions at once, of all tokens together. */
const MOST: Quota = { what: "WebDriver sessions", most: 64, times: 1 };
/** How many elements a session knows; the oldest go first. */
const MAX_ELEMENTS = 20_000;

/** The times of a session, in milliseconds; null for none. */
interface Timeouts {
  script: number | null;
  pageLoad: number;
  implicit: number;
}

/** A desktop on which a session works. */
export interface SessionDesktop {
  readonly name: string;
  readonly desktop: Desktop;
  readonly session: ProgramSession;
  /** Aborted once it has ended, with the reason. */
  readonly lost: AbortSignal;
}

/** A session, as commands use it. */
export interface Session {
  readonly id: string;
  readonly capabilities: Capabilities;
  readonly timeouts: Timeouts;
  /** The window that commands are about (its `hwnd`); null for the whole desktop. */
  window: number | null;
  /** The keys and buttons that actions have pressed, in their order. */
  readonly pressed: Array<{ readonly key: string } | { readonly button: "left" | "middle" | "right" }>;
  /** Its own; undefined for that of the host. */
  desktop?: SessionDesktop | undefined;
  /** Those of all sessions. */
  readonly queries: Queries;
  /** The reference of an element. @param nativeId its name on the accessibility bus. */
  referenceOf(nativeId: string): string;
  /** @returns its name on the accessibility bus. @throws `no such element` for a reference that this session never gave. */
  elementOf(reference: string): string;
  /** Has `work` done when the session ends. It must not throw. */
  atEnd(work: () => Promise<void>): void;
}

interface OpenSession extends Session {
  readonly owner: string;
  readonly user: string | null;
  idle: Timer;
  end(): Promise<void>;
}

interface Sessions {
  /** @throws `session not created` where there are too many. */
  create(capabilities: Capabilities, caller: Caller): Session;
  /** The session of that id, which lasts from now on as long again. @throws `invalid session id`. */
  use(id: string, grant: Grant): Session;
  end(id: string, grant: Grant): Promise<void>;
  stop(): Promise<void>;
}

export function createSessions(log: Log): Sessions {
  const sessions = new Map<string, OpenSession>();
  const queries = createQueries(log);
  const endIn = (id: string, capabilities: Capabilities) => {
    const timer = setTimeout(() => sessions.get(id)?.end(), capabilities["svc:idleTimeout"] * 1_000);
    timer.unref();
    return timer;
  };
  const find = (id: string, grant: Grant): OpenSession => {
    const session = sessions.get(id);
    if (session?.owner === ownerOf(grant)) return session;
    throw failing("invalid session id", "there is no such session: it has ended, or is of another token");
  };
  return {
    create(capabilities, caller) {
      const user = shareOf(caller.grant);
      const users = [...sessions.values()].map((one) => one.user);
      const why = shortage(MOST, users, user);
      if (why !== undefined) throw failing("session not created", why);
      const id = crypto.randomUUID();
      const { timeouts: given = {} } = capabilities;
      const works: Array<() => Promise<void>> = [];
      const token = caller.request?.untilTokenEnds?.();
      const session: OpenSession = {
        id,
        capabilities,
        queries,
        user,
        owner: ownerOf(caller.grant),
        window: null,
        pressed: [],
        timeouts: { script: 30_000, pageLoad: 300_000, implicit: 0, ...(given as Partial<Timeouts>) },
        ...createReferences(),
        idle: endIn(id, capabilities),
        atEnd: (work) => void works.push(work),
        async end() {
          if (!sessions.delete(id)) return;
          clearTimeout(session.idle);
          token?.ended();
          await Promise.all(works.map((work) => work()));
          if (sessions.size === 0) await queries.stop();
        },
      };
      token?.signal.addEventListener("abort", () => void session.end(), { once: true });
      sessions.set(id, session);
      return session;
    },
    use(id, grant) {
      const session = find(id, grant);
      clearTimeout(session.idle);
      session.idle = endIn(id, session.capabilities);
      return session;
    },
    end: (id, grant) => find(id, grant).end(),
    async stop() {
      await Promise.all([...sessions.values()].map((session) => session.end()));
    },
  };
}

function createReferences(): Pick<Session, "referenceOf" | "elementOf"> {
  const byReference = new Map<string, string>();
  const byId = new Map<string, string>();
  let next = 1;
  return {
    referenceOf(nativeId) {
      const known = byId.get(nativeId);
      if (known !== undefined) return known;
      const reference = `e${next++}`;
      byId.set(nativeId, reference);
      byReference.set(reference, nativeId);
      const [oldest] = byReference.size > MAX_ELEMENTS ? byReference : [];
      if (oldest) {
        byReference.delete(oldest[0]);
        byId.delete(oldest[1]);
      }
      return reference;
    },
    elementOf(reference) {
      const nativeId = byReference.get(reference);
      if (nativeId !== undefined) return nativeId;
      throw failing("no such element", "this session has not found an element of that id");
    },
  };
}
