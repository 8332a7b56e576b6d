/** The programs on the desk of Windows, by UI Automation. */
import { search } from "../search";
import type { Session } from "../session";
import { accessiblesOf } from "./accessible";
import { deedsOf } from "./actions";
import { openAutomation } from "./automation";
import { openDesk } from "./desk";
import { createStore } from "./store";

/** @throws an `unavailable` failure where the system has no UI Automation. */
export function openUia(): Session {
  // First: it says how this process counts places, which the system takes only before it is asked for any.
  const desk = openDesk();
  const automation = openAutomation();
  const parts = { automation, store: createStore(automation), desk };
  const { ask, roots } = accessiblesOf(parts);
  const look = search(roots, ask);
  return {
    ask,
    look,
    deeds: deedsOf({ ...parts, ask, look }),
    async framesAt(x, y) {
      const frame = parts.desk.frameAt(x, y);
      return { frames: frame ? [frame] : [] };
    },
    isOpen: true,
    close() {
      parts.store.close();
      automation.close();
    },
  };
}
