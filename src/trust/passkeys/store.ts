/**
 * The passkeys of people and tokens: `{config_dir}/passkeys.json`, public keys alone.
 *
 * The promise: a file that is missing, empty or broken, or has an entry that is, lets nobody allow anything, and no passkey counts as removed.
 */
import * as v from "valibot";
import {
  type Grant,
  holderOf,
  isSameHolder,
  isSession,
  NAME_TEXT,
  OWNER_NAME,
  PERSON_NAME,
  SESSION_NAME,
} from "../../core/rights";
import { createJsonStore, type JsonStore, parseBy } from "../../lib/json-store";
import type { Log } from "../../lib/log";
import { bytesText, CREDENTIAL_ID } from "./bytes";

/** How many a holder has at most, and how many there are in all: each change writes all of them. */
export const MAX_OF_HOLDER = 10;
export const MAX_PASSKEYS = 10_000;

/** What people call one. */
export const LABEL = v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(64));

/** The person of a session, or a named token; null for the host's own token. */
const HOLDER = v.nullable(v.union([NAME_TEXT, PERSON_NAME]));

/** A holder as people name them: a session stands for its person. */
export const HOLDER_NAME = v.pipe(
  v.union(
    [NAME_TEXT, SESSION_NAME, PERSON_NAME],
    "the name of a token or a session, as `svc token list` shows it",
  ),
  v.transform((name) => holderOf(name)),
);

const PASSKEY = v.object({
  id: CREDENTIAL_ID,
  holder: HOLDER,
  label: LABEL,
  /** The public key as the authenticator gave it (COSE, RFC 9052). */
  key: bytesText(4_096),
  /** How often it was used, where the authenticator counts. */
  counter: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  /** The name of the server for which it is. */
  rp_id: v.pipe(v.string(), v.maxLength(253)),
  /** Whether a service of its maker keeps copies on other devices. */
  synced: v.boolean(),
  transports: v.array(v.pipe(v.string(), v.maxLength(32))),
  created: v.pipe(v.string(), v.isoTimestamp()),
  /** What has allowed it: the token alone, an invitation, or the passkey of that id; absent in one of an svc of before. */
  allowed_by: v.optional(CREDENTIAL_ID),
  used: v.optional(v.pipe(v.string(), v.isoTimestamp())),
});

/** A passkey as the file has it. */
export type Passkey = v.InferOutput<typeof PASSKEY>;

/** A passkey in a listing. */
export const LISTED_PASSKEY = v.object({
  id: v.string(),
  label: v.string(),
  /** The person, or the named token; null for the host's own token. */
  holder: v.nullable(v.string()),
  /** The name of the server at whose pages it works. */
  rp_id: v.string(),
  /** Whether a service of its maker keeps copies on other devices. */
  synced: v.boolean(),
  created: v.string(),
  /** When it allowed something last; null for never. */
  last_used: v.nullable(v.string()),
  /** What has allowed that it was registered: `token`, `invitation`, or the id of a passkey; null where that is not known. */
  allowed_by: v.nullable(v.string()),
});

export type ListedPasskey = v.InferOutput<typeof LISTED_PASSKEY>;

export const listed = ({ used, allowed_by, ...one }: Passkey): ListedPasskey => {
  const { id, label, holder, rp_id, synced, created } = one;
  const rest = { last_used: used ?? null, allowed_by: allowed_by ?? null };
  return { id, label, holder, rp_id, synced, created, ...rest };
};

/** The passkeys of the file. A broken one is neither read nor changed. */
export const passkeyStore = (
  { passkeys: file, passkeysLock: lock }: { readonly passkeys: string; readonly passkeysLock: string },
  log: Log,
): JsonStore<Passkey> =>
  createJsonStore<Passkey>(
    // Whose only passkey cannot be read would register a first one, with the token alone.
    {
      file,
      lock,
      what: "a list of passkeys",
      list: "passkeys",
      key: "id",
      parse: parseBy(PASSKEY),
      whole: true,
    },
    log,
  );

/** Whether a passkey is of whoever has this grant: a token that got the name of another later has none of its passkeys. */
export function isOf({ holder, created }: Passkey, { name, since = 0 }: Grant): boolean {
  if (!isSameHolder(holder, name)) return false;
  // A session begins after the passkeys of its person.
  return name === null || isSession(name) || since <= Date.parse(created);
}

/** How rows of the audit log name a passkey. */
export const whoText = ({ id, holder, rp_id }: Pick<Passkey, "id" | "holder" | "rp_id">): string =>
  `id=${id} holder=${JSON.stringify(holder ?? OWNER_NAME)} rp_id=${rp_id}`;
