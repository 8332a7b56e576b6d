/** What is done with elements by the interfaces of AT-SPI2: the focus, and what they hold, here; the rest in modules of their own. */
import { unavailable, untouched } from "../../../lib/errors";
import { FACES } from "./accessible";
import type { Content } from "./calls";
import { expand, type Reach, select, tableOf } from "./child-actions";
import type { Deeds } from "./deeds";
import { press } from "./press";
import { orLacking, type Ref, requireThere } from "./ref";
import { PASSWORD } from "./roles";
import { scrollTo } from "./scrolling";
import { setText } from "./set-text";
import { cellOf, readTable } from "./tables";
import { MAX_TEXT, numberOf, readText } from "./texts";

export function deedsOf(reach: Reach): Deeds {
  const { bus, ask } = reach;
  return {
    press: (ref) => press(bus, ask, ref),
    focus: (ref) => focus(reach, ref),
    setText: (ref, text) => setText(reach, ref, text),
    read: (ref) => read(reach, ref),
    select: (ref, item) => select(reach, ref, item),
    expand: (ref, open) => expand(reach, ref, open),
    scrollTo: (ref) => scrollTo(reach, ref),
    table: async (ref, first, most) => readTable(ask, await tableOf(reach, ref), first, most),
    cell: async (ref, row, column) => cellOf(ask, await tableOf(reach, ref), row, column),
  };
}

async function focus({ bus, ask }: Reach, ref: Ref): Promise<void> {
  const answer = await bus.change(ref, FACES.component, "GrabFocus").catch(orLacking);
  if (answer?.[0] === true) return;
  await requireThere(ask, ref);
  throw answer
    ? unavailable("the program did not focus it")
    : untouched("by its program it cannot be focused");
}

/** What it holds; nothing of what is secret. */
async function read({ bus, ask }: Reach, ref: Ref): Promise<Content> {
  if ((await ask.role(ref)) === PASSWORD) return { text: null, number: null };
  const [text, number] = await Promise.all([readText(bus, ref, MAX_TEXT), numberOf(bus, ref)]);
  const isName = text === null && number === null;
  return { text: isName ? (await ask.rawName(ref)).slice(0, MAX_TEXT) : (text ?? null), number };
}
