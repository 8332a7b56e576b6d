/** `mouse`: the pointer can be found. */
import { check, fine } from "../check";
import { desktopAdvice } from "./screenshot";

interface Uses {
  desktop(): Promise<{ pointer(signal: AbortSignal): Promise<{ readonly x: number; readonly y: number }> }>;
}

export const mouse = check({
  name: "mouse",
  summary: "The pointer can be found; it is not moved",
  advice: desktopAdvice,
  async run(service: Uses, { signal }) {
    const { x, y } = await (await service.desktop()).pointer(signal);
    return fine(`at ${x}, ${y}`, { x, y });
  },
});
