/** Text files with placeholders, which are embedded in the binary. */

/**
 * `template` with a value for each `{{name}}`; a list is a line for each item. A line that holds nothing but a placeholder
 * is left out when its value is empty.
 *
 * @throws an Error for a placeholder without a value.
 */
export function fill(
  template: string,
  values: Readonly<Record<string, string | number | readonly string[]>>,
): string {
  return template.replaceAll(/^\{\{(\w+)\}\}\n|\{\{(\w+)\}\}/gm, (_, line?: string, word = line) => {
    const value = values[word];
    if (value === undefined) throw new Error(`{{${word}}} has no value`);
    const text = [value].flat().join("\n");
    return line && text !== "" ? `${text}\n` : text;
  });
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };

/** What `Bun.escapeHTML` has made `text` of. */
export const unescaped = (text: string): string =>
  text.replaceAll(/&(amp|lt|gt|quot|#x27);/g, (_, name: string) => ENTITIES[name] ?? "");
