/**
 * The text that this process offers as the clipboard of an X server, and hands to each program that asks (ICCCM 2.0, section 2).
 */
import type { XEvent } from "x11";
import { unavailable } from "../../../lib/errors";
import { ANY_TYPE, NONE, PATIENCE_MS, PIECE, PROPERTY_CHANGE, type Selection } from "./selection";

/** A state of a PropertyNotify; a mode of ChangeProperty (X11/X.h). */
const DELETED = 1;
const REPLACE = 0;

/** How many programs may fetch a long text at once. */
const MAX_TRANSFERS = 64;
/** How many targets one request may ask for. */
const MAX_TARGETS = 64;

/** The text, while this process owns the selection. */
export class SelectionOffer {
  #text: { readonly bytes: Buffer; readonly time: number } | undefined;
  /** The rest of texts that go in pieces, by window and property. */
  readonly #transfers = new Map<string, () => void>();

  /** @param owns gets whether this process hands the text to others from now on. */
  constructor(
    private readonly selection: Selection,
    private readonly owns: (owned: boolean) => void,
  ) {
    selection.connection.client.on("event", (event) => this.#take(event));
  }

  /** The text, in UTF-8; undefined while another program owns the selection. */
  get text(): Buffer | undefined {
    return this.#text?.bytes;
  }

  /** Takes the selection. @throws `unavailable` when another program takes it at the same moment. */
  async offer(text: string): Promise<void> {
    const { connection, atoms, own } = this.selection;
    const time = await this.selection.now();
    connection.client.SetSelectionOwner(own, atoms.clipboard, time);
    if ((await connection.need.GetSelectionOwner(atoms.clipboard)) !== own) {
      throw unavailable("another program took the clipboard at the same moment");
    }
    this.#text = { bytes: Buffer.from(text), time };
    this.owns(true);
  }

  #take(event: XEvent): void {
    if (event.name === "SelectionRequest") this.#serve(event).catch(() => {});
    if (event.name === "PropertyNotify" && event.state === DELETED) {
      this.#transfers.get(`${event.wid} ${event.atom}`)?.();
    }
    if (event.name === "SelectionClear" && event.selection === this.selection.atoms.clipboard) {
      this.#text = undefined;
      this.owns(false);
    }
  }

  async #serve({ requestor, selection, target, property, time }: XEvent): Promise<void> {
    const { atoms, connection } = this.selection;
    // Programs of before 1989 name no property (ICCCM 2.2).
    const at = property === NONE ? target : property;
    const isDone =
      selection === atoms.clipboard &&
      (target === atoms.multiple ? await this.#putMultiple(requestor, at) : this.#put(requestor, target, at));
    const notify = { name: "SelectionNotify", time, requestor, selection, target } as const;
    connection.client.SendEvent(requestor, 0, 0, { ...notify, property: isDone ? at : NONE });
  }

  /** Puts the text in the form `target` on the window of a program. @returns whether there is that form. */
  #put(requestor: number, target: number, at: number): boolean {
    const { client } = this.selection.connection;
    const { targets, multiple, timestamp, utf8, mime, latin1, atom, integer } = this.selection.atoms;
    if (!this.#text) return false;
    if (target === targets) {
      const forms = [targets, multiple, timestamp, utf8, mime, latin1];
      client.ChangeProperty(REPLACE, requestor, at, atom, 32, forms);
      return true;
    }
    if (target === timestamp) {
      client.ChangeProperty(REPLACE, requestor, at, integer, 32, [this.#text.time]);
      return true;
    }
    if (target !== utf8 && target !== mime && target !== latin1) return false;
    const bytes = target === latin1 ? toLatin1(this.#text.bytes) : this.#text.bytes;
    if (bytes.length <= PIECE) {
      client.ChangeProperty(REPLACE, requestor, at, target, 8, bytes);
      return true;
    }
    return this.#putInPieces(requestor, target, at, bytes);
  }

  #putInPieces(requestor: number, target: number, at: number, bytes: Buffer): boolean {
    const { client } = this.selection.connection;
    const transfers = this.#transfers;
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
    client.ChangeProperty(REPLACE, requestor, at, this.selection.atoms.incr, 32, [bytes.length]);
    goOnWithin();
    return true;
  }

  /** Several forms at once: pairs of target and property, of which those that there are not become None (ICCCM 2.6.2). */
  async #putMultiple(requestor: number, at: number): Promise<boolean> {
    const { client, need } = this.selection.connection;
    const { data, format } = await need.GetProperty(0, requestor, at, ANY_TYPE, 0, MAX_TARGETS * 2);
    if (format !== 32) return false;
    const atoms = Array.from({ length: data.length / 4 }, (_, nth) => data.readUInt32LE(nth * 4));
    for (let nth = 0; nth + 1 < atoms.length; nth += 2) {
      const [target = NONE, property = NONE] = [atoms[nth], atoms[nth + 1]];
      if (!this.#put(requestor, target, property)) atoms[nth + 1] = NONE;
    }
    client.ChangeProperty(REPLACE, requestor, at, this.selection.atoms.atom, 32, atoms);
    return true;
  }
}

const toLatin1 = (bytes: Buffer) =>
  Buffer.from(bytes.toString("utf8").replaceAll(/[^\u0000-\u00ff]/gu, "?"), "latin1");
