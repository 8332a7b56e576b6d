/** What the desktop's child process does for the black box, as the server calls it. */
import * as v from "valibot";
import { NOTHING } from "../../../../lib/child";
import type { RunKey } from "./sealed-file";

/** How the black box is kept. */
export interface BoxSettings {
  /** What is older is removed, in milliseconds. */
  readonly spanMs: number;
  /** How large all segments may be together. */
  readonly maxBytes: number;
  /** Patterns of the windows that are left out. */
  readonly exclude: readonly string[];
}

/** How the screen is recorded: with the id and the key of this run. */
export interface BoxOptions extends BoxSettings, RunKey {
  readonly folder: string;
}

/** The recorder, while it records. */
const BOX_STATE = v.object({
  /** Why all of the screen is black; null where it is not. */
  dark: v.nullable(v.string()),
  /** Why no texts of programs are kept; null where they are, or none has been read yet. */
  no_texts: v.nullable(v.string()),
  /** Why whoever sits at the screen was told nothing; null where they were. */
  not_told: v.nullable(v.string()),
});

export type BoxState = v.InferOutput<typeof BOX_STATE>;

export interface BlackBoxCalls {
  /** Answers when it has ended as it was asked to. @throws why it has ended. */
  keepBlackBox(options: BoxOptions): Promise<void>;
  /** Ends it, if it is there. */
  stopBlackBox(): Promise<void>;
  /** Writes what may be written now. Null where nothing is recorded. */
  blackBoxState(): Promise<BoxState | null>;
}

/** The form of their answers. */
export const BLACK_BOX_ANSWERS = {
  keepBlackBox: NOTHING,
  stopBlackBox: NOTHING,
  blackBoxState: v.nullable(BOX_STATE),
};
