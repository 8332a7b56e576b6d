/**
 * The child process that touches the display: takes calls from its parent one at a time, and ends with it.
 *
 * A display that is missing, or goes away, is the failure of the calls that need it; the next call tries again.
 */
import { answerParent } from "../lib/child";
import { standBack } from "../lib/priority";
import type { Backend } from "./backend";
import type { Request } from "./calls";
import { sizeOf } from "./geometry";
import { takeScreenshot } from "./screenshot";

/** A display that does not answer any more is no reason to stay longer than this, milliseconds. */
const CLOSE_MS = 1_000;

export default async function desktopChild(): Promise<void> {
  let backend: Promise<Backend> | undefined;
  const use = async () => {
    backend ??= createBackend(() => {
      backend = undefined;
    });
    try {
      return await backend;
    } catch (error) {
      backend = undefined;
      throw error;
    }
  };
  // Encoding a picture takes a whole processor for a moment: whoever asks the server something comes first.
  standBack();
  await answerParent<Request>(
    (request) => perform(request, use),
    async () => {
      const closed = backend?.then((open) => open.close()).catch(() => {});
      await Promise.race([closed, Bun.sleep(CLOSE_MS)]);
    },
  );
}

async function perform(request: Request, use: () => Promise<Backend>): Promise<unknown> {
  if (request.name === "windows" && cannotListWindows()) return undefined;
  const backend = await use();
  switch (request.name) {
    case "screenSize":
      return sizeOf(await backend.desktop());
    case "pointer":
      return backend.pointer();
    case "move":
      return backend.move(request.argument);
    case "click":
      return backend.click(request.argument.target, request.argument.button, request.argument.stroke);
    case "scroll":
      return backend.scroll(request.argument.target, request.argument.direction, request.argument.steps);
    case "strike":
      return backend.strike(request.argument.keys, request.argument.stroke);
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
