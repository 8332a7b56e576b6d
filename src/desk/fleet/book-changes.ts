/**
 * Changes of several hosts of the address book at once, all or none, and of what names one.
 */
import { isDeepStrictEqual } from "node:util";
import { conflict, type Failure, notFound } from "../../lib/errors";
import type { JsonStore } from "../../lib/json-store";
import { printable } from "../../lib/sanitize";
import type { Host } from "./host";
import { selectHosts } from "./selection";

/** No host has that label. */
export const noSuchHost = (label: string): Failure =>
  notFound(`no host is labelled ${printable(label, 130)}`);

/** What is changed of hosts of the address book besides their trust. */
export interface BookChanges {
  /**
   * Sets the tags of all hosts that `selection` matches to what `change` makes of those they have: of all hosts, or none.
   *
   * @returns these hosts, with the tags that they had before.
   * @throws as {@link selectHosts}; `bad_input` for too many tags.
   */
  changeTags(
    selection: string,
    change: (tags: readonly string[]) => string[],
  ): Promise<Array<{ readonly host: Host; readonly before: Host["tags"] }>>;
  /**
   * Gives the host another label; the rest of its entry stays.
   *
   * @throws `conflict` where another entry has it.
   */
  rename(label: string, to: string): Promise<Host>;
  /** @returns whether there was such a host. */
  remove(label: string): Promise<boolean>;
  /** Removes the hosts with these labels. @returns the labels that there were. */
  removeAll(labels: readonly string[]): Promise<string[]>;
}

/** @param store the file of the book. */
export function createBookChanges(store: Pick<JsonStore<Host>, "change">): BookChanges {
  return {
    changeTags: (selection, change) =>
      store.change((list) => {
        const selected = new Map(selectHosts(list.entries, selection).map((host) => [host.label, host]));
        const changed = list.updateEach(({ label, tags }) => {
          const next = selected.has(label) ? change(tags) : tags;
          return isDeepStrictEqual(next, tags) ? undefined : { tags: next };
        });
        const now = new Map(changed.map((host) => [host.label, host]));
        return [...selected.values()].map((old) => ({ host: now.get(old.label) ?? old, before: old.tags }));
      }),
    rename: (label, to) =>
      store.change((list) => {
        if (!list.entries.some((host) => host.label === label)) throw noSuchHost(label);
        if (list.has(to)) throw conflict(`to: another host is labelled ${printable(to, 130)}`);
        const [renamed] = list.updateEach((host) => (host.label === label ? { label: to } : undefined));
        if (!renamed) throw noSuchHost(label);
        return renamed;
      }),
    remove: (label) => store.change((list) => list.remove(label)),
    removeAll: (labels) => store.change((list) => list.removeAll(labels)),
  };
}
