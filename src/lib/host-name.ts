/** A host name as DNS takes it (RFC 1123): letters, digits and hyphens, its last label not a number. */
export function isHostName(text: string): boolean {
  const labels = text.split(".");
  const isLabel = (label: string) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(label);
  return text.length <= 253 && labels.every(isLabel) && !/^\d+$/.test(labels.at(-1) ?? "");
}
