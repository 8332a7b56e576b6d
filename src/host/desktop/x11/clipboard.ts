/**
 * The clipboard of an X server, as text: the selection CLIPBOARD (ICCCM 2.0, section 2).
 *
 * The server keeps no text: whoever owns the selection hands it to each program that asks. So what is set here lasts as long
 * as this connection, which is one of its own: a program that goes away in the middle is an error of no other call.
 */
import { notFound, tooLarge } from "../../../lib/errors";
import type { Backend } from "../backend";
import { ANY_TYPE, NONE, openSelection, PIECE, type Selection } from "./selection";
import { SelectionOffer } from "./selection-offer";

/** How much is read, in bytes. */
const MAX_TEXT = 4 * 1_024 * 1_024;

/** The clipboard; its connection is opened by the first call. */
interface XClipboard extends Pick<Backend, "clipboard" | "setClipboard"> {
  close(): void;
}

/** @param owns gets whether this process hands the text to others from now on. */
export function createClipboard(owns: (owned: boolean) => void): XClipboard {
  let opened: Promise<{ readonly selection: Selection; readonly offer: SelectionOffer }> | undefined;
  const open = async (lost: () => void) => {
    const selection = await openSelection(lost);
    return { selection, offer: new SelectionOffer(selection, owns) };
  };
  const use = () => {
    const forget = () => {
      if (opened !== opening) return;
      opened = undefined;
      owns(false);
    };
    const opening = opened ?? open(forget);
    opening.catch(forget);
    opened = opening;
    return opening;
  };
  return {
    async clipboard() {
      const { selection, offer } = await use();
      return offer.text?.toString("utf8") ?? readText(selection);
    },
    setClipboard: async (text) => (await use()).offer.offer(text),
    close: () => void opened?.then(({ selection }) => selection.connection.close()).catch(() => {}),
  };
}

/** The text of another program; empty where nobody owns the selection. @throws `not_found` where it is no text. */
async function readText(selection: Selection): Promise<string> {
  const { connection, atoms } = selection;
  if ((await connection.need.GetSelectionOwner(atoms.clipboard)) === NONE) return "";
  const time = await selection.now();
  for (const form of await formsOf(selection, time)) {
    const found = await convert(selection, form, time);
    if (found) return found.bytes.toString(found.type === atoms.latin1 ? "latin1" : "utf8");
  }
  throw notFound("the clipboard holds no text");
}

/** The forms of text that the owner has, the best first; all where it does not say. */
async function formsOf(selection: Selection, time: number): Promise<number[]> {
  const { targets, atom, utf8, mime, latin1 } = selection.atoms;
  const forms = [utf8, mime, latin1];
  const said = await convert(selection, targets, time);
  if (said?.type !== atom) return forms;
  const { bytes } = said;
  const has = Array.from({ length: bytes.length / 4 }, (_, nth) => bytes.readUInt32LE(nth * 4));
  return forms.filter((form) => has.includes(form));
}

/** The clipboard in the form `target`, and the type that its owner gave it; undefined where its owner has none. */
async function convert(selection: Selection, target: number, time: number) {
  const { connection, atoms, own } = selection;
  const { client } = connection;
  const isAnswer = (event: { name: string; selection: number; target: number }) =>
    event.name === "SelectionNotify" && event.selection === atoms.clipboard && event.target === target;
  const answer = await selection.next(isAnswer, () =>
    client.ConvertSelection(own, atoms.clipboard, target, atoms.property, time),
  );
  if (answer.property === NONE) return undefined;
  let { type, pieces } = await received(selection);
  if (type === atoms.incr) {
    pieces = [];
    for (let before = -1; before < pieces.length; ) {
      before = pieces.length;
      await selection.nextValue(() => client.DeleteProperty(own, atoms.property));
      const more = await received(selection, pieces);
      type = more.type;
      pieces = more.pieces.filter((piece) => piece.length > 0);
    }
  }
  client.DeleteProperty(own, atoms.property);
  return { type, bytes: Buffer.concat(pieces) };
}

/** What another program has put on the own window, after the pieces from before. */
async function received({ connection, atoms, own }: Selection, before: readonly Buffer[] = []) {
  const pieces = [...before];
  for (let at = 0; ; ) {
    const found = await connection.need.GetProperty(0, own, atoms.property, ANY_TYPE, at / 4, PIECE / 4);
    pieces.push(Buffer.from(found.data));
    at += found.data.length;
    if (pieces.reduce((sum, piece) => sum + piece.length, 0) > MAX_TEXT) {
      throw tooLarge(`the clipboard holds more than ${MAX_TEXT} bytes`);
    }
    if (found.bytesAfter === 0 || found.data.length === 0) return { type: found.type, pieces };
  }
}
