/** The value of a JSON text; undefined for a text that is no JSON, which no JSON text means. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
