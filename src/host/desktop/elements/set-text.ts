/**
 * Putting a text, or a number, in place of what an element holds, by its program; and whether it may be typed where that has done nothing.
 *
 * Promise: only a field of text may be typed into, whose program has nothing that puts a text there, or which holds what it held before.
 * What a program changed as it took it, such as a text that was cut, is not typed again.
 */
import { type Failure, rejected } from "../../../lib/errors";
import { type Accessibles, FACES, MAX_CHILDREN } from "./accessible";
import { type Bus, rootOf } from "./bus";
import { comes, isField, notTaken, otherText, SAYS_TAKEN, SHOWS_MS } from "./deeds";
import { folded } from "./names";
import { orLacking, orNone, type Ref, requireThere } from "./ref";
import { PASSWORD } from "./roles";
import { heldBy, MAX_TEXT, numberOf, readText } from "./texts";

const SPIN = 52;
const CELL = 56;

/** What is asked of a program. */
interface Reach {
  readonly bus: Bus;
  readonly ask: Accessibles;
}

/**
 * Puts `text` in place of what an element holds.
 *
 * @throws {@link untouched} for a field of text whose program has done nothing: it may be typed; `unavailable` for anything else that takes
 * none, or where the field holds another text then; `rejected` where it holds a number; `not_found` where it has gone.
 */
export async function setText(reach: Reach, ref: Ref, text: string): Promise<void> {
  const { bus, ask } = reach;
  const role = await ask.role(ref);
  const isNumber = role === CELL ? await takesNumber(bus, ref, text) : await holdsNumber(bus, ref);
  if (role === SPIN || isNumber) return setNumber(reach, ref, text);
  const isSecret = role === PASSWORD;
  const held = heldIn(bus, ref, isSecret);
  const before = await held();
  const answer = await bus.change(ref, FACES.editable, "SetTextContents", "s", [text]).catch(orLacking);
  if (!answer) {
    await requireThere(ask, ref);
    throw await refusal(reach, ref, "by its program it takes no text");
  }
  const wanted = isSecret ? [...text].length : text;
  let now: unknown;
  const isThere = async () => {
    now = await held();
    return now === wanted;
  };
  // Some answer that they did, and did not; a browser shows it a little later.
  const isDone = answer[0] === true ? await comes(isThere, SHOWS_MS) : (await isThere()) && !isSecret;
  if (isDone) return;
  if (now === undefined || now !== before)
    throw otherText(isSecret ? undefined : await readText(bus, ref, MAX_TEXT), text);
  throw await refusal(reach, ref, answer[0] === true ? SAYS_TAKEN : "the program did not take the text");
}

/** What a field holds: its text; of a secret how many characters, as GTK says dots, and Qt nothing. Undefined where nobody knows. */
const heldIn = (bus: Bus, ref: Ref, isSecret: boolean) => async (): Promise<string | number | undefined> => {
  if (!isSecret) return (await heldBy(bus, ref, MAX_TEXT)).text ?? undefined;
  const count = await bus.get(ref, FACES.text, "CharacterCount").catch(orNone);
  return typeof count === "number" ? count : undefined;
};

/** Why a text is not put in place: it may be typed into a field of text, or a cell of a sheet, and into nothing else. */
async function refusal({ ask }: Reach, ref: Ref, why: string): Promise<Failure> {
  const isCell = (await ask.role(ref)) === CELL;
  return notTaken(why, await (isCell ? isOfSheet(ask, ref) : isField(ask, ref)));
}

/** Whether a cell is of LibreOffice Calc, and not of a table of Writer: a sheet has more cells than any list. */
async function isOfSheet(ask: Accessibles, cell: Ref): Promise<boolean> {
  const table = await ask.parent(cell);
  if (!table || (await ask.childCount(table)) <= MAX_CHILDREN) return false;
  return folded(await ask.name(rootOf(cell.bus))) === "soffice";
}

const holdsNumber = async (bus: Bus, ref: Ref) =>
  (await numberOf(bus, ref)) !== null && (await readText(bus, ref, MAX_TEXT)) === null;

/** A cell of a sheet has a text and a number: it takes the latter. */
const takesNumber = async (bus: Bus, ref: Ref, text: string) =>
  text.trim() !== "" && Number.isFinite(Number(text)) && (await numberOf(bus, ref)) !== null;

async function setNumber(reach: Reach, ref: Ref, text: string): Promise<void> {
  const { bus, ask } = reach;
  const wanted = Number(text);
  if (text.trim() === "" || !Number.isFinite(wanted))
    throw rejected("it holds a number, and the text is none");
  const isSet = await bus.set(ref, FACES.value, "CurrentValue", "d", wanted).then(() => true, orLacking);
  if (!isSet) {
    await requireThere(ask, ref);
    throw await refusal(reach, ref, "by its program it takes no number");
  }
  const now = await numberOf(bus, ref);
  if (now === null || Math.abs(now - wanted) > 1e-6) throw rejected("the program holds another number then");
}
