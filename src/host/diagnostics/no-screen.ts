/**
 * Whether this host is meant to have a screen: `desktop.screen` of its settings, which a person answers once. `none`: a host without
 * one is as it should be. `expected`: one without is a fault. Without an answer it is a fault that asks for one.
 */
import { isNoScreen, messageOf } from "../../lib/errors";
import { type Advice, adviceFor, type Finding, failed, fine } from "./check";

/** The values of the setting. */
export const SCREENS = ["none", "expected"] as const;

/** The setting. */
export interface ScreenSetting {
  /** @throws when it cannot be read. */
  get(name: "desktop.screen"): readonly string[];
}

/** What reads the setting. */
export interface ScreenSettings {
  settings(): Promise<ScreenSetting>;
}

/** Whether this host is to have a screen; undefined where nobody has said. */
export async function wantsScreen(service: ScreenSettings): Promise<boolean | undefined> {
  try {
    const answers = (await service.settings()).get("desktop.screen");
    if (answers.includes("expected")) return true;
    return answers.includes("none") ? false : undefined;
  } catch {
    return undefined;
  }
}

/**
 * What `look` finds; where there is no screen and none is wanted, that is fine.
 *
 * @param advice where one is wanted, or nobody has said.
 * @throws what `look` throws where there is a screen.
 */
export async function unlessNone(
  service: ScreenSettings,
  advice: Advice,
  look: () => Promise<Finding>,
): Promise<Finding> {
  try {
    return await look();
  } catch (thrown) {
    if (!isNoScreen(thrown)) throw thrown;
    const isWanted = await wantsScreen(service);
    if (isWanted === false)
      return fine("no screen, as this host is meant to have none (desktop.screen)", { screen: false });
    const why = messageOf(thrown);
    return failed(why, adviceFor(why, advice), { screen: isWanted ? "expected" : "undecided" });
  }
}
