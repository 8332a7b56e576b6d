/**
 * Texts of the clipboard between a viewer and the screen: the extended form, which is Unicode (rfbproto, Extended Clipboard),
 * and the plain one, which is Latin-1.
 */
import { constants, deflateSync, inflateSync } from "node:zlib";
import { orElse } from "../../../../lib/or-else";
import { cutText } from "./server-messages";
import { MAX_CUT_TEXT } from "./viewer-messages";

const TEXT = 1;
const [CAPS, REQUEST, PEEK, NOTIFY, PROVIDE] = [1 << 24, 1 << 25, 1 << 26, 1 << 27, 1 << 28];

/** What an extended message says. */
type ClipboardMessage =
  | { readonly kind: "request" | "peek" | "notify" }
  | { readonly kind: "provide"; readonly text: string }
  | { readonly kind: "nothing" };

function message(flags: number, ...parts: readonly Uint8Array[]): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(flags >>> 0);
  return cutText(Buffer.concat([head, ...parts]), true);
}

/** What this server takes: texts, and none that it has not asked for. */
export const capabilities = () => message(CAPS | REQUEST | PEEK | NOTIFY | PROVIDE | TEXT, Buffer.alloc(4));

/** That the viewer may ask for a text. */
export const notify = (hasText: boolean) => message(NOTIFY | (hasText ? TEXT : 0));

export const request = () => message(REQUEST | TEXT);

/** A text: its lines end as the protocol wants them, and a zero ends it. */
export function provide(text: string): Buffer {
  const bytes = Buffer.from(`${text.replaceAll(/\r\n?|\n/g, "\r\n")}\0`);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(bytes.length);
  return message(PROVIDE | TEXT, deflateSync(Buffer.concat([size, bytes])));
}

/** A text for viewers that know Latin-1 only. */
export const plainText = (text: string) =>
  cutText(Buffer.from(text.replaceAll("\r\n", "\n").replaceAll(/[^\u0000-\u00ff]/gu, "?"), "latin1"), false);

/** What the message of a viewer says; data that is damaged or too long says nothing. */
export function understand(flags: number, data: Uint8Array): ClipboardMessage {
  if (flags & CAPS) return { kind: "nothing" };
  if (flags & PEEK) return { kind: "peek" };
  if (!(flags & TEXT)) return { kind: "nothing" };
  if (flags & REQUEST) return { kind: "request" };
  if (flags & NOTIFY) return { kind: "notify" };
  const text = flags & PROVIDE ? textIn(data) : undefined;
  return text === undefined ? { kind: "nothing" } : { kind: "provide", text };
}

/** The first of the formats in `data`, which is the text. */
function textIn(data: Uint8Array): string | undefined {
  // A viewer may leave its stream open.
  const limits = { maxOutputLength: MAX_CUT_TEXT, finishFlush: constants.Z_SYNC_FLUSH };
  const bytes = orElse(() => inflateSync(data, limits), undefined);
  if (!bytes || bytes.length < 4) return undefined;
  const size = bytes.readUInt32BE(0);
  if (size > bytes.length - 4) return undefined;
  return bytes
    .toString("utf8", 4, 4 + size)
    .replace(/\0$/, "")
    .replaceAll("\r\n", "\n");
}
