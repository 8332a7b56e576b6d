/** What an agent may do with the token that it has. */
import { allows, type Grant, isSession, SCOPES, shareOf } from "../../core/rights";

/**
 * `grant` without `admin`: whatever an agent is led to do, in lists of actions too, it makes no token, changes no configuration and
 * runs no program.
 *
 * @param without the names of operations that it shall not have either (`--exclude-tools`).
 */
export const agentGrant = (grant: Grant, without: readonly string[] = []): Grant => {
  const least = allows(grant, "admin") ? [...SCOPES, ...grant.scopes] : grant.scopes;
  const scopes = [...new Set(least)].filter((scope) => scope !== "admin");
  const isOwner = grant.name === null && allows(grant, "admin");
  return { ...grant, scopes, ...(isOwner && { owner: true }), ...(without.length > 0 && { without }) };
};

/** Whose pictures, leases and calls these are. A token that gets the name of one before it has its own. */
export const userOf = ({ name, since }: Grant): string => (name === null ? "" : `${name} ${since ?? ""}`);

/**
 * Whose proposals and budget these are: as {@link userOf}, but all sessions of a person are one. An agent gets itself a new access token, and
 * so another session, as often as it likes.
 */
export const proposerOf = (grant: Grant): string =>
  isSession(grant.name) ? (shareOf(grant) ?? "") : userOf(grant);
