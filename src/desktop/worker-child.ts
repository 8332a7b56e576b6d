/**
 * The child process that touches the display: takes calls from its parent one at a time, and ends with it.
 *
 * A display that is missing, or goes away, is the failure of the calls that need it; the next call tries again. What is
 * down when the parent goes is let go, unless the parent has said that it is to stay.
 */
import { answerParent } from "../lib/child";
import { resolvesWithin } from "../lib/deadline";
import { standBack } from "../lib/priority";
import type { Backend } from "./backend";
import type { Request } from "./calls";
import { sizeOf } from "./geometry";
import { Held } from "./pressed-keys";
import { takeScreenshot } from "./screenshot";
import { desktopVariables } from "./session";

/** A display that does not answer any more is no reason to stay longer than this, milliseconds. */
const CLOSE_MS = 1_000;

export default async function desktopChild(): Promise<void> {
  let backend: Promise<Backend> | undefined;
  const given = { ...process.env };
  /** The X library, too, looks into the environment of the process. */
  const locate = async () => {
    if (!backend && process.platform === "linux") Object.assign(process.env, await desktopVariables(given));
  };
  const open = () => {
    const forget = () => {
      if (backend === opening) backend = undefined;
    };
    const opening = createBackend(forget);
    opening.catch(forget);
    return opening;
  };
  const use = () => {
    backend ??= open();
    return backend;
  };
  const held = new Held();
  let keepDown = false;
  let last: Promise<unknown> = Promise.resolve();
  // Encoding a picture takes a whole processor for a moment: whoever asks the server something comes first.
  standBack();
  await answerParent<Request>(
    (request) => {
      if (request.name === "keepDown") {
        keepDown = true;
        return undefined;
      }
      last = locate().then(() => perform(request, use, held));
      return last;
    },
    async () => {
      const close = async () => {
        await last.catch(() => {});
        const opened = await backend;
        if (opened && !keepDown) await held.letGo(opened);
        await opened?.close();
      };
      await resolvesWithin(CLOSE_MS, close()).catch(() => {});
    },
  );
}

type ForDisplay = Exclude<Request, { readonly name: "keepDown" }>;

async function perform(request: ForDisplay, use: () => Promise<Backend>, held: Held): Promise<unknown> {
  if (request.name === "windows" && cannotListWindows()) return undefined;
  const backend = await use();
  switch (request.name) {
    case "screenSize":
      return sizeOf(await backend.desktop());
    case "pointer":
      return backend.pointer();
    case "move":
      return backend.move(request.argument);
    case "click": {
      const { target, button, stroke } = request.argument;
      return held.during([{ button }], stroke === "press", () => backend.click(target, button, stroke));
    }
    case "scroll":
      return backend.scroll(request.argument.target, request.argument.direction, request.argument.steps);
    case "strike": {
      const { keys, stroke } = request.argument;
      const pressed = keys.map((key) => ({ key }));
      return held.during(pressed, stroke === "press", () => backend.strike(keys, stroke));
    }
    case "type":
      return backend.type(request.argument);
    case "screenshot":
      return takeScreenshot(backend, request.argument);
    case "windows":
      return backend.windows();
    case "focus":
      return backend.focus(request.argument);
  }
}

/** Wayland has no protocol by which a program may learn of the windows of others. */
function cannotListWindows(): boolean {
  return process.platform === "linux" && !process.env.DISPLAY && Boolean(process.env.WAYLAND_DISPLAY);
}

async function createBackend(lost: () => void): Promise<Backend> {
  if (process.platform === "linux") {
    const { createX11Backend } = await import("./x11/backend");
    return createX11Backend(lost);
  }
  const [{ createNativeBackend }, { thisPlatform }] = await Promise.all([
    import("./native/backend"),
    import("./native/platform"),
  ]);
  return createNativeBackend(await thisPlatform());
}
