/** Checksums and digests. */

/**
 * CRC-32 of `text` as 6 characters of base64url, at the end of secrets that people copy: a mistyped or shortened one is recognised before
 * anybody is asked. It says nothing about who made the text.
 */
export function checksumOf(text: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(Bun.hash.crc32(text));
  return bytes.toString("base64url");
}

/** The SHA-256 of `content`, hexadecimal. */
export const sha256 = (content: string | Uint8Array): string => Bun.SHA256.hash(content, "hex");
