/** What an agent does within its lease. */
import type { Caller } from "../../core/caller";
import { allows, type Grant } from "../../core/rights";
import { deadline } from "../../lib/deadline";
import { badInput, conflict } from "../../lib/errors";
import { endLease, endWithClipboard, refuse, usedUp } from "./end";
import type { Lease } from "./lease";
import { type Entry, type LeasesParts, viewOf } from "./parts";
import { faultWithoutSecrets, secretsIn, withoutSecrets, withSecrets } from "./secret-references";

/**
 * Runs an operation of the agent.
 *
 * @throws `forbidden` for what the lease does not allow, which ends it; `cancelled` once it has ended.
 */
export async function useLease(
  parts: LeasesParts,
  entry: Entry,
  { operation: name, input }: { readonly operation: string; readonly input: unknown },
  caller: Caller,
): Promise<{ result: unknown; lease: Lease }> {
  const { id, holder } = entry;
  const { signal: ended } = entry.control;
  ended.throwIfAborted();
  const { hands } = entry;
  if (!hands) throw conflict(`the lease ${id} has not begun yet: a person has to allow it (${entry.state})`);
  if (!parts.offered(entry.terms.toolsets).has(name))
    throw refuse(parts, entry, `called ${name}, which its lease does not have`);
  const operation = await parts.operation(name);
  const given = Object(input);
  const { name: own = null } = entry.place ?? {};
  if (given.desktop !== undefined && given.desktop !== own)
    throw badInput(
      `desktop: expected ${own === null ? "none" : `none, or ${own}`}: the lease is for one desktop`,
    );
  const names = secretsIn(operation, given);
  const beyond = names.find((one) => !entry.terms.secrets.includes(one));
  if (beyond !== undefined)
    throw refuse(parts, entry, `used the secret ${beyond}, which its lease does not name`);
  const values = names.length > 0 ? await parts.secrets(names) : new Map<string, string>();
  for (const [one, value] of values) entry.filled.set(one, value);
  if (name === "desktop.set_clipboard") endWithClipboard(entry, [...values.values()]);
  // The end of the lease, which this call may bring, forgets them.
  const filled = new Map(entry.filled);
  const signal = AbortSignal.any([caller.signal, ended]);
  const announce = (subject: string) => caller.announce(`lease=${id} ${subject}`);
  // An agent over stdin is the client of another process.
  const agent = caller.agent ?? { key: holder, name: entry.asker.agent };
  const asLease: Caller = { ...callerOf(caller), grant: lent(caller.grant), signal, announce, agent };
  try {
    const written = { input: given, secrets: [...values.values()] };
    const work = parts.perform(operation, withSecrets(given, values), hands, asLease, written);
    const result = withoutSecrets(await deadline(work, { signal: ended }), filled);
    return { result, lease: viewOf(entry) };
  } catch (error) {
    throw faultWithoutSecrets(error, filled);
  } finally {
    if (entry.used >= entry.terms.actions) void endLease(parts, entry, usedUp(entry));
  }
}

/** The caller without what is of the request itself. */
const callerOf = ({ kind, lasts, client, trace, request, progress, warn }: Caller) => ({
  kind,
  lasts,
  client,
  trace,
  request,
  warn,
  ...(progress && { progress }),
});

/** What an agent may do within its lease: a person has lent it `operate` for the desktop. */
const lent = (grant: Grant): Grant => {
  const { asks: _, ...own } = grant;
  return allows(grant, "operate") ? own : { ...own, scopes: [...grant.scopes, "operate"] };
};
