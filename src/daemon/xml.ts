/** Escapes `text`, which has no control characters, as the content of an XML element (XML 1.0, section 2.4). */
export function xmlText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
