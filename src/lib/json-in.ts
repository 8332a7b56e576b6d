/** The value of a JSON text; undefined for a text that is no JSON, which no JSON text means. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value of a JSON text. @throws what `fault` makes for a text that is no JSON: the error of the parser would quote it. */
export function jsonOr(text: string, fault: () => Error): unknown {
  const value = jsonIn(text);
  if (value === undefined) throw fault();
  return value;
}
