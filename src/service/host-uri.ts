/** What names this host to receivers of its events. */
import { hostname } from "node:os";
import { hostIdOf, readSigningKey } from "../trust/identity";

/** This host as a URI, by its identity; where it has none yet, by its name. Read once: it does not change while svc runs. */
export function uriOf(hostKey: string): () => string {
  let source: string | undefined;
  return () => {
    source ??= `urn:svc:host:${idIn(hostKey) ?? encodeURIComponent(hostname())}`;
    return source;
  };
}

/** The id of the host whose identity is in the file; undefined where it has none, or it cannot be read, as the checks say. */
function idIn(hostKey: string): string | undefined {
  try {
    const key = readSigningKey(hostKey);
    return key && hostIdOf(key.publicKey);
  } catch {
    return undefined;
  }
}
