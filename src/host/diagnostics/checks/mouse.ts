/** `mouse`: the pointer can be found. */
import { requesterOf } from "../../../core/caller";
import type { Requester } from "../../../lib/slots";
import { check, fine } from "../check";
import { type ScreenSettings, unlessNone } from "../no-screen";
import { desktopAdvice } from "./screenshot";

interface Uses extends ScreenSettings {
  desktop(): Promise<{ pointer(requester: Requester): Promise<{ readonly x: number; readonly y: number }> }>;
}

export const mouse = check({
  name: "mouse",
  summary: "The pointer can be found; it is not moved",
  advice: desktopAdvice,
  run: (service: Uses, caller) =>
    unlessNone(service, desktopAdvice, async () => {
      const { x, y } = await (await service.desktop()).pointer(requesterOf(caller));
      return fine(`at ${x}, ${y}`, { x, y });
    }),
});
