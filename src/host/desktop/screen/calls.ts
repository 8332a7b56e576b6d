/**
 * What the desktop's child process does for viewers of the live screen, as the server calls it, and what it reports.
 *
 * A viewer's stream does not pass through here: whoever carries it connects to the child itself (`Door`).
 */
import * as v from "valibot";
import { NOTHING } from "../../../lib/child";
import { SIGNATURE, type Signature } from "../../../wire/screen/signature";
import { BLACK_BOX_ANSWERS, type BlackBoxCalls } from "./black-box/calls";
import { RECORDING_ANSWERS, type RecordingCalls } from "./record/calls";

/** Where the stream of a viewer is: a local socket that takes this key once, and speaks RFB (RFC 6143) after it. */
const DOOR = v.object({
  /** A UNIX socket; on Windows a named pipe. */
  path: v.string(),
  /** 64 hexadecimal characters, which the carrier sends first. */
  key: v.string(),
});

const COUNT = v.pipe(v.number(), v.minValue(0));

/** The stream of one viewer within the last second. */
const STATS = v.object({
  id: v.string(),
  /** Updates with pixels. */
  fps: COUNT,
  bitrate_kbps: COUNT,
  /** Of a fence to the viewer and back; null until one has come back. */
  rtt_ms: v.nullable(COUNT),
  /** How much the round trips differ, smoothed as in RFC 3550, section 6.4.1. */
  jitter_ms: v.nullable(COUNT),
  /** A stream loses nothing: null here; a carrier that knows better fills it in. */
  loss_pct: v.nullable(COUNT),
  /** Since the viewer came. */
  bytes_sent: COUNT,
  width: COUNT,
  height: COUNT,
  /** Bytes that wait for the viewer to read. */
  unsent: COUNT,
  /** Since its last key, pointer or text, while it controls, in seconds; null when there was none, or it does not control. */
  idle_s: v.nullable(COUNT),
});

export type Door = v.InferOutput<typeof DOOR>;
export type ViewerStats = v.InferOutput<typeof STATS>;

/** The calls of the child process for viewers. None waits for a call that runs. */
export interface ViewerCalls extends RecordingCalls, BlackBoxCalls {
  /**
   * Prepares a viewer. Its key is good once, and for ten seconds.
   *
   * @param viewer.control whether its keys, pointer and clipboard count from the start.
   * @param viewer.name for messages.
   * @param viewer.video false where videos are encoded for nobody any more, since that has failed too often (default: true).
   */
  openViewer(viewer: {
    readonly id: string;
    readonly control: boolean;
    readonly name: string;
    readonly video?: boolean;
  }): Promise<Door>;
  /** Without control, what a viewer sends is dropped. Resolves, when it ends, once its keys and buttons are released. */
  controlViewer(id: string, control: boolean): Promise<void>;
  /** Ends a viewer, if it is there. */
  closeViewer(id: string, reason: string): Promise<void>;
  /** The name of the screen that viewers show. */
  nameScreen(text: string): Promise<void>;
  /** A small picture of the screen, a JPEG in base64. @param picture.width in pixels. */
  snapshot(picture: { readonly width: number }): Promise<string>;
  /** What a desk compares screens by. @param options.exclude patterns of the windows that are left out. */
  signature(options: { readonly exclude: readonly string[] }): Promise<Signature>;
}

/** What the child reports of viewers. */
export interface ViewerEvents {
  /** `open`: its stream is there. `closed`, once for each viewer that was prepared: it has ended, or nobody came. */
  viewer(id: string, state: "open" | "closed", reason: string): void;
  /** Once a second while there are viewers. */
  viewerStats(viewers: readonly ViewerStats[]): void;
}

/** What the child reports of videos. */
export interface VideoEvents {
  /** What encodes videos has failed. @param pauseMs until it is used again, in milliseconds; null for never. */
  videoFailed(reason: string, pauseMs: number | null): void;
}

/** The calls that start the child where there is none. */
export const STARTING_CALLS: ReadonlySet<string> = new Set<keyof ViewerCalls>([
  "openViewer",
  "snapshot",
  "signature",
  "record",
  "keepBlackBox",
]);

/** Those of them that may take as long as they like. */
export const LASTING_CALLS: ReadonlySet<string> = new Set<keyof ViewerCalls>(["record", "keepBlackBox"]);

/** The form of their answers. */
export const VIEWER_ANSWERS = {
  openViewer: DOOR,
  controlViewer: NOTHING,
  closeViewer: NOTHING,
  nameScreen: NOTHING,
  snapshot: v.string(),
  signature: SIGNATURE,
  ...RECORDING_ANSWERS,
  ...BLACK_BOX_ANSWERS,
};

/** The names of the calls, which are made at once. */
export const VIEWER_CALLS: ReadonlySet<string> = new Set(Object.keys(VIEWER_ANSWERS));

/** The form of the events' arguments. */
export const VIEWER_EVENTS = {
  viewer: v.strictTuple([v.string(), v.picklist(["open", "closed"]), v.string()]),
  viewerStats: v.strictTuple([v.array(STATS)]),
  videoFailed: v.strictTuple([v.string(), v.nullable(COUNT)]),
};
