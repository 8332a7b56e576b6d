/**
 * A session with the portal, for pointer, keys and pictures. A person allows it once; from then on the token that the portal gave restores it.
 *
 * Promises: nobody is asked but by `allow`, as far as the portal's store says that it has the token. A session that was given the token is never
 * withdrawn before a minute has passed: the portal would lose the token with it, so a late answer is taken.
 */
import { deadline } from "../../../lib/deadline";
import { timedOut, unavailable } from "../../../lib/errors";
import type { OpenRemote, RemoteSession } from "../remote/session";
import type { Output } from "../wayland/outputs";
import type { Portal, PortalOnBus } from "./portal";
import { type OwnSession, start } from "./start";
import { inTurn, isInStore } from "./token";

/** How long things may take, in milliseconds. */
export interface PortalTimes {
  /** How long the portal may take for what needs nobody, and a call for a session that is being restored. */
  readonly answerMs: number;
  /** How long the portal may take for a session that was given the token, from then on. */
  readonly restoreMs: number;
  /** For how long it is not tried again where the token restored nothing. */
  readonly againMs: number;
}

const TIMES: PortalTimes = { answerMs: 3_000, restoreMs: 60_000, againMs: 60_000 };

const NOT_ALLOWED = "nobody has allowed svc this desktop: run `svc desktop allow` and say yes at its screen";
const NO_LONGER = `${NOT_ALLOWED} (what was allowed before does not hold any more)`;
const FORGOTTEN = `${NOT_ALLOWED} (what was allowed before did not hold any more, and is forgotten)`;

/** What is known of the yes of a person. */
export interface PortalPermission {
  /** What restores a session; null where there is none. */
  token(): string | null;
  /** @param token null where there is none any more. @param isHeld whether the yes is lost with this process. */
  changed(token: string | null, isHeld: boolean): void;
  /** Told when a session is given the token, and when the portal has answered: the token is lost with a process that ends in between. */
  restoring(isOn: boolean): void;
  /** Told when a person was asked though nobody had allow called. @param isSpent whether the token may be of no use to anybody any more. */
  unasked(isSpent: boolean): void;
}

/** A session with the portal. */
export interface PortalSession extends RemoteSession {
  /** Has the portal ask a person. @param ms for how long. @returns whether the yes is kept beyond this process. @throws `unavailable`, `timeout`. */
  allow(ms: number): Promise<boolean>;
  close(): Promise<void>;
}

/** What a session is made of. */
export interface PortalParts {
  readonly onBus: PortalOnBus;
  readonly permission: PortalPermission;
  /** What there is now to be shown: each is a picture of its own. */
  readonly monitors: () => readonly Output[];
  /** The program of the compositor. */
  readonly compositor: string;
  /** Default: as above. */
  readonly times?: PortalTimes;
}

export function createPortalSession(parts: PortalParts): PortalSession {
  const { onBus, permission, monitors, times = TIMES } = parts;
  const { bus } = onBus;
  const open = createOpen(parts);
  /** Whether the token has restored nothing, and until when nothing is tried, by performance.now(). */
  let hasFailed = false;
  let waits = 0;
  const keep = (made: OwnSession, outputs: readonly Output[]) => {
    hasFailed = false;
    return open.keep(made, outputs);
  };
  /** Sessions are opened one at a time; whatever comes of it. */
  let opening: Promise<void> | undefined;
  /** To be called only where none is being opened. @throws what `work` throws. */
  const begin = (work: () => Promise<void>): Promise<void> => {
    const begun = work().finally(() => {
      opening = undefined;
    });
    opening = begun.catch(() => {});
    return begun;
  };

  /** @returns undefined where the portal asks a person, who has not answered in `ms`. */
  const startBy = async (portal: Portal, token: string | null, outputs: readonly Output[], ms: number) => {
    const { gone } = open;
    if (token === null) return start(parts, { portal, token, outputs, ms, answerMs: times.answerMs, gone });
    permission.restoring(true);
    try {
      return await start(parts, { portal, token, outputs, ms, answerMs: ms, gone });
    } finally {
      permission.restoring(false);
    }
  };
  const goesOn = () => notAgain(times.answerMs);
  const refuse = (): never => {
    hasFailed = true;
    waits = performance.now() + times.againMs;
    throw unavailable(NO_LONGER);
  };
  const restore = (token: string, outputs: readonly Output[]) =>
    // Another process may restore as long as this one, and then close what it withdraws.
    inTurn(bus, 2 * times.restoreMs, async () => {
      const portal = await onBus.attach();
      if (!portal.remembers || (await isInStore(bus, token)) === false) return refuse();
      const made = await startBy(portal, token, outputs, times.restoreMs);
      if (made) return keep(made, outputs);
      permission.unasked((await isInStore(bus, token)) !== true);
      return refuse();
    });
  const use = async (): Promise<OpenRemote> => {
    // Nobody waits for a person.
    if (asking && !open.now() && permission.token() === null) throw unavailable(NOT_ALLOWED);
    const began = performance.now();
    // Whoever waited as well may have begun the next.
    while (opening) await deadline(opening, { ms: leftOf(times.answerMs, began), late: goesOn });
    const outputs = monitors();
    const token = permission.token();
    const before = open.now();
    // Without a token there would be no other session.
    if (before && (before.layout === layoutOf(outputs) || token === null)) return before.session;
    if (token === null) throw unavailable(hasFailed ? FORGOTTEN : NOT_ALLOWED);
    if (hasFailed && performance.now() < waits) throw unavailable(NO_LONGER);
    const restoring = begin(() => restore(token, outputs));
    await deadline(restoring, { ms: times.answerMs, late: goesOn });
    const after = open.now();
    if (after) return after.session;
    throw unavailable("the session with the portal has ended");
  };
  const ask = async (ms: number): Promise<void> => {
    const outputs = monitors();
    await inTurn(bus, ms, async () => {
      const portal = await onBus.attach();
      const known = portal.remembers ? permission.token() : null;
      // Where the token restores the session, nobody is asked. Without it, the dialog may be withdrawn at any time.
      const token = known !== null && (await isInStore(bus, known)) !== false ? known : null;
      const most = token === null ? ms : Math.max(ms, times.restoreMs);
      const made = await startBy(portal, token, outputs, most);
      if (!made) throw notWithin(ms);
      await keep(made, outputs);
      if (permission.token() === null && open.now()) permission.changed(null, true);
    });
  };
  const allow = async (ms: number): Promise<boolean> => {
    const late = () => notWithin(ms);
    const began = performance.now();
    // What is being restored may need nobody; where a person is asked for it, that is the dialog.
    while (opening) await deadline(opening, { ms: leftOf(ms, began), late });
    if (!open.now()) {
      const left = leftOf(ms, began);
      const asked = begin(() => ask(left));
      await deadline(asked, { ms: left, late });
    }
    return permission.token() !== null;
  };
  let asking: Promise<boolean> | undefined;
  return {
    who: "the portal",
    use,
    allow(ms) {
      asking ??= allow(ms).finally(() => {
        asking = undefined;
      });
      return asking;
    },
    endListeners: open.endListeners,
    close: open.close,
  };
}

/** The session that is open. */
interface PortalState extends Pick<PortalSession, "endListeners" | "close"> {
  /** With the monitors that it was made for; undefined where there is none. */
  now(): { readonly layout: string; readonly session: OwnSession } | undefined;
  /** Takes it in place of the one before. */
  keep(made: OwnSession, outputs: readonly Output[]): Promise<void>;
  /** The portal does not know the session at `path` any more. */
  gone(path: string): void;
}

function createOpen({ onBus, permission }: Pick<PortalParts, "onBus" | "permission">): PortalState {
  const endListeners: PortalSession["endListeners"] = new Set();
  let opened: ReturnType<PortalState["now"]>;
  let isClosed = false;
  const ended = () => {
    if (!opened) return;
    opened = undefined;
    if (permission.token() === null) permission.changed(null, false);
    for (const listener of endListeners) listener();
  };
  const leave = async () => {
    const before = opened?.session;
    ended();
    if (before) await onBus.closeSession(before.portal, before.path);
  };
  const gone = (path: string) => {
    if (path === opened?.session.path) ended();
  };
  onBus.closedListeners.add(gone);
  return {
    endListeners,
    now: () => opened,
    async keep(made, outputs) {
      await leave();
      // It came too late.
      if (isClosed) return onBus.closeSession(made.portal, made.path);
      opened = { layout: layoutOf(outputs), session: made };
    },
    gone,
    async close() {
      isClosed = true;
      await leave();
    },
  };
}

const layoutOf = (outputs: readonly Output[]) =>
  JSON.stringify(outputs.map(({ name, region, scale }) => [name, region, scale]));

/** @throws what says that a session is still being restored after `ms` milliseconds. */
const notAgain = (ms: number) =>
  timedOut(
    `the portal has not let svc in again within ${ms / 1_000} s: it goes on, so try again in a moment`,
  );

const notWithin = (ms: number) => timedOut(`nobody has allowed it within ${ms / 1_000} s`);

/** How many of `ms` milliseconds are left. @param began by performance.now(). */
const leftOf = (ms: number, began: number) => Math.max(1, began + ms - performance.now());
