/**
 * The settings of this host: `host_service.json`, which a bundle carries from one host to a thousand. `diagnose.skip` is the
 * field `skip` of the object `diagnose`.
 *
 * Promises. Fields that svc does not know stay as they are. A broken file is reported, and never overwritten.
 */
import { basename } from "node:path";
import * as v from "valibot";
import { badInput } from "../../lib/errors";
import { readIfThere, writeFileAtomic } from "../../lib/files";
import { isObject } from "../../lib/is-object";
import { withLock } from "../../lib/lock";
import { meant } from "../../lib/nearest";
import { printable } from "../../lib/sanitize";
import { unusable } from "../../lib/trust-files";
import { valueIn } from "../../lib/value-in";

/** No list, which `v.record` would take and make an object of. */
const OBJECT = v.custom<Record<string, unknown>>(isObject);
const LIST = v.array(v.string());

/** The settings of this host. */
export interface Settings {
  /** The values of a setting; those that this version does not know are left out. @throws `unavailable`. */
  get(name: string): string[];
  /** All settings. @throws `unavailable` when the file is broken or cannot be read. */
  list(): { name: string; value: string[] }[];
  /**
   * Gives a setting these values; none removes it.
   *
   * @throws `bad_input` for a name or a value that there is not, and for all values: each setting says what is left out;
   *   `unavailable`.
   */
  set(name: string, value: readonly string[]): Promise<void>;
  /** Changes nothing. @throws as `set` does of a name or values. */
  check(name: string, value: readonly string[]): void;
}

/**
 * @param paths the file, and the lock of those who change it or import one.
 * @param choices the settings there are, each a list of some of these values, never all.
 */
export function createSettings(
  { file, lock }: { readonly file: string; readonly lock: string },
  choices: Readonly<Record<string, readonly string[]>>,
): Settings {
  const content = () => contentOf(file);
  const settings = {
    get: (name: string): string[] =>
      valuesIn(content(), name).filter((value) => choices[name]?.includes(value)),
    list: () => Object.keys(choices).map((name) => ({ name, value: settings.get(name) })),
    check(name: string, value: readonly string[]): void {
      const known = Object.hasOwn(choices, name) ? choices[name] : undefined;
      if (!known) throw badInput(`name: ${expected(Object.keys(choices), name)}`);
      const stray = value.find((one) => !known.includes(one));
      if (stray !== undefined) throw badInput(`value: ${expected(known, stray)}`);
      if (known.every((one) => value.includes(one)))
        throw badInput(`value: ${name} would leave out everything`);
    },
    async set(name: string, value: readonly string[]): Promise<void> {
      settings.check(name, value);
      await withLock(lock, () => {
        const now = content();
        const [group, field] = partsOf(name);
        if (now[group] !== undefined && !v.is(OBJECT, now[group]))
          throw unusable(file, `has no object in ${group}`);
        const { [field]: _, ...others } = objectIn(now, group);
        const fields = value.length > 0 ? { ...others, [field]: [...new Set(value)] } : others;
        writeFileAtomic(file, `${JSON.stringify({ ...now, [group]: fields }, null, 2)}\n`);
      });
    },
  };
  return settings;
}

/** What svc would not load of a file of settings with this `content`: other programs may have put anything else there. */
export const settingsFaults = (content: unknown): string[] =>
  ["desktop.screen", "diagnose.skip"].flatMap((name) =>
    v.is(v.optional(LIST), fieldIn(content, name)) ? [] : [`${name}: expected a list of texts`],
  );

const expected = (names: readonly string[], found: string) =>
  `expected ${[names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" or ")} but found ${printable(JSON.stringify(found), 100)}${meant(found, names)}`;

const partsOf = (name: string): [group: string, field: string] => {
  const [group = "", field = ""] = name.split(".");
  return [group, field];
};

const objectIn = (content: unknown, field: string): Record<string, unknown> => {
  const found = v.is(OBJECT, content) ? content[field] : undefined;
  return v.is(OBJECT, found) ? found : {};
};

function fieldIn(content: unknown, name: string): unknown {
  const [group, field] = partsOf(name);
  return objectIn(content, group)[field];
}

function valuesIn(content: unknown, name: string): string[] {
  const found = fieldIn(content, name);
  return v.is(LIST, found) ? found : [];
}

/** The object in `file`; empty when there is no file. */
function contentOf(file: string): Record<string, unknown> {
  const text = readIfThere(file, basename(file));
  if (text === undefined) return {};
  const content = valueIn(OBJECT, text);
  if (!content) throw unusable(file, "is not an object as JSON");
  return content;
}
