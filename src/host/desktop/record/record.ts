/**
 * Recording what a person does on an X11 desktop as a script, until Escape, a signal or a time.
 *
 * Promise: nothing that is typed leaves this process but into the script.
 */
import { messageOf } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import type { XConnection } from "../x11/connection";
import { type WindowProperties, windowProperties } from "../x11/properties";
import { createScreen, rootPlace } from "../x11/screen";
import { DeedReader } from "./deeds";
import { listen } from "./listen";
import { createNames, type Names } from "./names";
import { LOOK_MS, Scenes } from "./scenes";
import type { Deed, Ending } from "./script";
import { followFocus, underPointer } from "./windows";

/** How often the screen is looked at before the start, at most, until it is still: a video never is. */
const MAX_FIRST_LOOKS = 5;

/**
 * How long nobody does anything before pictures are searched for look-alikes, in milliseconds: meanwhile no key is read, and
 * a program may give one a meaning for a moment.
 */
const QUIET_MS = 2_000;

interface RecordingParts {
  readonly log: Log;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Takes a picture. @returns the path by which the script names it. */
  keep(png: Uint8Array): string;
  /** Whether what is done in the window that has the focus at the start is left out: the terminal of this command. */
  readonly skipsOwnWindow: boolean;
  /** Called when it listens. @param missing why nothing is known by name, and so no field as secret; undefined where it is. */
  begun(missing: string | undefined): void;
}

/** What was done, and what came of it. */
interface Recording {
  readonly deeds: readonly Deed[];
  readonly ending: Ending;
}

/**
 * @returns what was done, once it has ended.
 * @throws an `unavailable` failure without a display, or where it has no RECORD extension.
 */
export async function recordInput({
  log,
  signal,
  keep,
  skipsOwnWindow,
  begun,
}: RecordingParts): Promise<Recording> {
  const scenes = new Scenes();
  const names = await createNames(log);
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  let focused = (): number | undefined => undefined;
  let reader: DeedReader | undefined;
  const listening = listen((stroke) => reader?.take(stroke), end);
  listening.catch(() => names.stop());
  const { control, stop, close } = await listening;
  const windows = windowProperties(control);
  const deeds = new DeedReader({ log, control, windows, scenes, names, focused: () => focused(), keep, end });
  reader = deeds;
  focused = await followFocus(control, windows);

  const screen = createScreen(control);
  const look = async () => {
    const [{ rootX, rootY }, place] = await Promise.all([
      control.need.QueryPointer(control.screen.root),
      rootPlace(control),
    ]);
    const picture = await screen.capture(place);
    scenes.add({ picture, pointer: { x: rootX, y: rootY }, at: performance.now() });
    // One at a time: a search takes a while, and meanwhile no stroke is read.
    if (performance.now() - deeds.busyAt > QUIET_MS) deeds.searchOne();
  };
  const { promise: ready, resolve: started } = Promise.withResolvers<void>();
  const looking = (async () => {
    for (let looks = 1; !deeds.hasEnded; looks++) {
      await look();
      // What has just been opened or got the focus may fade in.
      if (looks === MAX_FIRST_LOOKS || (looks < MAX_FIRST_LOOKS && scenes.isStill)) started();
      await Promise.race([Bun.sleep(LOOK_MS), over]);
    }
  })();
  const pointing = lookWhereItPoints({ control, windows, names, deeds }, over);
  pointing.catch(() => {});
  looking.catch((error) => {
    log.error(`the screen cannot be read any more: ${messageOf(error)}`);
    end();
  });
  try {
    if (skipsOwnWindow) deeds.leaveOut(focused());
    if (signal.aborted) end();
    signal.addEventListener("abort", () => end(), { once: true });
    await Promise.race([ready, looking, over]);
    begun(names.missing);
    await over;
    // What was done before may not have been read yet.
    await stop();
    return await deeds.finish();
  } finally {
    deeds.end();
    end();
    await Promise.allSettled([looking, pointing]);
    await names.stop();
    close();
  }
}

/** How often it is asked where the pointer is, in milliseconds. */
const POINT_MS = 80;

/** Looks at what is under the pointer where it has moved, or something was done since, until it is over. */
async function lookWhereItPoints(
  {
    control,
    windows,
    names,
    deeds,
  }: {
    readonly control: XConnection;
    readonly windows: WindowProperties;
    readonly names: Names;
    readonly deeds: DeedReader;
  },
  over: Promise<void>,
): Promise<void> {
  let last = { place: "", at: 0 };
  while (!deeds.hasEnded) {
    const { rootX: x, rootY: y } = await control.need.QueryPointer(control.screen.root);
    const place = `${x} ${y}`;
    if (place !== last.place || last.at < deeds.busyAt) {
      last = { place, at: performance.now() };
      const { window } = await underPointer(control, windows, { x, y });
      await names.look({ x, y }, window === undefined);
    }
    await Promise.race([Bun.sleep(POINT_MS), over]);
  }
}
