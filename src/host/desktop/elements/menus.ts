/**
 * Choosing an item of a menu by its path. Most toolkits have the items of closed menus in their trees: then only the item is pressed.
 * Where they do not, each menu is opened on the way.
 */
import { final, notFound } from "../../../lib/errors";
import { jsonLine } from "../../../lib/sanitize";
import type { Element } from "./calls";
import { type Elements, sharing, type WaitLimit, waitForUsable } from "./elements";
import { type Locator, MAX_DEPTH } from "./locator";

/** The names in `File > Save As...`; undefined where it has none, an empty one, or too many. */
export function menuPath(path: string): string[] | undefined {
  const names = path.split(/[>›→]/).map((name) => name.trim());
  return names.includes("") || names.length > MAX_DEPTH ? undefined : names;
}

/** Programs write three dots or the character for them. */
export const spellings = (name: string): string[] => [
  ...new Set([name, name.replace(/…$/, "..."), name.replace(/\.\.\.$/, "…")]),
];

/** Presses the item. @returns it. @throws `timeout` with what is nearest. */
export async function chooseMenu(
  elements: Elements,
  names: readonly string[],
  scope: Pick<Locator, "window" | "app">,
  waiting: WaitLimit,
): Promise<Element> {
  const whole = await inClosedMenus(elements, names, scope);
  if (whole) {
    await elements.press(whole.native_id);
    return whole;
  }
  const left = sharing(waiting);
  let item: Element | undefined;
  for (const [depth, name] of names.entries()) {
    // What opens may be a window of its own.
    const where = depth === 0 ? scope : { app: item?.app_name };
    try {
      item = await waitForUsable(elements, { role: "menuitem", name, ...where }, left());
      await elements.press(item.native_id);
    } catch (error) {
      // A menu is open by now: that is not nothing.
      throw depth > 0 ? final(error) : error;
    }
  }
  if (!item) throw notFound(`there is no menu ${jsonLine(names.join(" > "))}`);
  return item;
}

/** The item, where it is in the tree of its menus; one of several of the same window, as LibreOffice has its menu bar twice. */
async function inClosedMenus(
  elements: Elements,
  names: readonly string[],
  scope: Pick<Locator, "window" | "app">,
): Promise<Element | undefined> {
  const last = names.at(-1) ?? "";
  for (const name of spellings(last)) {
    const locator = names
      .slice(0, -1)
      .reduce<Locator | undefined>(
        (within, menu) => ({ role: "menuitem", name: menu, ...(within ? { within } : scope) }),
        undefined,
      );
    const { elements: found } = await elements.find(
      { role: "menuitem", name, enabled: true, ...(locator ? { within: locator } : scope) },
      10,
    );
    const windows = new Set(found.map((one) => `${one.native_id.split("/")[0]} ${one.window_title}`));
    if (windows.size === 1) return found[0];
  }
  return undefined;
}
