/**
 * The clipboard between the host and one viewer, as text, while the viewer controls: a look is no right to read it.
 */
import type { Backend } from "../../backend";
import { capabilities, notify, plainText, provide, request, understand } from "./clipboard-messages";

/** The longest text that a viewer is sent, in characters. */
const MAX_TEXT = 1_024 * 1_024;

/** Sends a message, which has another form for viewers that know the extended ones. */
type Send = (form: (isExtended: boolean) => Buffer) => void;

/** The clipboard of one viewer. */
export interface ViewerClipboard {
  onMessage(call: Send): void;
  /** What the host has may be another text. */
  changed(): void;
  /** Says that the extended messages are known here, too. */
  offer(): void;
  /** The viewer has this text. */
  given(text: string): void;
  /** The viewer sent an extended message. */
  take(flags: number, data: Uint8Array): void;
  control(on: boolean): void;
  end(): void;
}

/** @param isControlled whether from the start. */
export function createViewerClipboard(
  host: Pick<Backend, "clipboard" | "setClipboard">,
  isControlled: boolean,
): ViewerClipboard {
  let hasControl = isControlled;
  /** The text that both sides have, as far as is known: neither is sent its own text back. */
  let common: string | undefined;
  /** The message that provides it, once the viewer has asked for it: it may ask again and again, and a long text takes some time. */
  let provided: { readonly text: string; readonly message: Buffer } | undefined;
  let isReading = false;
  let changedMeanwhile = false;
  /** The text that the host gets next, and whether it is being given one. */
  let waiting: string | undefined;
  let isGiving = false;
  let send: Send = () => {};

  const changed = async () => {
    if (!hasControl) return;
    changedMeanwhile = isReading;
    if (isReading) return;
    isReading = true;
    const text = await host.clipboard().catch(() => undefined);
    isReading = false;
    if (changedMeanwhile) return changed();
    if (!hasControl || !text || text === common || text.length > MAX_TEXT) return;
    common = text;
    send((isExtended) => (isExtended ? notify(true) : plainText(text)));
  };
  /** Gives the host the newest text; those that came while it took one are left out. */
  const give = async () => {
    isGiving = true;
    for (let text = waiting; text !== undefined; text = waiting) {
      waiting = undefined;
      await host.setClipboard(text).catch(() => {});
    }
    isGiving = false;
  };
  const given = (text: string) => {
    if (!hasControl || text === common) return;
    common = text;
    waiting = text;
    if (!isGiving) void give();
  };

  return {
    onMessage(call) {
      send = call;
    },
    changed: () => void changed(),
    offer() {
      send(capabilities);
      void changed();
    },
    given,
    take(flags, data) {
      if (!hasControl) return;
      const said = understand(flags, data);
      if (said.kind === "notify") send(request);
      if (said.kind === "provide") given(said.text);
      if (said.kind === "peek") send(() => notify(common !== undefined));
      if (said.kind === "request" && common !== undefined) {
        if (provided?.text !== common) provided = { text: common, message: provide(common) };
        const { message } = provided;
        send(() => message);
      }
    },
    control(on) {
      hasControl = on;
      if (on) void changed();
      else waiting = provided = undefined;
    },
    end() {
      hasControl = false;
      waiting = provided = undefined;
      send = () => {};
    },
  };
}
