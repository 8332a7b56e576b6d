/**
 * Replacing a token, with an overlap in which the old one still works.
 *
 * Promises. Whoever was handed a token can use it for the overlap at least. A client that renews its own token and loses the
 * new one can renew the old one again. That ends when it confirms that it has kept the new one: who stole an old token gets
 * no new one for it from then on, nor once the owner of the host has replaced it.
 */
import * as v from "valibot";
import { SHA256 } from "../core/fields";
import { conflict, forbidden } from "../lib/errors";
import { digestToken, hexOf } from "./scopes";
import { idOf, newToken } from "./token";

/** A token that was replaced and may still work. */
const REPLACED = v.object({
  /** Digest of the token, hexadecimal. */
  sha256: SHA256,
  /** When it ends, ISO 8601. */
  until: v.pipe(v.string(), v.isoTimestamp()),
  generated: v.optional(v.boolean(), false),
  /** Whether it can still be renewed: its client has not confirmed the new token. */
  renews: v.optional(v.boolean(), false),
});

/** The fields of a token that can be replaced. */
export const ROTATES = {
  /** Digest of the token, hexadecimal. */
  sha256: REPLACED.entries.sha256,
  /** Whether svc made the token. One that it was given, or that an older svc noted, may be one that a person chose. */
  generated: REPLACED.entries.generated,
  /** The id in it; absent in one that has none. */
  id: v.optional(v.string()),
  /** When it ends, ISO 8601; absent where it does not. */
  expires: v.optional(v.pipe(v.string(), v.isoTimestamp())),
  /** How long it was made for, in seconds, and so the token that replaces it. */
  lifetime_s: v.optional(v.pipe(v.number(), v.minValue(0))),
  previous: v.optional(v.array(REPLACED), []),
};

const ROTATING = v.object(ROTATES);

export type TokenRotation = v.InferOutput<typeof ROTATING>;

/** A new token, and what is to be kept in place of the old record. */
export interface Successor {
  readonly token: string;
  readonly kept: TokenRotation;
}

/** The most old tokens of one token that work at a time. */
const MAX_PREVIOUS = 8;

/** The longest overlap, in seconds: 30 days. */
export const MAX_OVERLAP_S = 30 * 86_400;

/** The longest life of a token, in seconds: ten years. */
export const MAX_LIFETIME_S = 3_650 * 86_400;

/**
 * Replaces a token as the owner of the host does: no old token can be renewed, and none works for longer than this one.
 *
 * @param overlapS how long the old token works, in seconds; with 0, all old ones end at once. None outlives its own end.
 * @param make returns the new token.
 * @throws a `conflict` failure when too many old tokens are in force.
 */
export function rotate(old: TokenRotation, overlapS: number, make: () => string = newToken): Successor {
  if (overlapS === 0) return successor(old, [], make);
  const until = inSeconds(overlapS);
  const older = confirm(old).previous.map((one) => ({ ...one, until: earlier(one.until, until) }));
  return successor(old, [...older, replaced(old, until, false)], make);
}

/**
 * Replaces a token as its client does, with the token itself or with one that it replaced.
 *
 * @param sent the digest of the token that the client sent.
 * @throws a `forbidden` failure for an old token whose successor was confirmed; `conflict` as {@link rotate}.
 */
export function renew(
  old: TokenRotation,
  sent: string,
  overlapS: number,
  make: () => string = newToken,
): Successor {
  const until = inSeconds(overlapS);
  const last = replaced(old, until, true);
  // Who has the token itself lost nothing.
  if (sent === old.sha256) return successor(old, [...confirm(old).previous, last], make);
  const alive = inForce(old);
  const mine = alive.find(({ sha256 }) => sha256 === sent);
  if (!mine?.renews) {
    const end = mine ? `works until ${mine.until} and ` : "";
    throw forbidden(`this token was replaced: it ${end}cannot be renewed`);
  }
  const others = alive.map((one) => (one === mine ? { ...one, until: later(one.until, until) } : one));
  return successor(old, [...others, last], make);
}

/** With old tokens that cannot be renewed. */
export function confirm(old: TokenRotation): TokenRotation {
  return { ...old, previous: inForce(old).map((one) => ({ ...one, renews: false })) };
}

/** When the last of the old tokens ends, ISO 8601; null when none is in force. */
export const oldUntil = (token: Pick<TokenRotation, "previous">): string | null =>
  inForce(token)
    .map(({ until }) => until)
    .reduce<string | null>((last, until) => later(last ?? until, until), null);

/** Of two times as ISO 8601 has them in UTC. */
const later = (one: string, other: string) => (Date.parse(one) > Date.parse(other) ? one : other);
const earlier = (one: string, other: string) => (later(one, other) === one ? other : one);

/** A token that ends then, or at its own end if that is earlier. */
const replaced = ({ sha256, generated, expires }: TokenRotation, until: string, renews: boolean) => ({
  sha256,
  generated,
  until: expires === undefined ? until : earlier(until, expires),
  renews,
});

/** The old tokens that still work. */
const inForce = ({ previous }: Pick<TokenRotation, "previous">) =>
  previous.filter(({ until }) => Date.parse(until) > Date.now());

/** The time so many seconds from now, ISO 8601. */
export const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

function successor(old: TokenRotation, previous: TokenRotation["previous"], make: () => string): Successor {
  if (previous.length > MAX_PREVIOUS) {
    const last = oldUntil(old);
    throw conflict(
      `this token was replaced ${MAX_PREVIOUS} times and the old ones still work, the last until ${last}: \`svc token rotate\` without --overlap ends them`,
    );
  }
  const token = make();
  return { token, kept: { ...entryOf(token, old.lifetime_s), generated: true, previous } };
}

/** What is kept of a token. @param lifetimeS how long it works from now on, in seconds; undefined: for ever. */
export function entryOf(token: string, lifetimeS: number | undefined) {
  return {
    sha256: hexOf(digestToken(token)),
    id: idOf(token),
    expires: lifetimeS === undefined ? undefined : inSeconds(lifetimeS),
    lifetime_s: lifetimeS,
  };
}
