/**
 * `{config_dir}/nats_operator.json` (0600): the keys that a NATS server of ours obeys. They never leave this folder: the server
 * has only what they have signed.
 */
import * as v from "valibot";
import { secret } from "../../core/fields";
import { conflict, notFound, unavailable } from "../../lib/errors";
import { writeFileAtomic } from "../../lib/files";
import {
  type DeskPart,
  NAME,
  NATS_SERVER,
  type NatsServer,
  newUser,
  publicKey,
  readPart,
  seed,
} from "../../wire/nats/desk-part";
import { isPublic, newNKey, nkey } from "../../wire/nats/nkeys";
import { accountToken, operatorToken, systemToken, userToken } from "../../wire/nats/tokens";

const OPERATOR = v.object({
  svc_nats_operator: v.literal(1),
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

export type Operator = v.InferOutput<typeof OPERATOR>;

/** Undefined where `svc nats` has written no bundle. @throws `unavailable` when the file cannot be read, or is something else. */
export const readOperator = (file: string): Operator | undefined =>
  readPart(file, OPERATOR, "is not what `svc nats` writes");

/** Why `content` is not that, in words that quote nothing of it. */
export const operatorFaults = (content: unknown): string[] =>
  v.is(OPERATOR, content) ? [] : ["it is not what `svc nats` writes"];

export const writeOperator = (file: string, operator: Operator): void =>
  writeFileAtomic(file, `${JSON.stringify(operator, null, 2)}\n`);

/** New keys. */
export function newOperator(tlsKey: string): Operator {
  const [account, system] = [newNKey("A"), newNKey("A")];
  return {
    svc_nats_operator: 1,
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
): { readonly keys: Operator; readonly part: DeskPart } {
  if (!server) throw unavailable("the server has no bundle yet: write it with `svc nats`");
  const isOther = (desk: { readonly id: string }) =>
    desk.id !== user.id && keys.revoked[desk.id] === undefined;
  if (keys.desks.some((desk) => desk.name === name && isOther(desk))) {
    throw conflict(`desk: there is one named ${name} already: choose another name`);
  }
  const part: DeskPart = {
    svc_nats: 1,
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
