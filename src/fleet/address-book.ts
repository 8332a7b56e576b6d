/**
 * The address book: `{config_dir}/admin_hosts.json`, with the promises of `lib/json-store.ts`.
 */
import type { RemoteServer } from "../client/carrier";
import { conflict, notFound } from "../lib/errors";
import { createJsonStore } from "../lib/json-store";
import type { Log } from "../lib/log";
import { printable } from "../lib/sanitize";
import { type Host, parseHost, serverOf } from "./host";
import { selectHosts } from "./selection";

export interface AddressBook {
  /**
   * The hosts that are in the file now, in its order.
   *
   * @throws an `unavailable` failure when the file cannot be read or is broken.
   */
  hosts(): readonly Host[];
  /** The hosts that `selection` matches. @throws as {@link selectHosts} and {@link hosts} do. */
  select(selection: string): Host[];
  /** Their labels and servers. @throws as {@link select} does. */
  servers(selection: string): Array<{ readonly label: string; readonly server: RemoteServer }>;
  /** The server with that label. @throws `not_found` when there is none; as {@link hosts} does. */
  server(label: string): RemoteServer;
  /** Appends a host. @throws `conflict` when the label is taken; as {@link hosts} does. */
  add(host: Host): Promise<void>;
  /**
   * Adds all these hosts or, when it throws, none.
   *
   * @param replace whether a host replaces the one with the same label.
   * @throws `conflict` naming the labels that are taken, unless `replace`.
   */
  addAll(hosts: readonly Host[], replace: boolean): Promise<{ added: number; replaced: number }>;
  /** Sets the tags of a host. @throws `not_found` when none has the label; as {@link hosts} does. */
  tag(label: string, tags: readonly string[]): Promise<Host>;
  /** @throws `not_found` when no host has the label; as {@link hosts} does. */
  remove(label: string): Promise<void>;
}

/** @param paths the file, and the lock for changes to it. */
export function createAddressBook(paths: { file: string; lock: string }, log: Log): AddressBook {
  const format = { what: "an address book", list: "hosts", key: "label", parse: parseHost } as const;
  const store = createJsonStore<Host>({ ...paths, ...format }, log);

  const addAll = (hosts: readonly Host[], replace: boolean) =>
    store.change((list) => {
      const taken = hosts.filter(({ label }) => list.has(label)).map(({ label }) => label);
      if (taken.length > 0 && !replace) throw conflict(takenText(taken));
      for (const host of hosts) list.put(host);
      return { added: hosts.length - taken.length, replaced: taken.length };
    });

  const select = (selection: string) => selectHosts(store.entries(), selection);

  return {
    hosts: store.entries,
    select,
    servers: (selection) => select(selection).map((host) => ({ label: host.label, server: serverOf(host) })),
    server(label) {
      const found = store.entries().find((host) => host.label === label);
      if (!found) throw noSuchHost(label);
      return serverOf(found);
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

const noSuchHost = (label: string) => notFound(`no host is labelled ${printable(label, 130)}`);

function takenText(labels: readonly string[]): string {
  const named = labels.slice(0, 10).join(", ");
  const more = labels.length > 10 ? ` and ${labels.length - 10} more` : "";
  return `label: taken already: ${printable(named)}${more}`;
}
