/** Pictures for WebDriver clients. */
import { requesterOf } from "../../../core/caller";
import { named } from "../../../wire/webdriver/errors";
import type { Region } from "../geometry";
import type { Call } from "./command";

/** A PNG of the desktop, or of what of a region is on it, in base64. @throws `unable to capture screen`. */
export async function pngOf({ look: { desktop, caller } }: Call, region?: Region): Promise<string> {
  const requester = requesterOf(caller);
  const take = async () => {
    if (!region) return desktop.screenshot({}, null, requester);
    const { width, height } = await desktop.screenSize(requester);
    const inside = {
      x1: Math.max(0, region.x1),
      y1: Math.max(0, region.y1),
      x2: Math.min(width, region.x2),
      y2: Math.min(height, region.y2),
    };
    return desktop.screenshot({ region: inside }, null, requester);
  };
  const { base64 } = await named("bad_input", "unable to capture screen", take());
  return base64 ?? "";
}
