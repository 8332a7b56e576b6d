/**
 * Tells whoever sits at the screen that it is kept, and when that ends: by a notification (Desktop Notifications Specification 1.2), which the
 * desktop shows for a while and most keep in a list.
 *
 * Promise: never more than one at a time, and none over the screen for ever: a window that stays would be in the way of scripts.
 */

import { messageOf } from "../../../../lib/errors";
import { createQueue } from "../../../../lib/queue";
import { printable } from "../../../../lib/sanitize";
import { durationText } from "../../../../lib/units";
import type { Bus } from "../../elements/bus";
import { openSession } from "../../elements/open-bus";
import type { Ref } from "../../elements/ref";

const NOTIFICATIONS: Ref = { bus: "org.freedesktop.Notifications", path: "/org/freedesktop/Notifications" };

/** How often a program that shows them is asked for: the session bus may have to start it. */
const TRIES = 3;

interface NoticeParts {
  readonly spanMs: number;
  /** Opens the session bus (default: that of this session). @throws why there is none. */
  readonly open?: () => Promise<Bus>;
}

/** Tells of recordings, of one at a time. */
export interface Notice {
  /** Why nobody was told; null where the desktop has shown it, or is about to. */
  readonly problem: string | null;
  /** Tells that one begins; not where it has ended meanwhile. Never throws. */
  begin(): Promise<void>;
  /** Tells that it has ended, in place of what told that it began. Never throws. */
  end(): Promise<void>;
}

export function createNotice({ spanMs, open = openSession }: NoticeParts): Notice {
  let problem: string | null = null;
  /** What the desktop calls the notification, and whether that says that the screen is recorded. */
  let id: unknown;
  let saysOn = false;
  let isOn = false;
  /** One after the other: each replaces the one before, whose id it needs. */
  const inTurn = createQueue();

  /** @param on of what is told; nothing is where that is over when the desktop is there to show it. */
  const tell = async (on: boolean, title: string, text: string) => {
    const bus = await open();
    try {
      // Asked first: a second try of this one shows nothing twice.
      for (let left = TRIES - 1; ; left--) {
        try {
          await bus.call(NOTIFICATIONS, NOTIFICATIONS.bus, "GetServerInformation");
          break;
        } catch (error) {
          if (left === 0 || !bus.isDeaf(NOTIFICATIONS.bus)) throw error;
          await Bun.sleep(AGAIN_MS);
        }
      }
      if (isOn !== on) return;
      const replaced = typeof id === "number" ? id : 0;
      const body = ["svc", replaced, "media-record", title, text, [], {}, AS_USUAL];
      [id] = await bus.call(NOTIFICATIONS, NOTIFICATIONS.bus, "Notify", "susssasa{sv}i", body);
      saysOn = on;
    } finally {
      bus.close();
    }
  };
  const begun = async () => {
    try {
      await tell(
        true,
        "This screen is recorded",
        `svc keeps what it shows for ${durationText(spanMs / 1_000)}, encrypted, on this computer (svc serve --black-box).`,
      );
      problem = null;
    } catch (error) {
      problem = `no notification could be shown: ${printable(messageOf(error), 300)}`;
    }
  };
  return {
    get problem() {
      return problem;
    },
    begin() {
      isOn = true;
      return inTurn(begun);
    },
    end() {
      isOn = false;
      // Who was not told that it began need not be told that it ended.
      return inTurn(async () => {
        if (saysOn)
          await tell(
            false,
            "This screen is no longer recorded",
            "The black box of svc is paused or off.",
          ).catch(() => {});
      });
    },
  };
}

/** When a program that was late may be asked again, in milliseconds: `bus.ts` leaves it alone until then. */
const AGAIN_MS = 3_100;
/** As long as the desktop shows any notification. */
const AS_USUAL = -1;
