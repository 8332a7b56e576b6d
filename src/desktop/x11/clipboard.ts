/**
 * The clipboard of an X server, as text: the selection CLIPBOARD (ICCCM 2.0, section 2).
 *
 * The server keeps no text: whoever owns the selection hands it to each program that asks. So what is set here lasts as long
 * as this connection, which is one of its own: a program that goes away in the middle is an error of no other call.
 */
import type { XEvent } from "x11";
import { deadline } from "../../lib/deadline";
import { notFound, timedOut, tooLarge, unavailable } from "../../lib/errors";
import type { Backend } from "../backend";
import { connect } from "./connection";

const [ANY_TYPE, NONE] = [0, 0];
/** PropertyChangeMask; the states of a PropertyNotify; InputOnly; the modes of ChangeProperty (X11/X.h). */
const PROPERTY_CHANGE = 1 << 22;
const [NEW_VALUE, DELETED] = [0, 1];
const INPUT_ONLY = 2;
const [REPLACE, APPEND] = [0, 2];

/** What fits into one request of any server; longer texts go in pieces of it (ICCCM 2.7.2, INCR). */
const PIECE = 64 * 1_024;
/** How much is read, in bytes. */
const MAX_TEXT = 4 * 1_024 * 1_024;
/** How long the other program may take for each piece, in milliseconds: the call has ten seconds. */
const PATIENCE_MS = 4_000;
/** How many programs may fetch a long text at once. */
const MAX_TRANSFERS = 64;
/** How many targets one request may ask for. */
const MAX_TARGETS = 64;

type Clipboard = Pick<Backend, "clipboard" | "setClipboard">;

/** @param owns gets whether this process hands the text to others from now on. */
export function createClipboard(owns: (owned: boolean) => void): Clipboard & { readonly close: () => void } {
  let opened: Promise<Awaited<ReturnType<typeof open>>> | undefined;
  const use = () => {
    const forget = () => {
      if (opened !== opening) return;
      opened = undefined;
      owns(false);
    };
    const opening = opened ?? open(forget, owns);
    opening.catch(forget);
    opened = opening;
    return opening;
  };
  return {
    clipboard: async () => (await use()).read(),
    setClipboard: async (text) => (await use()).write(text),
    close: () => void opened?.then(({ close }) => close()).catch(() => {}),
  };
}

async function open(lost: () => void, owns: (owned: boolean) => void) {
  const connection = await connect(process.env, lost);
  const { client, screen, need } = connection;
  const atom = (name: string) => need.InternAtom(false, name);
  const clipboard = await atom("CLIPBOARD");
  const [targets, multiple, timestamp] = [
    await atom("TARGETS"),
    await atom("MULTIPLE"),
    await atom("TIMESTAMP"),
  ];
  const [utf8, mime] = [await atom("UTF8_STRING"), await atom("text/plain;charset=utf-8")];
  const [latin1, atomType, integer] = [await atom("STRING"), await atom("ATOM"), await atom("INTEGER")];
  const [incr, property] = [await atom("INCR"), await atom("SVC_CLIPBOARD")];
  const asUtf8 = new Set([utf8, mime]);

  const own = client.AllocID();
  client.CreateWindow(own, screen.root, 0, 0, 1, 1, 0, 0, INPUT_ONLY, 0, { eventMask: PROPERTY_CHANGE });

  let text: { readonly bytes: Buffer; readonly time: number } | undefined;
  const waiting = new Set<(event: XEvent) => void>();
  /** The rest of texts that go in pieces, by window and property. */
  const transfers = new Map<string, () => void>();

  /** The next event that is `wanted`; request it in `ask`. */
  const next = async (wanted: (event: XEvent) => boolean, ask: () => void) => {
    const { promise, resolve } = Promise.withResolvers<XEvent>();
    const look = (event: XEvent) => wanted(event) && resolve(event);
    waiting.add(look);
    const late = () => {
      throw timedOut(`the program that has the clipboard did not answer within ${PATIENCE_MS / 1_000} s`);
    };
    try {
      ask();
      return await deadline(promise, { ms: PATIENCE_MS, late });
    } finally {
      waiting.delete(look);
    }
  };
  const isOwnProperty = (event: XEvent, state: number) =>
    event.name === "PropertyNotify" && event.wid === own && event.atom === property && event.state === state;

  /** The server's time: a selection is taken, and its owner known, by it (ICCCM 2.1). */
  const now = async () => {
    const append = () => client.ChangeProperty(APPEND, own, property, latin1, 8, Buffer.alloc(0));
    return (await next((event) => isOwnProperty(event, NEW_VALUE), append)).time;
  };

  /** What another program has put on the own window. */
  const received = async (before: readonly Buffer[] = []) => {
    const pieces = [...before];
    for (let at = 0; ; ) {
      const found = await need.GetProperty(0, own, property, ANY_TYPE, at / 4, PIECE / 4);
      pieces.push(Buffer.from(found.data));
      at += found.data.length;
      if (pieces.reduce((sum, piece) => sum + piece.length, 0) > MAX_TEXT) {
        throw tooLarge(`the clipboard holds more than ${MAX_TEXT} bytes`);
      }
      if (found.bytesAfter === 0 || found.data.length === 0) return { type: found.type, pieces };
    }
  };

  /** The clipboard in the form `target`, and the type that its owner gave it; undefined where its owner has none. */
  const convert = async (target: number, time: number) => {
    const isAnswer = (event: XEvent) =>
      event.name === "SelectionNotify" && event.selection === clipboard && event.target === target;
    const answer = await next(isAnswer, () =>
      client.ConvertSelection(own, clipboard, target, property, time),
    );
    if (answer.property === NONE) return undefined;
    let { type, pieces } = await received();
    if (type === incr) {
      pieces = [];
      for (let before = -1; before < pieces.length; ) {
        before = pieces.length;
        await next(
          (event) => isOwnProperty(event, NEW_VALUE),
          () => client.DeleteProperty(own, property),
        );
        const more = await received(pieces);
        type = more.type;
        pieces = more.pieces.filter((piece) => piece.length > 0);
      }
    }
    client.DeleteProperty(own, property);
    return { type, bytes: Buffer.concat(pieces) };
  };

  /** The forms of text that the owner has, the best first; all where it does not say. */
  const formsOf = async (time: number) => {
    const forms = [utf8, mime, latin1];
    const said = await convert(targets, time);
    if (said?.type !== atomType) return forms;
    const { bytes } = said;
    const has = Array.from({ length: bytes.length / 4 }, (_, nth) => bytes.readUInt32LE(nth * 4));
    return forms.filter((form) => has.includes(form));
  };

  /** Puts the text in the form `target` on the window of a program. @returns whether there is that form. */
  const put = (requestor: number, target: number, at: number): boolean => {
    if (!text) return false;
    if (target === targets) {
      const forms = [targets, multiple, timestamp, ...asUtf8, latin1];
      client.ChangeProperty(REPLACE, requestor, at, atomType, 32, forms);
      return true;
    }
    if (target === timestamp) {
      client.ChangeProperty(REPLACE, requestor, at, integer, 32, [text.time]);
      return true;
    }
    if (!asUtf8.has(target) && target !== latin1) return false;
    const bytes = target === latin1 ? toLatin1(text.bytes) : text.bytes;
    if (bytes.length <= PIECE) {
      client.ChangeProperty(REPLACE, requestor, at, target, 8, bytes);
      return true;
    }
    return putInPieces(requestor, target, at, bytes);
  };

  const putInPieces = (requestor: number, target: number, at: number, bytes: Buffer): boolean => {
    const key = `${requestor} ${at}`;
    if (transfers.size >= MAX_TRANSFERS) return false;
    let sent = 0;
    let timer: Timer | undefined;
    const end = () => {
      clearTimeout(timer);
      if (transfers.get(key) === goOn) transfers.delete(key);
    };
    // Each time the other program has taken a piece, it deletes the property; an empty piece is the end.
    const goOn = () => {
      const piece = bytes.subarray(sent, sent + PIECE);
      sent += piece.length;
      client.ChangeProperty(REPLACE, requestor, at, target, 8, piece);
      end();
      if (piece.length > 0) goOnWithin();
    };
    const goOnWithin = () => {
      transfers.set(key, goOn);
      timer = setTimeout(end, PATIENCE_MS);
    };
    client.ChangeWindowAttributes(requestor, { eventMask: PROPERTY_CHANGE });
    client.ChangeProperty(REPLACE, requestor, at, incr, 32, [bytes.length]);
    goOnWithin();
    return true;
  };

  /** Several forms at once: pairs of target and property, of which those that there are not become None (ICCCM 2.6.2). */
  const putMultiple = async (requestor: number, at: number): Promise<boolean> => {
    const { data, format } = await need.GetProperty(0, requestor, at, ANY_TYPE, 0, MAX_TARGETS * 2);
    if (format !== 32) return false;
    const atoms = Array.from({ length: data.length / 4 }, (_, nth) => data.readUInt32LE(nth * 4));
    for (let nth = 0; nth + 1 < atoms.length; nth += 2) {
      const [target = NONE, property = NONE] = [atoms[nth], atoms[nth + 1]];
      if (!put(requestor, target, property)) atoms[nth + 1] = NONE;
    }
    client.ChangeProperty(REPLACE, requestor, at, atomType, 32, atoms);
    return true;
  };

  const serve = async ({ requestor, selection, target, property, time }: XEvent) => {
    // Programs of before 1989 name no property (ICCCM 2.2).
    const at = property === NONE ? target : property;
    const isDone =
      selection === clipboard &&
      (target === multiple ? await putMultiple(requestor, at) : put(requestor, target, at));
    const notify = { name: "SelectionNotify", time, requestor, selection, target } as const;
    client.SendEvent(requestor, 0, 0, { ...notify, property: isDone ? at : NONE });
  };

  client.on("event", (event) => {
    for (const look of [...waiting]) look(event);
    if (event.name === "SelectionRequest") serve(event).catch(() => {});
    if (event.name === "PropertyNotify" && event.state === DELETED) {
      transfers.get(`${event.wid} ${event.atom}`)?.();
    }
    if (event.name === "SelectionClear" && event.selection === clipboard) {
      text = undefined;
      owns(false);
    }
  });

  return {
    async read(): Promise<string> {
      if (text) return text.bytes.toString("utf8");
      if ((await need.GetSelectionOwner(clipboard)) === NONE) return "";
      const time = await now();
      for (const form of await formsOf(time)) {
        const found = await convert(form, time);
        if (found) return found.bytes.toString(found.type === latin1 ? "latin1" : "utf8");
      }
      throw notFound("the clipboard holds no text");
    },
    async write(given: string): Promise<void> {
      const time = await now();
      client.SetSelectionOwner(own, clipboard, time);
      if ((await need.GetSelectionOwner(clipboard)) !== own) {
        throw unavailable("another program took the clipboard at the same moment");
      }
      text = { bytes: Buffer.from(given), time };
      owns(true);
    },
    close: connection.close,
  };
}

const toLatin1 = (bytes: Buffer) =>
  Buffer.from(bytes.toString("utf8").replaceAll(/[^\u0000-\u00ff]/gu, "?"), "latin1");
