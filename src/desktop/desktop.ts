/**
 * The desktop of this host: screen, pointer, keyboard and windows.
 *
 * Promise: none of it runs in this process. A missing display, a library that crashes or hangs fail only the call that
 * met them (`worker.ts`).
 */
import { type Remote, remote } from "../lib/child";
import { once } from "../lib/once";
import type { DesktopCalls } from "./backend";
import type { Region } from "./geometry";
import { createInputLock, type InputLock } from "./input-lock";
import { PressedKeys } from "./pressed-keys";
import type { ViewerEvents } from "./screen/calls";
import type { Word } from "./text/tesseract";
import { createWorker, type WorkerOptions } from "./worker";

/** How many characters one call types: each may need a keycode mapped to it first. */
const TYPED_AT_ONCE = 64;

export interface DesktopOptions extends WorkerOptions {
  /** The lock file that the processes of one `{config_dir}` share. */
  readonly lockFile: string;
  /** Where pictures to look for are kept. */
  readonly imagesFolder: string;
  /** Where the data of languages that were added is kept. */
  readonly ocrFolder: string;
}

/** The child's methods; a call whose signal aborts before it is sent is not sent. */
type Calls = Remote<DesktopCalls, [signal?: AbortSignal]>;

/** Every method throws Failure: `unavailable` without a display, `timeout` after the deadline, `bad_input`, … */
export interface Desktop extends Calls {
  /** For runs of operations that say `uses: "input"`. */
  readonly inputLock: InputLock;
  readonly imagesFolder: string;
  /** The lines of text in a region (default: all monitors together), each its words. `unavailable` without tesseract. */
  readLines(region: Region | undefined, language: string, signal: AbortSignal): Promise<Word[][]>;
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
  const calls = remote<Calls>(worker.call);
  const releaseAll = async () => {
    await pressed.releaseAll(calls);
    await worker.lift();
  };
  const inputLock = createInputLock(options.lockFile, releaseAll, options.log);
  const reader = once(async () => (await import("./text/tesseract")).createReader(options.ocrFolder));
  return remote<Desktop>(worker.call, {
    ...pressed.track<[signal?: AbortSignal]>(calls),
    /** In pieces. When it is cancelled between two, the rest is left out. */
    async type(text, signal) {
      const characters = [...text.replaceAll(/\r\n?/g, "\n")];
      for (let at = 0; at < characters.length; at += TYPED_AT_ONCE) {
        await calls.type(characters.slice(at, at + TYPED_AT_ONCE).join(""), signal);
      }
    },
    async readLines(region, language, signal) {
      const { read, requireProgram } = await reader();
      requireProgram();
      return read(await calls.page(region, signal), language, signal);
    },
    inputLock,
    viewerListeners,
    imagesFolder: options.imagesFolder,
    get childPid() {
      return worker.pid();
    },
    stop: () => worker.stop(inputLock.taken() ? undefined : "keepPressed"),
  });
}
