/**
 * A script with another locator in place of one that no longer fits: in each action that has it, also in lists inside.
 */

/** The locator that fields are, in one line; undefined where they are none. */
type LocatorLine = (fields: unknown) => Promise<string | undefined>;

/** The fields that are a locator together, and ways beside it that name the same thing. */
const OF_LOCATOR =
  /^(?:element|role|name|pattern|exact|window|app|within|nth|enabled|checked|focused|selected|expanded|text|image)$/;
/** What has the field `text` for what is typed. */
const TYPES: ReadonlySet<string> = new Set(["AC_set_element_text", "AC_type_in_element"]);

/** @returns the actions, and how many of them had `old` and have `by` now. */
export async function mended(
  actions: readonly unknown[],
  old: string,
  by: string,
  lineOf: LocatorLine,
): Promise<{ readonly actions: unknown[]; readonly count: number }> {
  let count = 0;
  const wanted = (await lineOf({ element: old })) ?? old;
  const other = async (value: unknown): Promise<unknown> => {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const [command, given] = value as unknown[];
      const isAction = typeof command === "string" && command.startsWith("AC_");
      const fields = isAction && Array.isArray(given) ? { element: given[0] } : given;
      const isOld = isAction && ((await lineOf(fields)) === wanted || Object(fields).element === old);
      if (isOld) {
        count++;
        if (Array.isArray(given)) return [command, [by, ...given.slice(1)]];
        const kept = Object.entries(Object(given)).filter(
          ([name]) => !OF_LOCATOR.test(name) || (name === "text" && TYPES.has(command as string)),
        );
        return [command, { element: by, ...Object.fromEntries(kept) }];
      }
      return Promise.all(value.map(other));
    }
    const entries = Object.entries(value).map(async ([key, one]) => [key, await other(one)] as const);
    return Object.fromEntries(await Promise.all(entries));
  };
  return { actions: (await other([...actions])) as unknown[], count };
}
