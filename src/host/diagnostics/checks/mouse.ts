/** `mouse`: the pointer can be found. */
import { requesterOf } from "../../../core/caller";
import type { Requester } from "../../../lib/slots";
import { check, fine } from "../check";
import { desktopAdvice } from "./screenshot";

interface Uses {
  desktop(): Promise<{ pointer(requester: Requester): Promise<{ readonly x: number; readonly y: number }> }>;
}

export const mouse = check({
  name: "mouse",
  summary: "The pointer can be found; it is not moved",
  advice: desktopAdvice,
  async run(service: Uses, caller) {
    const { x, y } = await (await service.desktop()).pointer(requesterOf(caller));
    return fine(`at ${x}, ${y}`, { x, y });
  },
});
