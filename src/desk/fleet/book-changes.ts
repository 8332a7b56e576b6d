/**
 * Changes of several hosts of the address book at once, all or none, and of what names one.
 */
import { isDeepStrictEqual } from "node:util";
import { conflict, type Failure, notFound } from "../../lib/errors";
import type { Changes } from "../../lib/json-store";
import { printable } from "../../lib/sanitize";
import type { HostStore } from "./book/store";
import type { Host } from "./host";
import { selectHosts } from "./selection";

/** What is compared of a host that is edited. */
const SEEN = ["base_url", "tags", "ca", "pin"] as const;

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
  /**
   * Sets fields of several hosts that are as they were when somebody looked: of all, or none.
   *
   * @returns the hosts as they are then, in the order of `edits`.
   * @throws `conflict` where one is another by now, or a label is taken; `bad_input` where fields do not go together.
   */
  edit(edits: readonly BookEdit[]): Promise<Host[]>;
  /** @returns whether there was such a host. */
  remove(label: string): Promise<boolean>;
  /** Removes the hosts with these labels. @returns the labels that there were. */
  removeAll(labels: readonly string[]): Promise<string[]>;
}

/** A change of one host. */
export interface BookEdit {
  /** The host as it was seen. */
  readonly was: Pick<Host, "label" | "base_url" | "tags" | "ca" | "pin">;
  readonly fields: (host: Host) => Changes<Host>;
}

/** @param store where the book is kept. */
export function createBookChanges(store: Pick<HostStore, "change">): BookChanges {
  return {
    changeTags: (selection, change) =>
      store.change(async (list) =>
        (await selectHosts(list.hosts, selection)).map((old) => {
          const next = change(old.tags);
          const isSame = isDeepStrictEqual(next, old.tags);
          return { host: (isSame ? old : list.update(old.label, { tags: next })) ?? old, before: old.tags };
        }),
      ),
    rename: (label, to) =>
      store.change((list) => {
        if (!list.get(label)) throw noSuchHost(label);
        if (list.has(to)) throw conflict(`to: another host is labelled ${printable(to, 130)}`);
        const renamed = list.update(label, { label: to });
        if (!renamed) throw noSuchHost(label);
        return renamed;
      }),
    edit: (edits) =>
      store.change((list) =>
        edits.map(({ was, fields }) => {
          const { label } = was;
          const host = list.get(label);
          if (!host) throw noSuchHost(label);
          const isSame = SEEN.every((name) => isDeepStrictEqual(host[name], was[name]));
          if (!isSame)
            throw conflict(`${printable(label, 130)}: somebody else has changed the host meanwhile`);
          const changes = fields(host);
          const { label: to = label } = changes;
          if (to !== label && list.has(to))
            throw conflict(`${printable(label, 130)}: another host is labelled ${printable(to, 130)}`);
          const changed = list.update(label, changes);
          if (!changed) throw noSuchHost(label);
          return changed;
        }),
      ),
    remove: (label) => store.change((list) => list.remove(label)),
    removeAll: (labels) => store.change((list) => list.removeAll(labels)),
  };
}
