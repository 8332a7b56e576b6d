/**
 * `{config_dir}/nats_operator.json` (0600): the keys that a NATS server of ours obeys. They never leave this folder: the server
 * has only what they have signed. The server of each region obeys keys of its own.
 */
import * as v from "valibot";
import { secret } from "../../core/fields";
import { conflict, notFound, unavailable } from "../../lib/errors";
import { writeFileAtomic } from "../../lib/files";
import {
  NAME,
  NATS_SERVER,
  type NatsServer,
  NO_FIRST,
  newUser,
  publicKey,
  readPart,
  type ServerPart,
  seed,
} from "../../wire/nats/desk-part";
import { isPublic, newNKey, nkey } from "../../wire/nats/nkeys";
import { FIRST, REGION } from "../../wire/nats/region";
import { accountToken, operatorToken, systemToken, userToken } from "../../wire/nats/tokens";

const KEYS = v.object({
  operator: seed("O"),
  /** When the keys were made, Unix time. */
  made: v.number(),
  /** Nobody has the private keys of the accounts: the operator signs for both. */
  account: publicKey("A"),
  system_account: publicKey("A"),
  /** What signs the tokens of hosts and of desks. */
  host_signer: seed("A"),
  desk_signer: seed("A"),
  /** The key of the server's own certificate, PEM: hosts know the server by it. */
  tls_key: secret(v.string()),
  desks: v.array(v.object({ name: NAME, id: publicKey("U") })),
  /** Public keys of users, each with the Unix time up to which its tokens are void. */
  revoked: v.record(publicKey("U"), v.number()),
  /** Where further desks find the server; absent before the first bundle is written. */
  server: v.optional(NATS_SERVER),
});

/** The keys of one server. */
export type Operator = v.InferOutput<typeof KEYS>;

/** The number is 2 with regions: builds of svc that know none refuse the file, and would lose their keys otherwise. */
const OPERATORS = v.object({
  svc_nats_operator: v.picklist([1, 2]),
  ...KEYS.entries,
  regions: v.optional(v.record(REGION, KEYS)),
});

/** The keys of the first server, as {@link FIRST}, and of regions by their names. */
export type Operators = ReadonlyMap<string, Operator>;

/** Empty where `svc nats` has written no bundle. @throws `unavailable` when the file cannot be read, or is something else. */
export function readOperators(file: string): Operators {
  const read = readPart(file, OPERATORS, "is not what `svc nats` writes");
  if (!read) return new Map();
  const { svc_nats_operator: _, regions = {}, ...first } = read;
  return new Map([[FIRST, first], ...Object.entries(regions)]);
}

/** Why `content` is not that, in words that quote nothing of it. */
export const operatorFaults = (content: unknown): string[] =>
  v.is(OPERATORS, content) ? [] : ["it is not what `svc nats` writes"];

/** @throws `conflict` where the first server is not among them. */
export function writeOperators(file: string, operators: Operators): void {
  const { [FIRST]: first, ...regions } = Object.fromEntries(operators);
  if (!first) throw conflict(NO_FIRST);
  const hasRegions = Object.keys(regions).length > 0;
  const content = { svc_nats_operator: hasRegions ? 2 : 1, ...first, ...(hasRegions && { regions }) };
  writeFileAtomic(file, `${JSON.stringify(content, null, 2)}\n`);
}

/** New keys. */
export function newOperator(tlsKey: string): Operator {
  const [account, system] = [newNKey("A"), newNKey("A")];
  return {
    operator: newNKey("O").seed,
    made: Math.floor(Date.now() / 1_000),
    account: account.id,
    system_account: system.id,
    host_signer: newNKey("A").seed,
    desk_signer: newNKey("A").seed,
    tls_key: tlsKey,
    desks: [],
    revoked: {},
  };
}

/** What the server is configured with; no part is secret. */
export interface ServerTokens {
  readonly operator: string;
  /** By their public keys, that of the system first. */
  readonly accounts: Readonly<Record<string, string>>;
}

/** @param name of the operator. */
export function serverTokens(name: string, keys: Operator): ServerTokens {
  const operator = nkey(keys.operator);
  const signers = { host: nkey(keys.host_signer).id, desk: nkey(keys.desk_signer).id };
  return {
    operator: operatorToken(name, operator, keys.system_account, keys.made),
    accounts: {
      [keys.system_account]: systemToken(keys.system_account, operator),
      [keys.account]: accountToken(keys.account, signers, operator, keys.revoked),
    },
  };
}

/**
 * The part of a desk.
 *
 * @param user its identity (default: a new one).
 * @throws `conflict` where another desk has the name; `unavailable` before the first bundle.
 */
export function addDesk(
  keys: Operator,
  name: string,
  mayJoin: boolean,
  server: NatsServer | undefined = keys.server,
  user: { readonly id: string; readonly seed: string } = newUser(),
): { readonly keys: Operator; readonly part: ServerPart } {
  if (!server) throw unavailable("the server has no bundle yet: write it with `svc nats`");
  const isOther = (desk: { readonly id: string }) =>
    desk.id !== user.id && keys.revoked[desk.id] === undefined;
  if (keys.desks.some((desk) => desk.name === name && isOther(desk))) {
    throw conflict(`desk: there is one named ${name} already: choose another name`);
  }
  const part: ServerPart = {
    server,
    account: keys.account,
    ...(mayJoin && { host_signer: keys.host_signer }),
    desk: { name, ...user, jwt: userToken(name, user.id, nkey(keys.desk_signer), keys.account) },
  };
  const others = keys.desks.filter((desk) => desk.id !== user.id && desk.name !== name);
  return { keys: { ...keys, desks: [...others, { name, id: user.id }] }, part };
}

/** A Unix time that no clock has: 9999-12-31. */
const FOREVER = 253_402_300_799;

/**
 * Makes the tokens void that desks and hosts have now; a server knows it with its next bundle. A desk never gets its key back, so all
 * of its tokens are void for good, also one that was made while the clock was ahead. A host may join again with its key.
 *
 * @param users names of desks, or public keys.
 * @throws `not_found` for what is neither.
 */
export function revoke(keys: Operator, users: readonly string[], now: Date): Operator {
  const revoked = { ...keys.revoked };
  for (const user of users) {
    const isKey = isPublic(user, "U");
    const desk = keys.desks.find(({ id, name }) => (isKey ? id : name) === user);
    const id = isKey ? user : desk?.id;
    if (id === undefined) {
      throw notFound(`revoke: ${user} is neither a desk that \`svc nats desk\` made nor a public key (U…)`);
    }
    revoked[id] = Math.max(revoked[id] ?? 0, desk ? FOREVER : Math.floor(now.getTime() / 1_000));
  }
  return { ...keys, revoked };
}
