/** Items of lists, menus, tables, trees and tabs, found by their names. */
import { notFound } from "../../../lib/errors";
import { nearest } from "../../../lib/nearest";
import { jsonLine } from "../../../lib/sanitize";
import { isNamed } from "./names";
import type { Ref } from "./ref";
import type { Client } from "./tree";

/** What asks for items. */
export interface ItemSearch extends Pick<Client, "ask"> {
  readonly look: Pick<Client["look"], "below">;
}

/** The numbers of items: of lists, menus, tables, trees and tabs. */
export const ITEMS: readonly number[] = [8, 32, 35, 37, 44, 45, 56, 90, 91];
const LABEL = 29;
/** How many items are compared with the one that is wanted. */
const MAX_ITEMS = 2_000;

/** The name of an item, or of what is in it. */
export async function wordsOf({ ask, look }: ItemSearch, ref: Ref): Promise<string> {
  const name = await ask.name(ref);
  if (name !== "") return name;
  const inside = await Promise.all((await look.below(ref, undefined, 20)).map((one) => ask.name(one)));
  return inside.filter((word, nth) => word !== "" && word !== inside[nth - 1]).join(" ");
}

/** The item of that name in an element. @throws `not_found` with the nearest name. */
export async function itemOf(asking: ItemSearch, ref: Ref, item: string): Promise<Ref> {
  const items = await asking.look.below(ref, ITEMS, MAX_ITEMS);
  // The items of a list of Java are labels.
  const refs = items.length > 0 ? items : await asking.look.below(ref, [LABEL], MAX_ITEMS);
  const names = await Promise.all(refs.map((one) => wordsOf(asking, one)));
  const at = names.findIndex((name) => isNamed(name, { name: item }));
  const found = refs[at];
  if (found) return found;
  const close = nearest(item, new Set(names.filter((name) => name !== "")));
  throw notFound(
    `there is no item ${jsonLine(item)}${close === undefined ? "" : `; there is ${jsonLine(close)}`}`,
  );
}
