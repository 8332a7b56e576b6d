/** Entity tags (RFC 9110 section 8.8.3). */

/** 132 bits of a SHA-256, in characters that are valid in a name and in an ETag. */
export const digestText = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("base64url").slice(0, 22);

/** Whether `If-None-Match` names the ETag (RFC 9110 section 13.1.2: compared weakly). */
export function matches(ifNoneMatch: string | null | undefined, etag: string): boolean {
  if (!ifNoneMatch) return false;
  const tags = ifNoneMatch.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(etag);
}
