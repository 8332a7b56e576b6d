/**
 * The address book: `{config_dir}/admin_hosts.json`, with the promises of `lib/json-store.ts`.
 */
import { conflict, notFound } from "../lib/errors";
import { createJsonStore } from "../lib/json-store";
import type { Log } from "../lib/log";
import { printable } from "../lib/sanitize";
import { type Host, parseHost } from "./host";

export interface AddressBook {
  /**
   * The hosts as the file has them now, in its order.
   *
   * @throws an `unavailable` failure when the file cannot be read or is broken.
   */
  hosts(): readonly Host[];
  /** The host with that label. @throws `not_found` when there is none; as {@link hosts} does. */
  host(label: string): Host;
  /** Adds a host at the end. @throws `conflict` when the label is taken; as {@link hosts} does. */
  add(host: Host): Promise<void>;
  /**
   * Adds many hosts at once, or none.
   *
   * @param replace whether a host takes the place of the one that has its label.
   * @throws `conflict` naming the labels that are taken, unless `replace`.
   */
  addAll(hosts: readonly Host[], replace: boolean): Promise<{ added: number; replaced: number }>;
  /** Gives a host these tags and no others. @throws `not_found` when none has the label; as {@link hosts} does. */
  tag(label: string, tags: readonly string[]): Promise<Host>;
  /** @throws `not_found` when no host has the label; as {@link hosts} does. */
  remove(label: string): Promise<void>;
}

/** @param paths the file, and the lock of those who change it. */
export function createAddressBook(paths: { file: string; lock: string }, log: Log): AddressBook {
  const parse = (value: unknown) => {
    const parsed = parseHost(value);
    return "host" in parsed ? { entry: parsed.host } : parsed;
  };
  const format = { what: "an address book", list: "hosts", key: "label", parse } as const;
  const store = createJsonStore<Host>({ ...paths, ...format }, log);

  const addAll = (hosts: readonly Host[], replace: boolean) =>
    store.change((list) => {
      const taken = hosts.filter(({ label }) => list.has(label)).map(({ label }) => label);
      if (taken.length > 0 && !replace) throw conflict(takenText(taken));
      for (const host of hosts) list.put(host);
      return { added: hosts.length - taken.length, replaced: taken.length };
    });

  return {
    hosts: store.entries,
    host(label) {
      const found = store.entries().find((host) => host.label === label);
      if (!found) throw noSuchHost(label);
      return found;
    },
    async add(host) {
      await addAll([host], false);
    },
    addAll,
    tag: (label, tags) =>
      store.change((list) => {
        const host = list.update(label, { tags: [...tags] });
        if (!host) throw noSuchHost(label);
        return host;
      }),
    remove: (label) =>
      store.change((list) => {
        if (!list.remove(label)) throw noSuchHost(label);
      }),
  };
}

/** The failure for a label that no host has. */
const noSuchHost = (label: string) => notFound(`no host is labelled ${printable(label, 130)}`);

function takenText(labels: readonly string[]): string {
  const named = labels.slice(0, 10).join(", ");
  const more = labels.length > 10 ? ` and ${labels.length - 10} more` : "";
  return `label: taken already: ${printable(named)}${more}`;
}
