/**
 * What a viewer does with keys and pointer, in its order, and only while it controls: view-only is enforced here.
 */
import type { Point } from "../../geometry";
import type { ViewerMessage } from "./viewer-messages";
import type { KeyStroke } from "./watch";

/** The devices of the host. */
export interface Devices {
  /** Presses and releases keys, in this order. */
  keys(strokes: readonly KeyStroke[]): Promise<void>;
  /**
   * Moves the pointer and changes its buttons.
   *
   * @param buttons a bit for each that is down, the left one first, as RFB has them (4 to 7: the wheel).
   * @param before the bits that were down.
   */
  point(at: Point, buttons: number, before: number): Promise<void>;
}

type Stroke = Extract<ViewerMessage, { kind: "key" | "pointer" }>;
/** A stroke with the place where the pointer goes. */
type DeviceStroke = Extract<ViewerMessage, { kind: "key" }> | { kind: "pointer"; buttons: number; at: Point };

/** How many strokes are made together: a key that is not on the layout costs less in company. */
const MAX_AT_ONCE = 64;
/** How many strokes may wait. */
const MAX_WAITING = 128;
/** How many keys a viewer may hold at once: more than a person has fingers. */
const MAX_HELD = 32;

/** The input of one viewer. */
export interface Input {
  /** Whether no more should be read: too much waits. */
  isFull(): boolean;
  /** @param call is called when some of it has been done. */
  onRoom(call: () => void): void;
  /** @param pointAt where a pixel is for the pointer. */
  take(stroke: Stroke, pointAt: (x: number, y: number) => Point): void;
  /** Resolves, when control ends, once all is released. */
  control(on: boolean): Promise<void>;
  /** Resolves when all is released. */
  end(): Promise<void>;
}

/** @param isControlled whether from the start. */
export function createInput(devices: Devices, isControlled: boolean): Input {
  let hasControl = isControlled;
  let waiting: DeviceStroke[] = [];
  let working: Promise<void> | undefined;
  let madeRoom = () => {};
  /** What is down, and where the pointer was last. */
  const held = new Set<number>();
  let buttons = 0;
  let last: Point | undefined;
  let releases = 0;

  const work = () => {
    working ??= workAll().finally(() => {
      working = undefined;
    });
    return working;
  };
  const workAll = async () => {
    while (waiting.length > 0) {
      const isKeys = waiting[0]?.kind === "key";
      const other = waiting.findIndex(({ kind }) => (kind === "key") !== isKeys);
      const batch = waiting.splice(0, Math.min(MAX_AT_ONCE, other < 0 ? waiting.length : other));
      // Devices that fail fail the call of a run, too; a viewer sees that nothing happens.
      await (isKeys ? strike(batch) : point(batch)).catch(() => {});
      madeRoom();
    }
  };
  const strike = async (batch: readonly DeviceStroke[]) => {
    const strokes: KeyStroke[] = [];
    for (const one of batch) {
      if (one.kind !== "key") continue;
      const { keysym, down } = one;
      // The host repeats a key that is held by itself.
      if (down === held.has(keysym)) continue;
      if (down) held.add(keysym);
      else held.delete(keysym);
      strokes.push({ keysym, down });
      const [oldest] = held;
      if (held.size > MAX_HELD && oldest !== undefined) {
        held.delete(oldest);
        strokes.push({ keysym: oldest, down: false });
      }
    }
    if (strokes.length > 0) await devices.keys(strokes);
  };
  const point = async (batch: readonly DeviceStroke[]) => {
    const began = releases;
    for (const [nth, one] of batch.entries()) {
      if (one.kind !== "pointer" || releases !== began) continue;
      // Of moves in a row, the last is enough.
      const next = batch[nth + 1];
      if (next?.kind === "pointer" && one.buttons === buttons && next.buttons === buttons) continue;
      const before = buttons;
      buttons = one.buttons;
      last = one.at;
      await devices.point(one.at, buttons, before);
    }
  };
  /** Leaves out what waits, and releases all that is down. */
  const release = () => {
    releases += 1;
    waiting = [...held].reverse().map((keysym) => ({ kind: "key", keysym, down: false }));
    if (buttons !== 0 && last) waiting.push({ kind: "pointer", buttons: 0, at: last });
    return work();
  };

  return {
    isFull: () => waiting.length >= MAX_WAITING,
    onRoom(call) {
      madeRoom = call;
    },
    take(stroke, pointAt) {
      if (!hasControl) return;
      if (stroke.kind === "key") waiting.push(stroke);
      else waiting.push({ kind: "pointer", buttons: stroke.buttons, at: pointAt(stroke.x, stroke.y) });
      void work();
    },
    async control(on) {
      if (hasControl === on) return;
      hasControl = on;
      if (!on) await release();
    },
    end() {
      hasControl = false;
      madeRoom = () => {};
      return release();
    },
  };
}
