/**
 * The table in a binary: names, routes and scopes are there at once. Schemas and functions, and with them the modules that they are in, are loaded
 * when one of them is first asked for. A build makes it of the table in the source (`build/late-table.ts`).
 */
import { mapInSlices } from "../lib/turn";

/** A definition in the table, in a form that JSON has. */
export interface EarlyDefinition {
  /** Which of the lists it is in. */
  readonly list: number;
  /** Where in that list. */
  readonly at: number;
  /** What is there at once. */
  readonly early: object;
  /** The names of the rest. */
  readonly late: readonly string[];
  /** The same of a part of it, by the name of that part. */
  readonly parts: Readonly<Record<string, readonly string[]>>;
}

/**
 * The definitions that `all` describes, in its order.
 *
 * @param lists give what they are made of, and are called for no other reason than that something late is asked for.
 */
export function lateTable(
  lists: ReadonlyArray<() => readonly object[]>,
  all: readonly EarlyDefinition[],
): object[] {
  const wholes = new WeakMap<object, () => object | undefined>();
  /** One getter for each name, not for each definition: there are hundreds. */
  const getters = new Map<string, PropertyDescriptor>();
  const getterOf = (name: string): PropertyDescriptor => {
    const known = getters.get(name);
    if (known) return known;
    const made: PropertyDescriptor = {
      configurable: true,
      enumerable: true,
      get(this: object) {
        const value: unknown = Object(wholes.get(this)?.())[name];
        Object.defineProperty(this, name, { value, configurable: true, enumerable: true, writable: true });
        return value;
      },
    };
    getters.set(name, made);
    return made;
  };
  const delay = (early: object, names: readonly string[], whole: () => object | undefined) => {
    wholes.set(early, whole);
    for (const name of names) Object.defineProperty(early, name, getterOf(name));
  };
  return all.map(({ list, at, early, late, parts }) => {
    const whole = () => lists[list]?.()[at];
    delay(early, late, whole);
    for (const [part, names] of Object.entries(parts))
      delay(Object(early)[part], names, () => Object(whole())[part]);
    return early;
  });
}

/**
 * Has what is late of `definitions` loaded: before something is made of all of them, which would load hundreds of modules in one turn of the
 * event loop. Here it turns after each list that takes long.
 */
export async function loadLate(definitions: readonly object[]): Promise<void> {
  await mapInSlices(definitions, (one) => void Object.values(one));
}
