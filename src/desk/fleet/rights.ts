/**
 * Which hosts will refuse a list of actions, before it is sent: each host decides what its desk may do there, and says so when it is
 * asked for its sessions.
 */
import type { Caller } from "../../core/caller";
import {
  allows,
  isSecretScope,
  type Limit,
  type Need,
  PERMISSIONS,
  type Permission,
  type Scope,
  shareOf,
} from "../../core/rights";
import type { AddressBook } from "./address-book";
import type { Host } from "./host";
import { type Refusal, refusalLines } from "./operations/refusals";
import type { Poller } from "./poll";

/** What a command needs of the host on which it runs. */
export interface CommandNeed {
  readonly command: string;
  readonly scope: Need | Limit;
  readonly permission: Permission | undefined;
}

interface RightsUses {
  addressBook(): Promise<Pick<AddressBook, "hosts" | "reach" | "askAgain">>;
  poller(): Promise<Pick<Poller, "poll">>;
}

/** Hosts that are asked at once, and how long one may take, in milliseconds. */
const SLOTS = 64;
const TIMEOUT_MS = 3_000;

/** {@link refusalsOf} of this desk. */
export type RefusalsOf = (
  hosts: readonly Host[],
  needs: readonly CommandNeed[],
  caller: Pick<Caller, "signal" | "grant" | "warn">,
) => Promise<Refusal[]>;

/**
 * The hosts that will refuse one of these commands; the caller is warned of them. Those of which the address book does not know that they will run them are asked;
 * one that does not answer, or does not say, is not among them.
 */
export async function refusalsOf(
  service: RightsUses,
  hosts: readonly Host[],
  needs: readonly CommandNeed[],
  { signal, grant, warn }: Pick<Caller, "signal" | "grant" | "warn">,
): Promise<Refusal[]> {
  const doubtful = hosts.filter((host) => isUnknown(host, needs) || reasonOf(host, needs) !== undefined);
  if (doubtful.length === 0) return [];
  const book = await service.addressBook();
  const limits = { concurrency: SLOTS, timeoutMs: TIMEOUT_MS, signal, client: shareOf(grant) };
  await (await service.poller()).poll(book, doubtful, limits);
  const asked = new Set(doubtful.map(({ label }) => label));
  const refusals = book.hosts().flatMap((host) => {
    const why = asked.has(host.label) ? reasonOf(host, needs) : undefined;
    return why === undefined ? [] : [{ label: host.label, why }];
  });
  for (const line of refusalLines(refusals, hosts.length)) warn?.(line);
  return refusals;
}

/** Whether only the host knows: a command needs more than every desk may do, and the book does not say whether this one may. */
function isUnknown({ rights }: Host, needs: readonly CommandNeed[]): boolean {
  return needs.some(
    ({ scope, permission }) =>
      ((scope === "admin" || isSecretScope(scope)) && rights === undefined) ||
      (permission !== undefined && rights?.permits === undefined),
  );
}

/** Why the host will refuse one of these commands, as far as the address book knows. */
function reasonOf({ rights, member }: Host, needs: readonly CommandNeed[]): string | undefined {
  if (!rights) return undefined;
  // What it says may have scopes of a later svc, which no command here needs.
  const grant = { name: null, scopes: rights.allows as Scope[] };
  const beyond = needs.filter(({ scope }) => !allows(grant, scope));
  const secrets = beyond.map(({ scope }) => scope).filter(isSecretScope);
  const words = [beyond.some(({ scope }) => scope === "admin") ? "admin" : "desk", ...secrets];
  const advice = member
    ? `\`svc desk set --allow ${words.join()}\` there allows it`
    : "its token does not allow it";
  const permits = new Set(rights.permits);
  const unpermitted = rights.permits
    ? needs.filter(({ permission }) => permission && !permits.has(permission))
    : [];
  const reasons = [
    ...(beyond.length > 0
      ? [`${beyond.map(({ command, scope }) => `${command} needs ${scope}`).join(", ")}: ${advice}`]
      : []),
    ...unpermitted.flatMap(({ command, permission }) =>
      permission ? [`${command} ${PERMISSIONS[permission]}`] : [],
    ),
  ];
  return reasons.length > 0 ? reasons.join("; ") : undefined;
}
