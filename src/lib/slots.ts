/**
 * Slots for work that several callers share, and the queue of those who wait for one: the one rule for all such queues.
 *
 * Promises. No more are at work than there are slots. Of those who wait, the owner of the host is next; then the user that has
 * the fewest slots, and of several the one that was served the longest time ago: so a token that asks for much delays another
 * by one call. A user leaves slots and places in the queue to others (`quota.ts`). Who has gone leaves the queue at once.
 */
import { busy, cancelled } from "./errors";
import { isWithinShare, type Quota, shortageOf } from "./quota";

/** Who asks, and until when. */
export class Requester {
  constructor(
    /** In whose share it counts (`shareOf` of a grant): that of a token by its name; null for the owner of the host. */
    readonly user: string | null,
    /** Aborted when it has gone. What the owner asks for with one signal, or without one as one requester, counts together. */
    readonly signal?: AbortSignal,
  ) {}
}

interface SlotsOptions {
  /** How many slots there are. */
  readonly most: number;
  /** What waits, in words, for who is refused: `calls of the desktop`. */
  readonly what: string;
  /** How many of all tokens together may wait, of which each leaves some to others; as many of the owner may. Default: any number. */
  readonly mostWaiting?: number;
  /** A user may have this many times as many slots as are free (`quota.ts`); default: all that are free. */
  readonly times?: number;
  /** How many slots there are besides, for the owner alone, who waits for no token's work then (default 0). */
  readonly ownersOwn?: number;
  /** The error of who leaves the queue. */
  readonly left?: () => Error;
}

/** Gives a slot back; a second call does nothing. */
export type GiveBack = () => void;

/** The order of those who wait, the first one first. */
const ORDER = ["urgent", "owner", "token"] as const;

interface User {
  readonly rank: number;
  readonly name: string | null;
  used: number;
  /** When it got its last slot, counted in slots; -1 for none yet. */
  served: number;
  readonly waiting: Set<() => void>;
}

/** Those who have slots, or wait for one. */
interface Users {
  /** How many wait. */
  readonly waiting: { owner: number; token: number };
  of(requester: Requester, isUrgent: boolean): [key: UserKey, user: User];
  /** Who waits and is next, of those that `mayTake` one. */
  next(mayTake: (user: User) => boolean): User | undefined;
  /** Forgets who has nothing and waits for nothing. */
  forgetIdle(key: UserKey, user: User): void;
  forgetAllIdle(): void;
}

/** A token is known by its name. */
type UserKey = string | object;

function createUsers(): Users {
  const users = new Map<UserKey, User>();
  const waiting = { owner: 0, token: 0 };
  const isBefore = (one: User, other: User) =>
    (one.rank - other.rank || one.used - other.used || one.served - other.served) < 0;
  /** A token is remembered as long as another waits: one that comes again and again would be the one that was never served. */
  const forgetIdle = (key: UserKey, user: User) => {
    const isIdle = user.used === 0 && user.waiting.size === 0;
    if (isIdle && (typeof key === "object" || waiting.token === 0)) users.delete(key);
  };
  return {
    waiting,
    of(requester, isUrgent) {
      const { user, signal } = requester;
      const key = isUrgent ? {} : (user ?? signal ?? requester);
      const rank = ORDER.indexOf(isUrgent ? "urgent" : user === null ? "owner" : "token");
      const found = users.get(key) ?? { rank, name: user, used: 0, served: -1, waiting: new Set() };
      users.set(key, found);
      return [key, found];
    },
    next(mayTake) {
      let first: User | undefined;
      for (const user of users.values()) {
        if (user.waiting.size > 0 && mayTake(user) && (!first || isBefore(user, first))) first = user;
      }
      return first;
    },
    forgetIdle,
    forgetAllIdle() {
      for (const [key, user] of users) forgetIdle(key, user);
    },
  };
}

/** Slots that several callers share. */
export interface Slots {
  /** Whether one is free now, for whoever leaves enough to others. */
  isFree(): boolean;
  /**
   * Waits for a slot.
   *
   * @param isUrgent whether it goes before all others, and however many wait: a person, or a key that has to be released.
   * @throws what `left` returns once the signal of the requester is aborted; `unavailable` where too many wait already.
   */
  take(requester: Requester, isUrgent?: boolean): Promise<GiveBack>;
  /** What `work` resolves to, which has a slot while it goes on. @throws as `take`; what it rejects with. */
  run<T>(requester: Requester, work: () => Promise<T>, isUrgent?: boolean): Promise<T>;
}

/** Slots of which none is taken. */
export function createSlots(options: SlotsOptions): Slots {
  const {
    most,
    what,
    mostWaiting = Number.POSITIVE_INFINITY,
    times = Number.POSITIVE_INFINITY,
    ownersOwn = 0,
  } = options;
  const { left = () => cancelled(`cancelled before its turn among the ${what}`) } = options;
  const quota: Quota = { what: `${what} that wait`, most: mostWaiting, times: 1 };
  const users = createUsers();
  const { waiting, forgetIdle } = users;
  let free = most;
  let ownersFree = ownersOwn;
  let turn = 0;
  let isServing = false;

  const hasShared = ({ used }: User) => isWithinShare(used, 1, free, times);
  const mayTake = (user: User) => hasShared(user) || (user.name === null && ownersFree > 0);
  /** Takes one. @returns a function that gives it back. */
  const grant = (key: UserKey, user: User): GiveBack => {
    const isShared = hasShared(user);
    if (isShared) free--;
    else ownersFree--;
    user.used++;
    user.served = turn++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      if (isShared) free++;
      else ownersFree++;
      user.used--;
      forgetIdle(key, user);
      if (isServing || waiting.owner + waiting.token === 0) return;
      setImmediate(serve);
      isServing = true;
    };
  };
  /** Hands out what is free, once a turn of the event loop: of those who leave together, none gets a slot from the other. */
  const serve = () => {
    isServing = false;
    for (let user = users.next(mayTake); user; user = users.next(mayTake)) {
      const [granted] = user.waiting;
      granted?.();
    }
    if (waiting.token === 0) users.forgetAllIdle();
  };
  /** Resolves with a slot, in turn. */
  const wait = (key: UserKey, user: User, signal: AbortSignal | undefined): Promise<GiveBack> => {
    const { promise, resolve, reject } = Promise.withResolvers<GiveBack>();
    const kind = user.name === null ? "owner" : "token";
    const leave = () => {
      user.waiting.delete(granted);
      waiting[kind]--;
    };
    const granted = () => {
      leave();
      signal?.removeEventListener("abort", gone);
      resolve(grant(key, user));
    };
    const gone = () => {
      leave();
      forgetIdle(key, user);
      reject(left());
    };
    user.waiting.add(granted);
    waiting[kind]++;
    signal?.addEventListener("abort", gone, { once: true });
    return promise;
  };

  /** @throws as `take` of {@link Slots}. */
  const take = async (requester: Requester, isUrgent = false): Promise<GiveBack> => {
    const { user: name, signal } = requester;
    if (signal?.aborted) throw left();
    const [key, user] = users.of(requester, isUrgent);
    // What is about to be handed out is for those who wait.
    if (!isServing && mayTake(user)) return grant(key, user);
    const [all, own] = name === null ? [waiting.owner, 0] : [waiting.token, user.waiting.size];
    const refusal = isUrgent ? undefined : shortageOf(quota, all, own, name);
    if (refusal === undefined) return wait(key, user, signal);
    forgetIdle(key, user);
    throw busy(refusal);
  };
  return {
    isFree: () => free > 0 && !isServing,
    take,
    async run(requester, work, isUrgent) {
      const giveBack = await take(requester, isUrgent);
      try {
        return await work();
      } finally {
        giveBack();
      }
    },
  };
}
