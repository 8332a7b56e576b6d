/** What the desktop's child process does for recordings, as the server calls it. */
import * as v from "valibot";
import { NOTHING } from "../../../../lib/child";

/** What a recording is asked for with. */
export interface RecordingOptions {
  /** The file on this host; one that is there is replaced. */
  readonly file: string;
  /** Pictures a second, at most. */
  readonly fps: number;
  /** How long it may be, in milliseconds. */
  readonly maxMs: number;
  readonly maxBytes: number;
}

const COUNT = v.pipe(v.number(), v.minValue(0));

/** How a recording ended. */
export const RECORDED = v.object({
  /** It was asked to, its time or its size was reached, or something failed. */
  ended: v.picklist(["stopped", "time", "size", "failed"]),
  /** What failed; null for the others. */
  error: v.nullable(v.string()),
  seconds: COUNT,
  pictures: COUNT,
  bytes: COUNT,
  width: COUNT,
  height: COUNT,
});
export type RecordingResult = v.InferOutput<typeof RECORDED>;

export interface RecordingCalls {
  /** Answers when the recording has ended. */
  record(options: RecordingOptions): Promise<RecordingResult>;
  /** Ends the recording, if there is one. */
  stopRecording(): Promise<void>;
}

/** The form of their answers. */
export const RECORDING_ANSWERS = { record: RECORDED, stopRecording: NOTHING };
