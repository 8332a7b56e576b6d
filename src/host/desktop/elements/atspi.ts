/** The programs on the accessibility bus of this user's session (AT-SPI2). */
import { desktopVariables } from "../session";
import { accessibles, rootsOf } from "./accessible";
import { deedsOf } from "./atspi-deeds";
import { framesAt } from "./frames";
import { openBus } from "./open-bus";
import { search } from "./search";
import type { Session } from "./session";
import { mended } from "./toolkits";
import { type XWindow, xWindows } from "./x-windows";

/**
 * @param given the environment of this process.
 * @param looks set where the bus is only looked at: then it stays as it is.
 * @throws an `unavailable` failure that says what is missing.
 */
export async function openAtspi(given: NodeJS.ProcessEnv, looks?: "looks"): Promise<Session> {
  const env = { ...given, ...(await desktopVariables(given)) };
  const bus = await openBus(env, looks);
  const windows = xWindows(env);
  const ask = mended(bus, accessibles(bus), windows);
  const look = search(rootsOf(bus), ask);
  return {
    ask,
    look,
    deeds: deedsOf({ bus, ask, look }),
    async framesAt(x, y) {
      const frames = await framesAt(env, x, y).catch(() => []);
      const isOnTop = (one: XWindow) => `${[one.x, one.y, one.width, one.height]}` === `${frames[0]}`;
      return { frames, popup: (await windows.list()).find((one) => one.isPopup && isOnTop(one)) };
    },
    get isOpen() {
      return bus.isOpen;
    },
    close() {
      windows.close();
      bus.close();
    },
  };
}
