/**
 * The keys and buttons of an X server as a person uses them, through its RECORD extension (X Record Extension Protocol
 * 1.13). It only listens: the programs get everything as before.
 */
import type { XClient, XRecord } from "x11";
import { unavailable } from "../../../lib/errors";
import { connect } from "../x11/connection";

/** Event codes (X11/X.h). */
const KEY_PRESS = 2;
const KEY_RELEASE = 3;
const BUTTON_PRESS = 4;
const BUTTON_RELEASE = 5;
/** The bytes of an event (X Window System Protocol, appendix B). */
const EVENT_BYTES = 32;

const KINDS = {
  [KEY_PRESS]: "key press",
  [KEY_RELEASE]: "key release",
  [BUTTON_PRESS]: "button press",
  [BUTTON_RELEASE]: "button release",
} as const;

/** A key or a button that went down or up. */
export interface Stroke {
  readonly kind: (typeof KINDS)[keyof typeof KINDS];
  /** The keycode or the number of the button. */
  readonly detail: number;
  readonly x: number;
  readonly y: number;
}

/**
 * Listens until it is stopped.
 *
 * @param take is called with each stroke, in order.
 * @param lost is called when the server has gone.
 * @returns the connection beside the one that listens; `stop`, which resolves when all strokes until then have been taken;
 * and `close`.
 * @throws an `unavailable` failure without a display, or where it has no RECORD extension.
 */
export async function listen(take: (stroke: Stroke) => void, lost: () => void) {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const gone = () => {
    end();
    lost();
  };
  const control = await connect(process.env, gone);
  // The one that listens can do nothing else.
  const data = await connect(process.env, gone);
  const close = () => {
    control.close();
    data.close();
  };
  try {
    const [asks, listens] = await Promise.all([recordOf(control.client), recordOf(data.client)]);
    const context = control.client.AllocID();
    asks.CreateContext(
      context,
      0,
      [asks.CS.AllClients],
      [{ deviceEvents: { first: KEY_PRESS, last: BUTTON_RELEASE } }],
    );
    await control.settled();
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    listens.EnableContext(
      context,
      ({ category, data: bytes }) => {
        if (category === listens.Category.StartOfData) resolve();
        if (category !== listens.Category.FromServer) return;
        for (let at = 0; at + EVENT_BYTES <= bytes.length; at += EVENT_BYTES) {
          const stroke = strokeIn(bytes.subarray(at, at + EVENT_BYTES));
          if (stroke) take(stroke);
        }
      },
      () => {
        end();
        return true;
      },
    );
    await begun;
    const stop = () => {
      asks.DisableContext(context);
      return ended;
    };
    return { control, stop, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Undefined for what is no stroke. The upper bit says that another program sent it. */
function strokeIn(event: Buffer): Stroke | undefined {
  const kind = KINDS[(event.readUInt8(0) & 0x7f) as keyof typeof KINDS];
  return (
    kind && {
      kind,
      detail: event.readUInt8(1),
      x: event.readInt16LE(20),
      y: event.readInt16LE(22),
    }
  );
}

function recordOf(client: XClient): Promise<XRecord> {
  const { promise, resolve, reject } = Promise.withResolvers<XRecord>();
  client.require("record", (error, extension) => {
    if (error)
      reject(
        unavailable("the X server has no RECORD extension, which reports what keys and buttons are used"),
      );
    else resolve(extension);
  });
  return promise;
}
