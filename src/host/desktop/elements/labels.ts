/**
 * The label that names a field: the one that its program says, else the one beside it.
 */
import type { Questions } from "./accessible";
import { besideOf, LABELLED, labelText } from "./names";
import type { ElementNode, Search } from "./search";

/** A combo box: most toolkits name it by what is chosen in it. */
export const COMBO_BOX = 11;
/** How many items of a combo box are compared with its name. */
const MAX_ITEMS = 200;

/** Whether a label may name it: a field without a name, or one that has the name of what it holds. */
export const mayBeLabelled = ({ role, name }: ElementNode): boolean =>
  LABELLED.has(role) && (name === "" || role === COMBO_BOX);

/** The name that a label gives to a field; empty where none does. @param texts those of the window. @param fields those of the window. */
export async function labelOf(
  ask: Questions,
  below: Search["below"],
  field: ElementNode,
  texts: readonly ElementNode[],
  fields: readonly ElementNode[],
): Promise<string> {
  const refs = await ask.labels(field.ref).catch(() => []);
  const said = await Promise.all(refs.map((ref) => ask.name(ref).catch(() => "")));
  const words = labelText(said.join(" "));
  if (words !== "") return words;
  // What Chromium and LibreOffice call a combo box is its name, and no item of it.
  if (field.name !== "" && !(await hasItem(ask, below, field))) return "";
  return labelText(besideOf(field, texts, fields));
}

/** Whether a combo box has an item of its own name: then that is what is chosen in it. */
export async function hasItem(
  ask: Questions,
  below: Search["below"],
  { ref, name }: Pick<ElementNode, "ref" | "name">,
): Promise<boolean> {
  const items = await below(ref, undefined, MAX_ITEMS);
  const names = await Promise.all(items.map((item) => ask.name(item).catch(() => "")));
  return names.includes(name);
}
