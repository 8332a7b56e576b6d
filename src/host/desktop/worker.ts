/**
 * The child process that touches the display, from its parent's side: started on first use, one call at a time, in the order of
 * `lib/slots.ts`.
 *
 * Promise: whatever the child does (crash, hang, never start) fails the call it happened to and no other; the next call
 * starts a new child. A call whose requester goes before it is sent is not sent. After a while without calls the child
 * ends, and it ends by itself when this process does.
 */
import * as v from "valibot";
import { type Child, NOTHING, type Protocol, startChild } from "../../lib/child";
import { resolvesWithin } from "../../lib/deadline";
import { cancelled } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { selfCommand } from "../../lib/self-command";
import { createSlots, Requester } from "../../lib/slots";
import { type DesktopCalls, type DesktopEvents, SYSTEMS, WINDOW_STATES, YESES } from "./backend";
import { createHeldPermission } from "./held-permission";
import { SEEING_ANSWERS } from "./images/answers";
import { isToken, type KeptPermission } from "./kept-permission";
import {
  LASTING_CALLS,
  VIEWER_ANSWERS,
  VIEWER_CALLS,
  VIEWER_EVENTS,
  type ViewerEvents,
} from "./screen/calls";
import { createViewerParent } from "./screen/parent";

/** How the child is started and kept. */
export interface WorkerOptions {
  readonly log: Log;
  /** The command line of the child (default: svc's own). */
  readonly command?: readonly string[];
  /** The child's environment (default: this process's). */
  readonly env?: NodeJS.ProcessEnv;
  /** Where the yes of a person is kept (default: nowhere). */
  readonly permission?: KeptPermission | undefined;
  /** The command line that runs `command` as the user of the desktop (default: that of this process). */
  as?(command: readonly string[]): readonly string[];
  /** How long a call may take once it is sent, the start of the child included, in milliseconds (default 10,000). */
  readonly deadlineMs?: number;
  /** How long the child is kept without calls, in milliseconds (default 60,000). */
  readonly idleMs?: number;
  /** Whether the child is killed in the middle of a call whose requester has gone: where it only looks, that does no harm. */
  readonly isCutOff?: boolean;
}

const POINT = v.object({ x: v.number(), y: v.number() });
const SIZE = { width: v.number(), height: v.number() };
const REGION = v.object({ x1: v.number(), y1: v.number(), x2: v.number(), y2: v.number() });
const PLACE = v.object({ x: v.number(), y: v.number(), ...SIZE });
const WINDOW = v.object({
  hwnd: v.number(),
  title: v.string(),
  x: v.nullable(v.number()),
  y: v.nullable(v.number()),
  width: v.nullable(v.number()),
  height: v.nullable(v.number()),
  desktop: v.nullable(v.number()),
  pid: v.nullable(v.number()),
  process: v.nullable(v.string()),
  state: v.picklist(WINDOW_STATES),
  focused: v.boolean(),
});
const BLOCK = { key: v.string(), left: v.number(), top: v.number() };
/** `Page` of `text/page.ts`. */
const PAGE = v.object({
  x: v.number(),
  y: v.number(),
  scale: v.number(),
  blocks: v.array(v.object(BLOCK)),
  sheets: v.array(
    v.object({
      base64: v.string(),
      blocks: v.array(v.object({ ...BLOCK, from: v.number(), until: v.number() })),
    }),
  ),
});
const PROTOCOL: Protocol<DesktopCalls, DesktopEvents> = {
  answers: {
    session: v.object({
      system: v.picklist(SYSTEMS),
      name: v.string(),
      way: v.string(),
      lacks: v.array(v.string()),
    }),
    permit: NOTHING,
    allow: v.picklist(YESES),
    screenSize: v.object(SIZE),
    monitors: v.array(REGION),
    pointer: POINT,
    keysDown: v.nullable(v.number()),
    move: POINT,
    click: POINT,
    scroll: POINT,
    strike: NOTHING,
    type: NOTHING,
    liftAll: NOTHING,
    focus: NOTHING,
    keepPressed: NOTHING,
    ...SEEING_ANSWERS,
    screenshot: v.object({ ...SIZE, shown: REGION, base64: v.nullable(v.string()) }),
    page: PAGE,
    windows: v.optional(v.array(WINDOW)),
    videoEncoder: v.nullable(v.string()),
    pointed: v.optional(v.object({ hwnd: v.number(), title: v.string(), pid: v.nullable(v.number()) })),
    place: PLACE,
    request: NOTHING,
    clipboard: v.string(),
    setClipboard: NOTHING,
    ...VIEWER_ANSWERS,
  },
  events: {
    clipboard: v.strictTuple([v.boolean()]),
    permission: v.strictTuple([v.nullable(v.pipe(v.string(), v.check(isToken))), v.boolean()]),
    restoring: v.strictTuple([v.boolean()]),
    unasked: v.strictTuple([v.boolean()]),
    ...VIEWER_EVENTS,
  },
};

const DEADLINE_MS = 10_000;
const IDLE_MS = 60_000;
/** How long the current call may go on when everything stops, in milliseconds. */
const LAST_CALL_MS = 1_000;
/** How many calls of tokens may wait: as many as come within some seconds, so that a host that was busy for one refuses none. */
const MAX_WAITING = 256;

const notAsked = () => cancelled("cancelled before the desktop was asked");

/** The child process, and the calls that wait for it. */
interface Worker {
  /** Releases what a viewer held when the child broke; nothing where that is released. @throws as `call`. */
  lift(): Promise<void>;
  /** The child's process id; null while there is none. */
  pid(): number | null;
  /** Whether a person has allowed the desktop: the yes is lost with the child, or restores one process at a time. No other process is to use it. */
  hasPermission(): boolean;
  /**
   * @param args the arguments of the method. A {@link Requester} among them stays here: it says in which order the call is
   *   made, and its signal cancels the call until it is sent. A call without one is made first, however many wait.
   * @throws what the child throws; `timeout` when it was killed for taking too long; `unavailable` when it ended during
   *   the call or could not be started, or when too many calls wait; `cancelled`.
   */
  call(method: string, args: readonly unknown[]): Promise<unknown>;
  /**
   * Gives the current call a moment, completes a recording, then asks the child to end and waits until it has. Callers must not call it
   * again.
   *
   * @param method one to call before that.
   */
  stop(method?: keyof DesktopCalls): Promise<void>;
}

/**
 * @param mayLeave whether a child without calls and viewers may end.
 * @param listeners get what the child reports of viewers.
 */
export function createWorker(
  options: WorkerOptions,
  mayLeave: () => boolean,
  listeners: ReadonlySet<ViewerEvents>,
): Worker {
  const { deadlineMs = DEADLINE_MS, idleMs = IDLE_MS, isCutOff = false } = options;
  let child: Child<DesktopCalls> | undefined;
  const slots = createSlots({
    most: 1,
    what: "calls of the desktop",
    mostWaiting: MAX_WAITING,
    left: notAsked,
  });
  /** The last call that was sent. */
  let last: Promise<unknown> = Promise.resolve();
  let idle: Timer | undefined;
  let stopping = false;
  /** Whether the child hands the text of the clipboard to other programs: it is gone when the child ends. */
  let hasClipboard = false;
  const yes = createHeldPermission(options.permission, options.log);
  /** The calls that the child has not answered. */
  let running = 0;
  /** Those of them that may take as long as they like: a recording. */
  const lasting = new Set<Promise<unknown>>();
  /** Resolves when every child that was asked to end has ended. */
  let left: Promise<unknown> = Promise.resolve();

  const start = () => {
    const clipboard = (owned: boolean) => {
      hasClipboard = owned;
    };
    const exit = () => {
      if (child !== started) return;
      child = undefined;
      hasClipboard = false;
      yes.lost();
      viewers.broke();
      viewers.lost("the desktop helper ended");
    };
    const videoFailed = sayVideoFailed(() => viewers.forbidVideos(), options.log);
    const events = { clipboard, ...yes.events(() => started), videoFailed, ...viewers.events };
    const started = startDesktopChild(options, { events, exit, isSpared: yes.isRestoring });
    child = started;
    yes.tell(started);
    return started;
  };
  const leave = () => {
    clearTimeout(idle);
    if (!child) return;
    left = Promise.all([left, child.leave(yes.leaveMs())]);
    child = undefined;
    viewers.lost("svc ends");
  };
  const isIdle = () => running === 0 && mayLeave() && !hasClipboard && !yes.isBound() && !viewers.some();
  const leaveLater = () => {
    clearTimeout(idle);
    idle = setTimeout(() => (isIdle() ? leave() : leaveLater()), idleMs);
    idle.unref();
  };
  const send = async (method: string, args: readonly unknown[]) => {
    if (stopping) throw notAsked();
    clearTimeout(idle);
    running++;
    try {
      const isLasting = LASTING_CALLS.has(method);
      const isUnlimited = isLasting || method === "allow";
      const answer = (child ?? start()).call(method, args, isUnlimited ? undefined : deadlineMs);
      if (isLasting) lasting.add(answer);
      return await answer.finally(() => lasting.delete(answer));
    } finally {
      running--;
      leaveLater();
    }
  };
  const viewers = createViewerParent(listeners, send);

  return {
    lift: viewers.lift,
    pid: () => child?.pid ?? null,
    hasPermission: yes.isThere,
    async call(method, args) {
      const requester = args.find((arg) => arg instanceof Requester);
      const sent = args.filter((arg) => arg !== requester);
      if (VIEWER_CALLS.has(method)) return viewers.call(method, sent, child !== undefined);
      // It waits for a person, and nobody waits for it.
      if (method === "allow") return send(method, sent);
      const work = () => {
        const sending = send(method, sent);
        const called = isCutOff ? cutOff(sending, requester?.signal, () => child?.kill()) : sending;
        last = called.catch(() => {});
        return called;
      };
      return slots.run(requester ?? new Requester(null), work, requester === undefined);
    },
    async stop(method) {
      stopping = true;
      await resolvesWithin(LAST_CALL_MS, last);
      if (lasting.size > 0) {
        // Its end is reported over the channel that closes when the child is asked to end.
        await child?.call("stopRecording", [], LAST_CALL_MS).catch(() => {});
        await resolvesWithin(LAST_CALL_MS, Promise.allSettled(lasting));
      }
      if (method) await child?.call(method, [], LAST_CALL_MS).catch(() => {});
      leave();
      await left;
    },
  };
}

/** @returns what is called when the child could not make a video. @param forbid has viewers ask for none any more. */
const sayVideoFailed = (forbid: () => void, log: Log) => (reason: string, pauseMs: number | null) => {
  if (pauseMs !== null) {
    const minutes = Math.round(pauseMs / 60_000);
    log.warn(`videos are sent to viewers of the screen as single pictures for ${minutes} min: ${reason}`);
    return;
  }
  forbid();
  log.warn(`videos are sent to viewers of the screen as single pictures from now on: ${reason}`);
};

/** What the parent has of a child. */
interface ChildParts {
  readonly events: DesktopEvents;
  readonly exit: () => void;
  readonly isSpared: () => boolean;
}

function startDesktopChild(
  { log, command = selfCommand(["desktop-child"]), env, as = (own) => own }: WorkerOptions,
  parts: ChildParts,
): Child<DesktopCalls> {
  return startChild<DesktopCalls, DesktopEvents>({
    command: as(command),
    ...(env && { env }),
    log,
    what: "the desktop helper",
    protocol: PROTOCOL,
    ...parts,
  });
}

/** What a call that was sent answers; `kill` ends it once the requester has gone. */
async function cutOff(call: Promise<unknown>, signal: AbortSignal | undefined, kill: () => void) {
  signal?.addEventListener("abort", kill, { once: true });
  try {
    return await call;
  } catch (error) {
    throw signal?.aborted ? cancelled("cancelled while the desktop was asked") : error;
  } finally {
    signal?.removeEventListener("abort", kill);
  }
}
