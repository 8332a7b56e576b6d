/**
 * Answers of XML-RPC. What XML cannot carry is bytes: a text with control characters is its UTF-8 in base64, as Robot Framework's own
 * servers answer.
 */

/** The response with an answer, also with one that is a fault: its status is 200 (http://xmlrpc.com/spec.md). */
export const xmlResponse = (xml: string | Uint8Array<ArrayBuffer>): Response =>
  new Response(xml, { headers: { "content-type": "text/xml; charset=utf-8", "cache-control": "no-store" } });

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<methodResponse>';

/** The answer that is `value`: what JSON has; fields that are undefined are left out. Null is `<nil/>`, which Python reads. */
export const answerXml = (value: unknown): string =>
  `${HEAD}<params><param>${valueXml(value)}</param></params></methodResponse>`;

/** The answer that says why there is none. @param code an HTTP status, or one of http://xmlrpc-epi.sourceforge.net/specs/rfc.fault_codes.php. */
export const faultXml = (code: number, message: string): string =>
  `${HEAD}<fault>${valueXml({ faultCode: code, faultString: escapable(message) })}</fault></methodResponse>`;

/** Control characters, and what is no character of XML 1.0 (section 2.2). */
const NO_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

/** `text` without what XML cannot carry. */
const escapable = (text: string): string => text.replaceAll(new RegExp(NO_XML, "gu"), "\ufffd");

const INT = 2 ** 31;

function valueXml(value: unknown): string {
  return `<value>${typedXml(value)}</value>`;
}

function typedXml(value: unknown): string {
  if (value === null || value === undefined) return "<nil/>";
  if (typeof value === "boolean") return `<boolean>${Number(value)}</boolean>`;
  if (typeof value === "number") return numberXml(value);
  if (typeof value === "string") return textXml(value);
  if (Array.isArray(value)) return `<array><data>${value.map(valueXml).join("")}</data></array>`;
  if (typeof value !== "object") return textXml(String(value));
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  const xml = members.map(
    ([name, member]) => `<member><name>${escaped(escapable(name))}</name>${valueXml(member)}</member>`,
  );
  return `<struct>${xml.join("")}</struct>`;
}

function numberXml(value: number): string {
  if (!Number.isFinite(value)) return "<nil/>";
  if (!Number.isSafeInteger(value)) return `<double>${value}</double>`;
  return value >= -INT && value < INT ? `<int>${value}</int>` : `<i8>${value}</i8>`;
}

const textXml = (text: string): string =>
  NO_XML.test(text)
    ? `<base64>${Buffer.from(text).toString("base64")}</base64>`
    : `<string>${escaped(text)}</string>`;

const SIGNS: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;" };

const escaped = (text: string): string => text.replaceAll(/[&<>\r]/g, (sign) => SIGNS[sign] ?? sign);
