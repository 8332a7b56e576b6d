/** Versions of nats-server. */

/** `2.11.15` as numbers; undefined for anything else. */
function parse(version: string): [number, number, number] | undefined {
  const [, major, minor, patch] = /^v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:[-+].*)?$/.exec(version) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)];
}

export const isServerVersion = (version: string): boolean => parse(version) !== undefined;

/**
 * Whether nobody can fill a server's memory over its WebSocket before they log in (CVE-2026-27571, CVE-2026-33219): 2.11.15 and
 * later of 2.11, 2.12.6 and later.
 */
export function hasSafeWebSockets(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = parse(version) ?? [];
  if (major !== 2) return major > 2;
  if (minor === 11) return patch >= 15;
  return minor === 12 ? patch >= 6 : minor > 12;
}

/** What {@link hasSafeWebSockets} expects, in words. */
export const SAFE_WEBSOCKETS =
  "2.11.15 or 2.12.6, or later: before, anybody can fill its memory (CVE-2026-27571, CVE-2026-33219)";
