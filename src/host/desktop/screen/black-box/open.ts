/** Starts the recorder of the black box in the desktop's child process. */
import type { Backend } from "../../backend";
import { pollWindows } from "../../shown-windows";
import type { Screen } from "../child/screen";
import type { BoxOptions } from "./calls";
import { createExclusion } from "./exclusion";
import { createNotice, type Notice } from "./notice";
import { BoxRecorder } from "./recorder";
import { createTextReader } from "./texts";
import { createVeils } from "./veil";

/** Starts a recorder, one at a time. @throws an `unavailable` failure where the windows cannot be watched. */
export type OpenBox = (backend: Backend, screen: Screen, options: BoxOptions) => Promise<BoxRecorder>;

/** All that it opens have one notice: what is shown after a pause replaces what was shown before. */
export function createBoxOpener(): OpenBox {
  const noticeOf = createNotices();
  return async (backend, screen, options) => {
    const watch = backend.watchWindows ? await backend.watchWindows() : pollWindows(backend);
    const isExcluded = createExclusion(options.exclude);
    const hasPatterns = options.exclude.length > 0;
    const veils = createVeils({ watch, isExcluded, hasPatterns, areaOf: screen.areaOf });
    const notice = noticeOf(options);
    return new BoxRecorder({ screen, veils, texts: createTextReader(isExcluded), notice, options });
  };
}

/** A function that gives the notice of a span: the same one for as long as the span is the same. */
function createNotices(): (options: BoxOptions) => Notice {
  if (process.platform !== "linux") return () => NO_NOTICE;
  let kept: { readonly spanMs: number; readonly notice: Notice } | undefined;
  return ({ spanMs }) => {
    if (kept?.spanMs !== spanMs) kept = { spanMs, notice: createNotice({ spanMs }) };
    return kept.notice;
  };
}

const NO_NOTICE: Notice = {
  problem: "svc shows no notifications on this system",
  begin: async () => {},
  end: async () => {},
};
