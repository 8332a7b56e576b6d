/**
 * The viewers of all desktops of this host: that of its user, and those on demand.
 */
import type { SessionList } from "../../../core/answer-schemas";
import type { Grant } from "../../../core/rights";
import { forbidden } from "../../../lib/errors";
import type { ViewerView } from "../../../wire/screen/viewer";
import type { Size } from "../geometry";
import { type Admission, type AdmittedViewer, requireOn } from "./admission";
import { noSuchViewer } from "./control";
import { LiveScreen, type LiveScreenParts, type ScreenDesktop } from "./screens";

/** What the viewers need of the service. */
export interface ScreensParts extends Omit<LiveScreenParts, "desktop"> {
  /** @param name of one on demand (default: that of the host). @throws `not_found` for one that does not run. */
  desktop(name?: string): Promise<ScreenDesktop>;
}

/** What a desktop shows, and to whom. */
interface ScreenState {
  /** Null while nobody looks. */
  readonly size: Size | null;
  readonly viewers: ViewerView[];
  readonly input: ReturnType<LiveScreen["user"]>;
}

/** The viewers of the screens of this host. */
export interface Screens
  extends Pick<LiveScreen, "count" | "end" | "route" | "take" | "release" | "viewer" | "stop"> {
  /** @throws `forbidden` where this host does not show its screen live. */
  requireOn(): void;
  /** @throws `forbidden` for who needs an approval: pictures that come by themselves ask nobody. */
  requireTrusted(grant: Grant): void;
  /**
   * Lets a viewer in.
   *
   * @param desktop the name of one on demand (default: that of the host).
   * @throws as that of {@link LiveScreen}; `not_found` for a desktop that does not run.
   */
  admit(admission: Admission, desktop?: string): Promise<AdmittedViewer>;
  /** @throws `not_found` for a desktop that does not run. */
  state(desktop?: string): Promise<ScreenState>;
  sessions(): SessionList["sessions"];
}

export function createScreens(parts: ScreensParts): Screens {
  const all = new Map<ScreenDesktop, LiveScreen>();
  const screenOf = async (name: string | undefined): Promise<LiveScreen> => {
    const desktop = await parts.desktop(name);
    const known = all.get(desktop);
    if (known) return known;
    // Of desktops that have ended nobody looks any more.
    for (const [one, screen] of all) if (screen.count() === 0) all.delete(one);
    const screen = new LiveScreen({ ...parts, desktop });
    all.set(desktop, screen);
    return screen;
  };
  const has = (screen: LiveScreen, id: string) => screen.viewers().some((viewer) => viewer.id === id);
  const find = (id: string) => [...all.values()].find((screen) => has(screen, id));
  const need = (id: string): LiveScreen => {
    const screen = find(id);
    if (!screen) throw noSuchViewer(id);
    return screen;
  };
  return {
    requireOn: () => requireOn(parts),
    requireTrusted(grant) {
      if (!parts.asksFirst || parts.isTrusted(grant)) return;
      throw forbidden(
        "small pictures of the screen are for the tokens of trusted_viewers.json (svc serve --screen-approval)",
      );
    },
    async admit(admission, desktop) {
      admission.signal.throwIfAborted();
      requireOn(parts);
      return (await screenOf(desktop)).admit(admission);
    },
    async state(desktop) {
      const screen = await screenOf(desktop);
      return { size: screen.size(), viewers: screen.viewers(), input: screen.user() };
    },
    count: () => all.values().reduce((sum, screen) => sum + screen.count(), 0),
    end: async (id, ...why) => (await find(id)?.end(id, ...why)) ?? false,
    route: (id, text) => find(id)?.route(id, text),
    take: async (id, ...how) => need(id).take(id, ...how),
    release: async (id, why) => need(id).release(id, why),
    viewer: (id) => need(id).viewer(id),
    sessions: () => [...all.values()].flatMap((screen) => screen.sessions()),
    async stop() {
      await Promise.all(Array.from(all.values(), (screen) => screen.stop()));
    },
  };
}
