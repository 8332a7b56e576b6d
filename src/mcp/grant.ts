/** What an agent may do with the token that it has. */
import { allows, type Grant, SCOPES } from "../core/rights";

/**
 * `grant` without `admin`: whatever an agent is led to do, in lists of actions too, it makes no token, changes no configuration and
 * runs no program.
 */
export const agentGrant = (grant: Grant): Grant => {
  const least = allows(grant, "admin") ? [...SCOPES, ...grant.scopes] : grant.scopes;
  return { ...grant, scopes: [...new Set(least)].filter((scope) => scope !== "admin") };
};

/** Whose proposals and budget these are. A token that gets the name of one before it has its own. */
export const userOf = ({ name, since }: Grant): string => (name === null ? "" : `${name} ${since ?? ""}`);
