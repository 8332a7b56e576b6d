/**
 * `{config_dir}/desk.json` (0600): the desk that this host has joined.
 */
import { dirname } from "node:path";
import * as v from "valibot";
import { writeFileAtomic } from "../../lib/files";
import { removeListed } from "../../lib/folder-files";
import { readTrustFile, unusable } from "../../lib/trust-files";
import { valueIn } from "../../lib/value-in";
import { JOIN_ANSWER } from "./messages";

const MEMBERSHIP = v.object({
  /** `host:port` of the desk, and the pin of its TLS key. */
  desk: v.string(),
  desk_pin: v.string(),
  /** The pin of the key that the desk has announced, and when it signed both, ISO 8601 (`desk-pins.ts`). */
  desk_next_pin: v.optional(v.string()),
  desk_pins_signed: v.optional(v.string()),
  /** The newest generations of desks that were taken over, as they have signed them (`take-generation.ts`). */
  desk_offices: v.optional(
    v.array(v.object({ line: v.string(), generation: v.number(), signature: v.string() })),
  ),
  /** When the desk signed what it has sent for its NATS server, ISO 8601 (`grant.ts`). */
  nats_signed: v.optional(v.string()),
  ...JOIN_ANSWER.entries,
  /** The name of the token that this host made for the desk. */
  token: v.string(),
  /** When it joined, ISO 8601. */
  joined: v.string(),
});

export type Membership = v.InferOutput<typeof MEMBERSHIP>;

/** Undefined where this host has joined no desk. @throws `unavailable` when the file cannot be read, or is something else. */
export function readMembership(file: string): Membership | undefined {
  const text = readTrustFile(file);
  if (text === undefined) return undefined;
  const membership = valueIn(MEMBERSHIP, text.toString());
  if (!membership) throw unusable(file, "does not say which desk this host has joined");
  return membership;
}

/** The pins of the keys that the desk may show. */
export const pinsOfDesk = ({ desk_pin, desk_next_pin }: Membership): string[] =>
  desk_next_pin === undefined ? [desk_pin] : [desk_pin, desk_next_pin];

/** Whether the desk takes links and this host keeps one. */
export const hasLink = ({ carriers }: Membership): boolean => carriers.some(({ kind }) => kind === "link");

export const writeMembership = (file: string, membership: Membership): void =>
  writeFileAtomic(file, `${JSON.stringify(membership, null, 2)}\n`);

/** Leaves no trace of it: a host that has left may join again. */
export async function removeMembership(file: string): Promise<void> {
  await removeListed(dirname(file), "desk.json");
}
