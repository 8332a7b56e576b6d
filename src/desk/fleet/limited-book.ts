/**
 * The address book for who may act on some of its hosts alone, such as a person whose group is for `tag:lab`.
 *
 * The promise: no other host is found in it, by label, by selection or in a list. The list is the same array while the hosts are the same.
 */
import { orElse } from "../../lib/or-else";
import type { AddressBook } from "./address-book";
import { noSuchHost } from "./book-changes";
import type { Host } from "./host";
import { matchingHosts, selectHosts, selectHostsNow, taggedHosts } from "./selection";

/** @param on the selection of the hosts, as it is each time that somebody looks. */
export function limitedBook(book: AddressBook, on: string): AddressBook {
  let known: { readonly all: readonly Host[]; readonly selected: readonly Host[] } | undefined;
  const hosts = (): readonly Host[] => {
    const all = allOf(book);
    if (known?.all !== all) known = { all, selected: selectedIn(all, on) };
    return known.selected;
  };
  const mine = (host: Host | undefined) => (host && hosts().includes(host) ? host : undefined);
  const limited: AddressBook = {
    ...book,
    hosts,
    memberWith: (hostId) => mine(book.memberWith(hostId)),
    withNatsKey: (key) => mine(book.withNatsKey(key)),
    select: (selection) => selectHosts(hosts(), selection),
    tagged: async (tags) => taggedHosts(hosts(), tags),
    matching: (selection) => matchingHosts(hosts(), selection),
    servers: async (selection) =>
      (await limited.select(selection)).map((host) => ({ label: host.label, server: book.reach(host) })),
    server: (label) => book.reach(limited.host(label)),
    host(label) {
      const found = hosts().find((host) => host.label === label);
      if (!found) throw noSuchHost(label);
      return found;
    },
    trust: () => {
      const known = new Set(hosts().map(({ label }) => label));
      return book.trust().filter(({ label }) => known.has(label));
    },
  };
  return limited;
}

const NONE: readonly Host[] = [];

/** The hosts of `book`; none while it cannot be read. */
const allOf = (book: AddressBook): readonly Host[] => orElse(() => book.hosts(), NONE);

function selectedIn(hosts: readonly Host[], on: string): readonly Host[] {
  try {
    return selectHostsNow(hosts, on);
  } catch {
    // A tag that no host has yet selects none.
    return NONE;
  }
}
