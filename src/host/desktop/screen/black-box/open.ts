/** Starts the recorder of the black box in the desktop's child process. */
import type { Backend } from "../../backend";
import { pollWindows } from "../../shown-windows";
import type { Screen } from "../child/screen";
import type { BoxOptions } from "./calls";
import { createExclusion } from "./exclusion";
import { createNotice, type Notice } from "./notice";
import { type BoxRecorder, startRecorder } from "./recorder";
import { createTextReader } from "./texts";
import { createVeils } from "./veil";

/** @throws an `unavailable` failure where the windows cannot be watched. */
export async function openBox(backend: Backend, screen: Screen, options: BoxOptions): Promise<BoxRecorder> {
  const watch = backend.watchWindows ? await backend.watchWindows() : pollWindows(backend);
  const isExcluded = createExclusion(options.exclude);
  const hasPatterns = options.exclude.length > 0;
  const veils = createVeils({ watch, isExcluded, hasPatterns, areaOf: screen.areaOf });
  const notice = process.platform === "linux" ? createNotice(options) : NO_NOTICE;
  return startRecorder({ screen, veils, texts: createTextReader(isExcluded), notice, options });
}

const NO_NOTICE: Notice = {
  problem: "svc shows no notifications on this system",
  begin: async () => {},
  end: async () => {},
};
