/**
 * The streams of the live screen in the inspector: a sample a second of each viewer, as a session of its own.
 */
import type { LinkSample } from "../core/answer-schemas";
import type { ViewerEvents } from "../host/desktop/screen/calls";
import { messageOf } from "../lib/errors";
import type { Log } from "../lib/log";

/** @param inspector is made by the first sample. */
export function createViewerSamples(
  inspector: () => Promise<{ record(sample: LinkSample, session: string): void }>,
  log: Log,
): ViewerEvents {
  return {
    viewer() {},
    viewerStats(viewers) {
      inspector()
        .then(({ record }) => {
          for (const { id, rtt_ms, fps, bitrate_kbps, loss_pct, jitter_ms } of viewers) {
            record({ rtt_ms, fps, bitrate_kbps, packet_loss_pct: loss_pct, jitter_ms }, id);
          }
        })
        .catch((error) => log.warn(`the inspector takes no sample of the live screen: ${messageOf(error)}`));
    },
  };
}
