/** Finding hosts of the address book by what a carrier knows them by: each of its messages asks for one. */
import type { AddressBook } from "../desk/fleet/address-book";
import type { Host } from "../desk/fleet/host";

/** How old the index may be, in milliseconds. */
const AGE_MS = 1_000;

/** An index of the address book. While that cannot be read, its hosts are those of before. */
export interface HostIndex {
  /** The one with that key. One that has just joined is there at once. */
  find(key: string): Host | undefined;
  /** Whether the address book could be read last. */
  areKnown(): boolean;
}

/** @param keyOf undefined for a host that has none. @param findNow looks in the address book itself. */
export function createHostIndex(
  { hosts }: Pick<AddressBook, "hosts">,
  keyOf: (host: Host) => string | undefined,
  findNow: (key: string) => Host | undefined,
): HostIndex {
  let listed: readonly Host[] | undefined;
  let byKey: ReadonlyMap<string, Host> = new Map();
  let isReadable = false;
  let readAt = Number.NEGATIVE_INFINITY;
  const read = () => {
    if (performance.now() - readAt <= AGE_MS) return;
    readAt = performance.now();
    try {
      const now = hosts();
      isReadable = true;
      if (now === listed) return;
      listed = now;
      byKey = new Map(now.flatMap((host) => entryOf(keyOf(host), host)));
    } catch {
      isReadable = false;
    }
  };
  return {
    find(key) {
      read();
      const known = byKey.get(key);
      if (known || !isReadable) return known;
      try {
        return findNow(key);
      } catch {
        isReadable = false;
        return undefined;
      }
    },
    areKnown() {
      read();
      return isReadable;
    },
  };
}

const entryOf = (key: string | undefined, host: Host): Array<readonly [string, Host]> =>
  key === undefined ? [] : [[key, host]];
