/**
 * The desktop of this host: screen, pointer, keyboard and windows.
 *
 * Promise: none of it runs in this process. A missing display, a library that crashes or hangs fail only the call that
 * met them (`worker.ts`).
 */
import { type Remote, remote } from "../../lib/child";
import { sleep } from "../../lib/deadline";
import { cancelled } from "../../lib/errors";
import { once } from "../../lib/once";
import { Requester } from "../../lib/slots";
import type { DesktopCalls } from "./backend";
import { createElements, type Elements } from "./elements/elements";
import { createSnapshots, type Snapshots } from "./elements/snapshots";
import type { HeldWindows } from "./focus-hold";
import type { Region } from "./geometry";
import { type AskPlace, createInputLock, type InputLock } from "./input-lock";
import { PressedKeys } from "./pressed-keys";
import type { ViewerEvents } from "./screen/calls";
import type { Word } from "./text/engine";
import type { Reader, ReaderFound } from "./text/reader";
import { createWorker, type WorkerOptions } from "./worker";

/**
 * Calls that may take a processor for seconds. Those of tokens have a child process of their own, so that nobody waits for them with
 * pointer and keyboard.
 */
const LONG_LOOKS: ReadonlySet<string> = new Set(["locate", "difference", "page"] satisfies Array<
  keyof DesktopCalls
>);

/** How many characters one call types: each may need a keycode mapped to it first. */
const TYPED_AT_ONCE = 64;

export interface DesktopOptions extends WorkerOptions {
  /** The lock file that the processes of one `{config_dir}` share. */
  readonly lockFile: string;
  /** Asks the owner of the folder for pointer and keyboard, where that is another process. */
  readonly place?: AskPlace | undefined;
  /** Where pictures to look for are kept. */
  readonly imagesFolder: string;
  /** Where the data of languages that were added is kept. */
  readonly ocrFolder: string;
}

/** The child's methods. A call without a requester is made first: it releases a key, or is svc's own. */
type Calls = Remote<DesktopCalls, [requester?: Requester]>;

/** Every method throws Failure: `unavailable` without a display, `timeout` after the deadline, `bad_input`, … */
export interface Desktop extends Calls {
  /** Resolves when the pointer has not acted for `seconds`. @throws `cancelled` when the requester goes. */
  pointerRests(seconds: number, requester: Requester): Promise<void>;
  /** For runs of operations that say `uses: "input"`. */
  readonly inputLock: InputLock;
  readonly imagesFolder: string;
  /** What runs hold of it. */
  readonly heldWindows: HeldWindows;
  /** The lines of text in a region (default: all monitors together), each its words. `unavailable` where nothing reads text. */
  readLines(region: Region | undefined, language: string, requester: Requester): Promise<Word[][]>;
  /** What reads text on this host. @throws `unavailable` where nothing does. */
  textReader(): Promise<ReaderFound>;
  /** What programs show, by name. */
  readonly elements: Elements;
  /** Snapshots of what programs show, and the references in them. */
  readonly snapshots: Snapshots;
  /** The same desktop, whose `elements` and `snapshots` are asked in the turn of a requester. */
  turnsOf(requester: Requester): Desktop;
  /** Each gets what is reported of viewers of the live screen. */
  readonly viewerListeners: Set<ViewerEvents>;
  /** The process id of the child; null while there is none. */
  readonly childPid: number | null;
  /** Ends the child, which releases what is down if a run is cut off. */
  stop(): Promise<void>;
}

export function createDesktop(options: DesktopOptions): Desktop {
  const pressed = new PressedKeys();
  const viewerListeners = new Set<ViewerEvents>();
  const worker = createWorker(options, () => !pressed.isDown(), viewerListeners);
  // It may be killed at any time: what lets svc in by a portal would be lost with it.
  const looker = createWorker({ ...options, permission: undefined, isCutOff: true }, () => true, new Set());
  const call = (method: string, args: readonly unknown[]) => {
    const isAside =
      LONG_LOOKS.has(method) &&
      !worker.hasPermission() &&
      args.some((arg) => arg instanceof Requester && arg.user !== null);
    return (isAside ? looker : worker).call(method, args);
  };
  const calls = remote<Calls>(call);
  const elements = createElements({
    log: options.log,
    ...(options.env && { env: options.env }),
    ...(options.as && { as: options.as }),
  });
  const releaseAll = async () => {
    await pressed.releaseAll(calls);
    await worker.lift();
  };
  const inputLock = createInputLock(options.lockFile, releaseAll, options.log, options.place);
  let pointedAt = Number.NEGATIVE_INFINITY;
  const pointing =
    <Args extends unknown[], T>(act: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      try {
        return await act(...args);
      } finally {
        pointedAt = performance.now();
      }
    };
  const { click, strike } = pressed.track<[requester?: Requester]>(calls);
  const text = createText(options, calls);
  const snapshots = createSnapshots(elements);
  const desktop: Desktop = remote<Desktop>(call, {
    strike,
    click: pointing(click),
    // Also a move: with some window managers the window under the pointer has the focus.
    move: pointing(calls.move),
    scroll: pointing(calls.scroll),
    async pointerRests(seconds, { signal }) {
      const left = pointedAt + seconds * 1_000 - performance.now();
      if (left <= 0) return;
      await sleep(left, signal, () => cancelled("cancelled while the pointer rests"));
    },
    /** In pieces. When it is cancelled between two, the rest is left out. */
    async type(text, requester) {
      const characters = [...text.replaceAll(/\r\n?/g, "\n")];
      for (let at = 0; at < characters.length; at += TYPED_AT_ONCE) {
        await calls.type(characters.slice(at, at + TYPED_AT_ONCE).join(""), requester);
      }
    },
    readLines: text.readLines,
    textReader: text.textReader,
    inputLock,
    heldWindows: new Map(),
    elements,
    snapshots,
    turnsOf(requester) {
      const mine = elements.of(requester);
      const own: Partial<Desktop> = { elements: mine, snapshots: snapshots.of(mine) };
      return new Proxy(desktop, {
        get: (whole, name) => Reflect.get(Object.hasOwn(own, name) ? own : whole, name),
      });
    },
    viewerListeners,
    imagesFolder: options.imagesFolder,
    get childPid() {
      return worker.pid();
    },
    async stop() {
      await Promise.all([
        worker.stop(inputLock.taken() ? undefined : "keepPressed"),
        looker.stop(),
        elements.stop(),
        text.stop(),
      ]);
    },
  });
  return desktop;
}

/** Reading text; the reader is loaded when it is first asked. @returns also what ends its processes. */
function createText(
  { ocrFolder, log }: DesktopOptions,
  calls: Pick<Calls, "page">,
): Pick<Desktop, "readLines" | "textReader"> & { stop(): Promise<void> } {
  let made: Reader | undefined;
  const reader = once(async () => {
    made = (await import("./text/reader")).createReader({ folder: ocrFolder, log });
    return made;
  });
  return {
    async readLines(region, language, requester) {
      const { read, requireEngine } = await reader();
      requireEngine();
      return read((options) => calls.page(region, options, requester), language, requester);
    },
    textReader: async () => (await reader()).about(),
    stop: async () => made?.stop(),
  };
}
