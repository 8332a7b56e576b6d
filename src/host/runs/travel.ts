/**
 * The files that travel with a list to runs on other hosts: the scripts that it calls and the pictures that it looks for, where
 * their paths are literal and relative. What has an absolute path, or is stored under a name, is found on those hosts.
 *
 * The promise: a script travels as it was read and checked, however its file changes in the meantime.
 */
import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { entryOf, metadataOf } from "../../core/schema";
import { badInput, systemCode } from "../../lib/errors";
import { readRegularFile } from "../../lib/regular-file";
import { printable } from "../../lib/sanitize";
import type { TravellingFiles } from "../../wire/job/content";
import { type Action, flatten } from "./actions";
import type { CalledScript, CalledScripts } from "./called-scripts";

/** The largest picture that travels, in bytes. */
const MAX_PICTURE = 700_000;

/** How every PNG begins. */
const PNG = "89504e470d0a1a0a";

/** Whether the script with this path is found where the list runs, and does not travel. */
export const staysThere = (path: string): boolean => isAbsolute(path) || path.startsWith("script:");

/**
 * @param from the absolute path of the list.
 * @param called the scripts that travel, by their paths.
 * @returns undefined where it refers to no file that travels.
 * @throws a `bad_input` failure for what is beside the list and is no PNG, or too large.
 */
export async function travellingWith(
  actions: readonly Action[],
  from: string,
  called: CalledScripts,
): Promise<TravellingFiles | undefined> {
  const files = new Map<string, Uint8Array>();
  for (const [path, script] of [[from, { actions, variables: {} }] as const, ...called]) {
    if (path !== from) files.set(path, Buffer.from(JSON.stringify(travellingForm(script))));
    for (const image of picturesIn(script.actions)) {
      const place = resolve(dirname(path), image);
      const bytes = files.has(place) ? undefined : await pictureAt(place, image);
      if (bytes) files.set(place, bytes);
    }
  }
  if (files.size === 0) return undefined;
  const base = sharedFolder([from, ...files.keys()]);
  const nameOf = (path: string) => relative(base, path).split(sep).join("/");
  return { name: nameOf(from), files: new Map([...files].map(([path, bytes]) => [nameOf(path), bytes])) };
}

/** A called script as it is sent: a plain list, which every host reads, unless it has variables of its own. */
function travellingForm({ actions, variables }: Pick<CalledScript, "actions" | "variables">): unknown {
  const list = actions.map(({ source }) => source);
  return Object.keys(variables).length > 0 ? { variables, actions: list } : list;
}

/** The relative paths in the fields that take a picture. */
function picturesIn(actions: readonly Action[]): string[] {
  return flatten(actions).flatMap(({ operation, input, deferred }) =>
    Object.keys(operation.input.entries).flatMap((field) => {
      const entry = entryOf(operation.input, field);
      const value = input[field];
      if (!entry || !metadataOf(entry).content || typeof value !== "string" || deferred.includes(field))
        return [];
      return isAbsolute(value) || value.length > MAX_PATH ? [] : [value];
    }),
  );
}

/** The longest path, in characters: what is longer is a picture in base64. */
const MAX_PATH = 1_000;

/** The picture at `path`; undefined where none is, as the host may have it. */
async function pictureAt(path: string, image: string): Promise<Uint8Array | undefined> {
  const shown = printable(image, 200);
  try {
    const refused = (expected: string) => badInput(`image: ${expected} at ${shown}`);
    const bytes = await readRegularFile(path, MAX_PICTURE, refused);
    if (bytes.toString("hex", 0, 8) === PNG) return bytes;
  } catch (error) {
    const code = systemCode(error);
    if (/^(ENOENT|ENOTDIR|ENAMETOOLONG|EINVAL)$/.test(code ?? "")) return undefined;
    throw code === undefined ? error : badInput(`image: ${shown} cannot be read (${code})`);
  }
  throw badInput(`image: expected a PNG at ${shown}`);
}

/** The innermost folder that has all of them. */
function sharedFolder(paths: readonly string[]): string {
  let [folder] = paths.map(dirname);
  const isAround = (path: string) => !relative(folder ?? sep, path).startsWith("..");
  while (folder !== undefined && !paths.every(isAround)) folder = dirname(folder);
  return folder ?? sep;
}
