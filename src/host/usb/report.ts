/**
 * The JSON reports of the platforms' own tools: a value of an unexpected type is ignored.
 */
import { unavailable } from "../../lib/errors";
import { isObject } from "../../lib/is-object";
import { jsonOr } from "../../lib/json-in";

/** An object of a report; any field may be missing or of any type. */
export type Report = Readonly<Record<string, unknown>>;

/**
 * The report as JSON. Bytes that are not UTF-8 become U+FFFD.
 *
 * @throws an `unavailable` failure naming `tool` when it is empty or not JSON.
 */
export function parseReport(tool: string, bytes: Uint8Array): unknown {
  const text = new TextDecoder().decode(bytes).trim();
  if (text === "") throw unavailable(`${tool} answered with nothing`);
  return jsonOr(text, () => unavailable(`${tool} answered with something other than JSON`));
}

/** The objects of `value`: a list, or the object itself, which is what PowerShell prints for a list of one. */
export function itemsOf(value: unknown): Report[] {
  return (Array.isArray(value) ? value : [value]).filter(isObject);
}
