/**
 * The selection CLIPBOARD of an X server (ICCCM 2.0, section 2), over a connection and with a window of its own.
 */
import type { XEvent } from "x11";
import { deadline } from "../../../lib/deadline";
import { timedOut } from "../../../lib/errors";
import { connect, type XConnection } from "./connection";

/** PropertyChangeMask; a state of a PropertyNotify; InputOnly; a mode of ChangeProperty (X11/X.h). */
export const PROPERTY_CHANGE = 1 << 22;
const NEW_VALUE = 0;
const INPUT_ONLY = 2;
const APPEND = 2;
/** No atom and no window; as a type, any (X11/X.h). */
export const [NONE, ANY_TYPE] = [0, 0];

/** What fits into one request of any server; longer texts go in pieces of it (ICCCM 2.7.2, INCR). */
export const PIECE = 64 * 1_024;

/** How long the other program may take for each piece, in milliseconds: the call has ten seconds. */
export const PATIENCE_MS = 4_000;

/** The atoms that the clipboard needs, by what they are for. */
type SelectionAtoms = Readonly<
  Record<
    | ("clipboard" | "property" | "incr" | "targets" | "multiple" | "timestamp")
    | ("utf8" | "mime" | "latin1" | "atom" | "integer"),
    number
  >
>;

/** The selection. */
export interface Selection {
  readonly connection: XConnection;
  readonly atoms: SelectionAtoms;
  /** The own window, on whose property other programs put their texts. */
  readonly own: number;
  /** The next event that is `wanted`; `ask` requests it. @throws `timeout` where none comes in time. */
  next(wanted: (event: XEvent) => boolean, ask: () => void): Promise<XEvent>;
  /** The event of the next value of the own property; `ask` requests it. @throws `timeout` where none comes in time. */
  nextValue(ask: () => void): Promise<XEvent>;
  /** The server's time: a selection is taken, and its owner known, by it (ICCCM 2.1). */
  now(): Promise<number>;
}

/** @param lost called when the server goes away. @throws as `connect`. */
export async function openSelection(lost: () => void): Promise<Selection> {
  const connection = await connect(process.env, lost);
  const { client, screen } = connection;
  const atoms = await readAtoms(connection);
  const own = client.AllocID();
  client.CreateWindow(own, screen.root, 0, 0, 1, 1, 0, 0, INPUT_ONLY, 0, { eventMask: PROPERTY_CHANGE });
  const waiting = new Set<(event: XEvent) => void>();
  client.on("event", (event) => {
    for (const look of [...waiting]) look(event);
  });

  const next: Selection["next"] = async (wanted, ask) => {
    const { promise, resolve } = Promise.withResolvers<XEvent>();
    const look = (event: XEvent) => wanted(event) && resolve(event);
    waiting.add(look);
    const late = () =>
      timedOut(`the program that has the clipboard did not answer within ${PATIENCE_MS / 1_000} s`);
    try {
      ask();
      return await deadline(promise, { ms: PATIENCE_MS, late });
    } finally {
      waiting.delete(look);
    }
  };
  const isNewValue = ({ name, wid, atom, state }: XEvent) =>
    name === "PropertyNotify" && wid === own && atom === atoms.property && state === NEW_VALUE;
  const nextValue: Selection["nextValue"] = (ask) => next(isNewValue, ask);
  return {
    connection,
    atoms,
    own,
    next,
    nextValue,
    async now() {
      const append = () =>
        client.ChangeProperty(APPEND, own, atoms.property, atoms.latin1, 8, Buffer.alloc(0));
      return (await nextValue(append)).time;
    },
  };
}

async function readAtoms({ need }: XConnection): Promise<SelectionAtoms> {
  const atom = (name: string) => need.InternAtom(false, name);
  return {
    clipboard: await atom("CLIPBOARD"),
    targets: await atom("TARGETS"),
    multiple: await atom("MULTIPLE"),
    timestamp: await atom("TIMESTAMP"),
    utf8: await atom("UTF8_STRING"),
    mime: await atom("text/plain;charset=utf-8"),
    latin1: await atom("STRING"),
    atom: await atom("ATOM"),
    integer: await atom("INTEGER"),
    incr: await atom("INCR"),
    property: await atom("SVC_CLIPBOARD"),
  };
}
