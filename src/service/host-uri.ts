/** What names this host to receivers of its events. */
import { hostname } from "node:os";
import { lazily } from "../lib/once";
import { hostIdOf, readSigningKey } from "../trust/identity";

/** This host as a URI, by its identity; where it has none yet, by its name. Read once: it does not change while svc runs. */
export const uriOf = (hostKey: string): (() => string) =>
  lazily(() => `urn:svc:host:${idIn(hostKey) ?? encodeURIComponent(hostname())}`);

/** The id of the host whose identity is in the file; undefined where it has none, or it cannot be read, as the checks say. */
function idIn(hostKey: string): string | undefined {
  try {
    const key = readSigningKey(hostKey);
    return key && hostIdOf(key.publicKey);
  } catch {
    return undefined;
  }
}
