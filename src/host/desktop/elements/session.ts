/** What the child process asks programs by: AT-SPI2 on Linux, UI Automation on Windows. */
import type { Rect } from "../geometry";
import type { Deeds } from "./deeds";
import type { Frame } from "./frames";
import type { Client } from "./tree";

/** A way to the programs of a desktop. */
export interface Session extends Client {
  readonly deeds: Deeds;
  /** The places of the windows at a place of the screen, the outermost first, and of the menu or list that is open there. */
  framesAt(
    x: number,
    y: number,
  ): Promise<{ readonly frames: readonly Frame[]; readonly popup?: Rect | undefined }>;
  readonly isOpen: boolean;
  close(): void;
}
