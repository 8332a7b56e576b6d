/**
 * What the parent of a desktop child knows of the yes of a person: where it is kept, whether it goes with the child, and whether the portal is
 * letting the child in just now.
 */
import type { Child } from "../../lib/child";
import type { Log } from "../../lib/log";
import type { DesktopCalls, DesktopEvents } from "./backend";
import type { KeptPermission } from "./kept-permission";

/** For how long a child that the portal is letting in is spared, in milliseconds: somewhat longer than it waits for the portal. */
const SPARED_MS = 90_000;
/** How long such a child may take to end, in milliseconds: longer than it waits for the portal then. */
const LEAVE_MS = 5_000;
/** How often a person may be asked in a row though nobody had `svc desktop allow` run, before the token is forgotten. */
const MOST_UNASKED = 2;

const ASKED_IN_VAIN = `a person was asked to let svc use the desktop ${MOST_UNASKED} times in a row, though nobody had run \`svc desktop allow\`: what was allowed before does not hold any more, and is forgotten. Run \`svc desktop allow\` at its screen`;

/** What is known of the yes of a person. */
export interface HeldPermission {
  /** What a child reports of it. */
  events(child: () => Child<DesktopCalls>): Pick<DesktopEvents, "permission" | "restoring" | "unasked">;
  /** The child has ended. */
  lost(): void;
  /** Whether what lets svc in is lost with a child that is killed now. */
  isRestoring(): boolean;
  /** Whether a child without calls is to stay. */
  isBound(): boolean;
  /** How long a child may take to end, in milliseconds; undefined for as long as any. */
  leaveMs(): number | undefined;
  /** Whether a person has allowed the desktop. */
  isThere(): boolean;
  /** Tells a new child what is kept: whatever is asked next fails with what happened to it. */
  tell(child: Child<DesktopCalls>): void;
}

/** @param kept where it is kept; nowhere when left out. */
export function createHeldPermission(kept: KeptPermission | undefined, log: Log): HeldPermission {
  /** Whether it is lost with the child. */
  let isHeld = false;
  /** Until when the portal may take to let the child in, by performance.now(). */
  let restoringUntil = 0;
  /** How often in a row a person was asked though nobody wanted it, and the token that is of no use here since. */
  let unasked = 0;
  let useless: string | null = null;
  const known = () => {
    const token = kept?.read() ?? null;
    return token === useless ? null : token;
  };
  const isRestoring = () => performance.now() < restoringUntil;
  const tell = (child: Child<DesktopCalls>, token: string | null) =>
    void child.call("permit", [token]).catch(() => {});
  return {
    events: (child) => ({
      permission(token, held) {
        isHeld = held;
        unasked = 0;
        useless = null;
        kept?.keep(token);
      },
      restoring(isOn) {
        restoringUntil = isOn ? performance.now() + SPARED_MS : 0;
      },
      unasked(isSpent) {
        unasked++;
        if (unasked < MOST_UNASKED) return;
        unasked = 0;
        useless = known();
        // Else it is good for svc that was started in another way: the portal tells programs apart.
        if (isSpent) kept?.keep(null);
        log.warn(ASKED_IN_VAIN);
        tell(child(), null);
      },
    }),
    lost() {
      isHeld = false;
      restoringUntil = 0;
    },
    isRestoring,
    isBound: () => isHeld || isRestoring(),
    leaveMs: () => (isRestoring() ? LEAVE_MS : undefined),
    isThere: () => isHeld || known() !== null,
    tell(child) {
      const token = known();
      if (token !== null) tell(child, token);
    },
  };
}
