/**
 * The address book: `{config_dir}/admin_hosts.json`, with the promises of `lib/json-store.ts`.
 *
 * Each method throws an `unavailable` failure when the file cannot be read or is broken, and `not_found` for a label that no
 * host has.
 */
import { isDeepStrictEqual } from "node:util";
import * as v from "valibot";
import type { RemoteServer } from "../client/carrier";
import type { Refusals } from "../client/refusals";
import { unheard } from "../core/events";
import { badInput, conflict, notFound } from "../lib/errors";
import { type Changes, createJsonStore, type ListFormat, loadFaults } from "../lib/json-store";
import type { Log } from "../lib/log";
import { printable } from "../lib/sanitize";
import { hostAdded, hostChanged, hostRemoved } from "./events";
import type { KeyChange } from "./follow";
import { type Host, parseHost, serverOf, trustOf, type Ways } from "./host";
import { selectHosts } from "./selection";

export type AddressBook = ReturnType<typeof createAddressBook>;

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
 * @param paths the file, and the lock for changes to it.
 * @param refusals the tokens that hosts have refused.
 * @param publish says what changes.
 * @param ways to hosts that are not reached by http or https.
 */
export function createAddressBook(
  paths: { readonly file: string; readonly lock: string },
  log: Log,
  refusals?: Refusals,
  publish = unheard,
  ways: Ways = {},
) {
  const changed = (what: "added" | "changed" | "removed", { label, base_url, tags }: Host) => {
    if (what === "removed") publish(hostRemoved, { label });
    else publish(what === "added" ? hostAdded : hostChanged, { label, base_url, tags });
  };
  const store = createJsonStore<Host>({ ...paths, ...FORMAT, changed }, log);
  /** Labels of hosts that are about to be admitted. */
  const reserved = new Set<string>();

  const book = {
    /** The hosts that are in the file now, in its order. */
    hosts: store.entries,
    /** The hosts that `selection` matches. @throws as {@link selectHosts}. */
    select: (selection: string): Host[] => selectHosts(store.entries(), selection),
    /** Their labels and servers. @throws as {@link selectHosts}. */
    servers: (selection: string) =>
      book.select(selection).map((host) => ({ label: host.label, server: book.reach(host) })),
    server: (label: string): RemoteServer => book.reach(book.host(label)),
    /** The server of a host. A token that it refused is not sent again for ten minutes. */
    reach: (host: Host): RemoteServer => serverOf(host, refusals, ways),
    /** Lets the tokens of `hosts` be sent again. */
    askAgain: async (hosts: readonly Host[]): Promise<void> =>
      refusals?.forget(hosts.map((host) => serverOf(host))),
    /** What makes sure that it is the host which answers, of each. */
    trust: () =>
      store.entries().map((host) => ({ label: host.label, base_url: host.base_url, trust: trustOf(host) })),
    /** Appends a host. @throws `conflict` when the label is taken. */
    add: (host: Host) => book.addAll([host], false),
    /**
     * Adds all these hosts or, when it throws, none. The same host, by address or pin, stays one that has joined.
     *
     * @param replace whether a host replaces the one with the same label.
     * @throws `conflict` naming the labels that are taken, unless `replace`.
     */
    async addAll(hosts: readonly Host[], replace: boolean) {
      const left: string[] = [];
      const counts = await store.change((list) => {
        const taken = hosts.filter(({ label }) => list.has(label)).map(({ label }) => label);
        if (taken.length > 0 && !replace) throw conflict(takenText(taken));
        const known = new Map(list.entries.map((host) => [host.label, host]));
        for (const host of hosts) {
          const old = known.get(host.label);
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
    /**
     * The label that {@link admit} would give now, kept from other hosts that join here until it is disposed of.
     *
     * @throws as {@link admit}.
     */
    reserve(host: Host, exact: boolean): Disposable & { readonly label: string } {
      const hosts = store.entries();
      const names = [...hosts.map((one) => one.label), ...reserved];
      const { label } = entryFor(host, exact, knownAs(host, hosts), names);
      reserved.add(label);
      return { label, [Symbol.dispose]: () => void reserved.delete(label) };
    },
    /**
     * Adds a host that joins, under a label of its own; one that has joined before keeps its label and its tags. No other
     * host loses its place, and none gets a label that looks like another's.
     *
     * @param host its `label` is what it wants to be called.
     * @param exact whether it gets no other label: `-2`, `-3`, … after a label that is taken.
     * @param accept is called before anything is written, with the host as it would be and as it was. What it throws keeps
     *   the host out; false leaves all as it is.
     * @returns the host as it is in the book.
     * @throws `conflict` when the label is taken, if `exact`, or its NATS key; `bad_input` when the fields do not go together.
     */
    admit: (
      host: Host,
      exact: boolean,
      accept: (host: Host, known: Host | undefined) => Promise<boolean>,
    ): Promise<Host> =>
      store.change(async (list) => {
        const known = knownAs(host, list.entries);
        const entry = entryFor(host, exact, known, list.names);
        if (!(await accept(entry, known))) return known ?? entry;
        if (known?.label === entry.label) list.replace(entry);
        else {
          if (known) list.remove(known.label);
          list.add(entry);
        }
        return entry;
      }),
    host(label: string): Host {
      const found = store.entries().find((host) => host.label === label);
      if (!found) throw noSuchHost(label);
      return found;
    },
    /**
     * Sets the fields of a host that `change` returns; undefined removes one. Fields that svc does not know stay.
     *
     * @returns the host.
     * @throws `bad_input` when these fields do not go together; what `change` throws.
     */
    async set(label: string, change: (host: Host) => Changes<Host>): Promise<Host> {
      const changed = await store.change((list) => {
        const old = list.entries.find((host) => host.label === label);
        if (!old) throw noSuchHost(label);
        const fields = change(old);
        const parsed = parseHost({ ...old, ...fields });
        if ("fault" in parsed) throw badInput(parsed.fault);
        refuseTakenKey(parsed.entry, list.entries);
        list.update(label, { ...fields, base_url: parsed.entry.base_url });
        return parsed.entry;
      });
      await book.askAgain([changed]);
      return changed;
    },
    /** Sets the pins of hosts that are as they were. @returns the changes that were made. */
    follow: (changes: readonly KeyChange[]) =>
      store.change((list) => {
        const hosts = new Map(list.entries.map((host) => [host.label, host]));
        const isSame = ({ host: { label, base_url, pin, next_pin } }: KeyChange) => {
          const now = hosts.get(label);
          return now?.base_url === base_url && now.pin === pin && now.next_pin === next_pin;
        };
        const made = changes.filter(isSame);
        for (const { host, pin, next_pin } of made) list.update(host.label, { pin, next_pin });
        return made;
      }),
    /** @returns whether there was such a host. */
    remove: (label: string) => store.change((list) => list.remove(label)),
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

/** The host of that identity. @throws as {@link refuseTakenKey}. */
function knownAs(host: Host, hosts: readonly Host[]): Host | undefined {
  refuseTakenKey(host, hosts);
  return hosts.find((one) => one.member?.host_id === host.member?.host_id);
}

/** @throws `conflict` where another host has its NATS key: what the desk asks of one would reach the other. */
function refuseTakenKey({ member }: Host, hosts: readonly Host[]): void {
  const key = member?.nats_key;
  if (key === undefined) return;
  const other = hosts.find((one) => one.member?.nats_key === key && one.member.host_id !== member?.host_id);
  if (other) throw conflict(`nats_key: another host has this key: ${printable(other.label, 130)}`);
}

/** A host that joins as it would be in the book, where `names` are taken. @throws as `admit`. */
function entryFor(host: Host, exact: boolean, known: Host | undefined, names: readonly string[]): Host {
  const looks = new Set(names.filter((name) => name !== known?.label).map(lookOf));
  const isFree = (label: string) => label === known?.label || !looks.has(lookOf(label));
  const tags = [...new Set([...(known?.tags ?? []), ...host.tags])];
  const entryWith = (label: string) => {
    const parsed = parseHost({ ...host, label, tags });
    if ("fault" in parsed) throw badInput(parsed.fault);
    return parsed.entry;
  };
  const { label: wanted } = entryWith(host.label);
  if (exact && !isFree(wanted)) {
    throw conflict(`label: another host is labelled ${printable(wanted, 130)}, or much like it`);
  }
  return entryWith(known && !exact ? known.label : freeLabel(wanted, isFree));
}

/** What a reader sees of a label: the same for those that differ in case, in width or in spaces only. */
const lookOf = (label: string) => label.normalize("NFKC").toLowerCase().replaceAll(/\s+/g, " ").trim();

/** `wanted`, else the first of `wanted-2`, `wanted-3`, … that is free. */
function freeLabel(wanted: string, isFree: (label: string) => boolean): string {
  for (let nth = 1; ; nth++) {
    const label = nth === 1 ? wanted : `${wanted}-${nth}`;
    if (isFree(label)) return label;
  }
}

const noSuchHost = (label: string) => notFound(`no host is labelled ${printable(label, 130)}`);

function takenText(labels: readonly string[]): string {
  const named = labels.slice(0, 10).join(", ");
  const more = labels.length > 10 ? ` and ${labels.length - 10} more` : "";
  const advice = "`svc admin set` changes a host, and --replace (`replace`) puts this one in its place";
  return `label: taken already: ${printable(named)}${more} (${advice})`;
}
