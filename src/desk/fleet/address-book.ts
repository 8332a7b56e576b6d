/**
 * The address book: `{config_dir}/admin_hosts.db`, with the promises of `book/store.ts`.
 *
 * Each method throws an `unavailable` failure when the file cannot be read or is broken, and `not_found` for a label that no
 * host has.
 */
import { isDeepStrictEqual } from "node:util";
import * as v from "valibot";
import type { LabelledServer, RemoteServer } from "../../client/carrier";
import type { Refusals } from "../../client/refusals";
import { unheard } from "../../core/events";
import { badInput, conflict } from "../../lib/errors";
import { type Changes, type ListFormat, loadFaults } from "../../lib/json-store";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import { type Admission, createAdmission, refuseTakenKey } from "./admission";
import { type BookPaths, createHostStore, type HostStore } from "./book/store";
import { type BookChanges, createBookChanges, noSuchHost } from "./book-changes";
import { byHostId, byNatsKey } from "./book-keys";
import { hostAdded, hostChanged, hostRemoved } from "./events";
import type { KeyChange, RightsChange } from "./follow";
import { type Host, type HostTrust, parseHost, serverOf, trustOf, type Ways } from "./host";
import { matchingHosts } from "./selection";

/** The hosts of this desk. */
export interface AddressBook
  extends Admission,
    BookChanges,
    Pick<HostStore, "hosts" | "isGone" | "select" | "tagged" | "takeOver" | "ignored" | "content" | "close"> {
  /** The host with that identity, which has joined this desk, and the one with that NATS key; undefined where there is none. */
  memberWith(hostId: string): Host | undefined;
  withNatsKey(key: string): Host | undefined;
  /** Those that a selection of before matches now: what is gone since matches none. @throws as {@link matchingHosts}. */
  matching(selection: string): Promise<Host[]>;
  /** Their labels and servers. @throws as {@link selectHosts}. */
  servers(selection: string): Promise<LabelledServer[]>;
  server(label: string): RemoteServer;
  /** The server of a host. A token that it refused is not sent again for ten minutes. */
  reach(host: Host): RemoteServer;
  /** Lets the tokens of `hosts` be sent again. */
  askAgain(hosts: readonly Host[]): Promise<void>;
  /** What makes sure that it is the host which answers, of each. */
  trust(): Array<Pick<Host, "label" | "base_url"> & { readonly trust: HostTrust }>;
  /** Appends a host. @throws `conflict` when the label is taken. */
  add(host: Host): Promise<AddedHosts>;
  /**
   * Adds all these hosts or, when it throws, none. The same host, by address or pin, stays one that has joined.
   *
   * @param replace whether a host replaces the one with the same label.
   * @throws `conflict` naming the labels that are taken, unless `replace`.
   */
  addAll(hosts: readonly Host[], replace: boolean): Promise<AddedHosts>;
  host(label: string): Host;
  /**
   * Sets the fields of a host that `change` returns; undefined removes one. Fields that svc does not know stay.
   *
   * @returns the host.
   * @throws `bad_input` when these fields do not go together; what `change` throws.
   */
  set(label: string, change: (host: Host) => Changes<Host>): Promise<Host>;
  /** Sets the pins of hosts that are as they were. @returns the changes that were made. */
  follow(changes: readonly KeyChange[]): Promise<KeyChange[]>;
  /** Stores what hosts let this desk do, of those that are still at the same address with the same token. */
  learn(changes: readonly RightsChange[]): Promise<void>;
  /** Puts this in place of the whole book, for who holds its lock. Only where {@link AddressBook.content} has something. */
  replaceAll(content: unknown): void;
}

/** How many hosts were added, and how many took the place of one. */
interface AddedHosts {
  readonly added: number;
  readonly replaced: number;
}

const FORMAT: ListFormat<Host> = { what: "an address book", list: "hosts", key: "label", parse: parseHost };

/** What an address book would not load of a file with this `content`, in words that quote no token. */
export const addressBookFaults = (content: unknown): string[] => loadFaults(FORMAT, content);

/**
 * The address book `here`, and behind its hosts those of `there` with labels of their own. Of two hosts with one label, the
 * one here stays: no bundle decides where a known token is sent.
 *
 * @returns the content of the file, and the labels of which the two hosts differ.
 * @throws `conflict` when the one here is no address book.
 */
export function mergeAddressBooks(here: unknown, there: unknown) {
  const [mine, theirs] = [v.safeParse(BOOK, here), v.safeParse(BOOK, there)];
  if (!mine.success || !theirs.success) {
    throw conflict("admin_hosts.json is not an address book here: mend it, or import without merging");
  }
  const known = new Map(mine.output.hosts.toReversed().map((value) => [labelOf(value), value]));
  const added = theirs.output.hosts.filter((value) => !known.has(labelOf(value)));
  const differs = (value: unknown) =>
    !isDeepStrictEqual(parseHost(known.get(labelOf(value))), parseHost(value));
  const conflicts = theirs.output.hosts.filter((value) => known.has(labelOf(value)) && differs(value));
  const content = added.length > 0 ? { ...mine.output, hosts: [...mine.output.hosts, ...added] } : here;
  return { content, conflicts: conflicts.map(labelOf) };
}

const BOOK = v.looseObject({ hosts: v.array(v.unknown()) });

const labelOf = (value: unknown) => String(Object(value).label).trim().normalize("NFC");

/**
 * @param paths where it is, and the lock for changes to it.
 * @param refusals the tokens that hosts have refused.
 * @param publish says what changes.
 * @param ways to hosts that are not reached by http or https.
 */
export function createAddressBook(
  paths: BookPaths,
  log: Log,
  refusals?: Refusals,
  publish = unheard,
  ways: Ways = {},
): AddressBook {
  const store = createHostStore(paths, FORMAT, log, (what, { label, base_url, tags }) => {
    if (what === "removed") publish(hostRemoved, { label });
    else publish(what === "added" ? hostAdded : hostChanged, { label, base_url, tags });
  });

  const changes = createBookChanges(store);
  const book: AddressBook = {
    hosts: store.hosts,
    memberWith: (hostId) => store.found(byHostId, hostId)[0],
    withNatsKey: (key) => store.found(byNatsKey, key)[0],
    isGone: store.isGone,
    select: store.select,
    tagged: store.tagged,
    matching: (selection) => matchingHosts(store.hosts(), selection),
    servers: async (selection) =>
      (await book.select(selection)).map((host) => ({ label: host.label, server: book.reach(host) })),
    server: (label) => book.reach(book.host(label)),
    reach: (host) => serverOf(host, refusals, ways),
    askAgain: async (hosts) => refusals?.forget(hosts.map((host) => serverOf(host))),
    trust: () =>
      store.hosts().map((host) => ({ label: host.label, base_url: host.base_url, trust: trustOf(host) })),
    add: (host) => book.addAll([host], false),
    async addAll(hosts, replace) {
      const left: string[] = [];
      const counts = await store.change((list) => {
        const taken = hosts.filter(({ label }) => list.has(label)).map(({ label }) => label);
        if (taken.length > 0 && !replace) throw conflict(takenText(taken));
        for (const host of hosts) {
          const old = list.get(host.label);
          const kept = old ? inPlaceOf(old, host) : host;
          if (old?.member && !kept.member) left.push(host.label);
          if (replace) list.replace(kept);
          else list.add(kept);
        }
        return { added: hosts.length - taken.length, replaced: taken.length };
      });
      for (const label of left) log.warn(`${printable(label, 130)} ${MEMBERSHIP_LOST}`);
      await book.askAgain(hosts);
      return counts;
    },
    ...createAdmission(store),
    ...changes,
    async edit(edits) {
      const edited = await changes.edit(edits);
      await book.askAgain(edited);
      return edited;
    },
    host(label) {
      const found = store.host(label);
      if (!found) throw noSuchHost(label);
      return found;
    },
    async set(label, change) {
      const changed = await store.change((list) => {
        const old = list.get(label);
        if (!old) throw noSuchHost(label);
        const fields = change(old);
        const parsed = parseHost({ ...old, ...fields });
        if ("fault" in parsed) throw badInput(parsed.fault);
        refuseTakenKey(parsed.entry, store);
        list.update(label, { ...fields, base_url: parsed.entry.base_url });
        return parsed.entry;
      });
      await book.askAgain([changed]);
      return changed;
    },
    follow: (changes) =>
      store.change((list) => {
        const isSame = ({ host: { label, base_url, pin, next_pin } }: KeyChange) => {
          const now = list.get(label);
          return now?.base_url === base_url && now.pin === pin && now.next_pin === next_pin;
        };
        const made = changes.filter(isSame);
        for (const { host, pin, next_pin } of made) list.update(host.label, { pin, next_pin });
        return made;
      }),
    learn: (changes) =>
      store.change((list) => {
        for (const { host, rights } of changes) {
          const now = list.get(host.label);
          if (now?.base_url === host.base_url && now.token === host.token)
            list.update(host.label, { rights });
        }
      }),
    takeOver: store.takeOver,
    ignored: store.ignored,
    content: store.content,
    replaceAll: store.replace,
    close: store.close,
  };
  return book;
}

/** `host` with what the book knows of the same host, `old`: its membership, the key it announced, when its token ends. */
function inPlaceOf(old: Host, host: Host): Host {
  const hasSamePin = host.pin !== undefined && host.pin === old.pin;
  const isSame = hasSamePin || host.base_url === old.base_url;
  return {
    ...host,
    next_pin: host.next_pin ?? (hasSamePin ? old.next_pin : undefined),
    member: host.member ?? (isSame ? old.member : undefined),
    token_expires: host.token_expires ?? (host.token === old.token ? old.token_expires : undefined),
  };
}

const MEMBERSHIP_LOST =
  "had joined this desk, and does not count as joined any more: the new entry has another address and pin. The token " +
  "that it made for this desk works until `svc leave` runs there";

function takenText(labels: readonly string[]): string {
  const named = labels.slice(0, 10).join(", ");
  const more = labels.length > 10 ? ` and ${labels.length - 10} more` : "";
  const advice = "`svc admin set` changes a host, and --replace (`replace`) puts this one in its place";
  return `label: taken already: ${printable(named)}${more} (${advice})`;
}
