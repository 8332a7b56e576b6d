/**
 * How hosts that join get into the address book: each under a label of its own.
 */
import { badInput, conflict } from "../../lib/errors";
import { once } from "../../lib/once";
import { printable } from "../../lib/sanitize";
import type { BookItem } from "./book/items";
import type { HostStore } from "./book/store";
import { byHostId, byNatsKey } from "./book-keys";
import { type Host, parseHost } from "./host";

export interface Admission {
  /**
   * The label that {@link admit} would give now, kept from other hosts that join here until it is disposed of.
   *
   * @throws as {@link admit}.
   */
  reserve(host: Host, exact: boolean): Promise<Disposable & { readonly label: string }>;
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
  admit(
    host: Host,
    exact: boolean,
    accept: (host: Host, known: Host | undefined) => Promise<boolean>,
  ): Promise<Host>;
}

/** What the book is asked of other hosts. */
type HostLookup = Pick<HostStore, "found">;

export function createAdmission(store: Pick<HostStore, "found" | "namesFound" | "change">): Admission {
  /** Labels of hosts that are about to be admitted, by how they look. */
  const reserved = new Map<string, Set<string>>();
  // The table of what looks alike has 100 kB, for hosts that join alone.
  const labelLooks = once(async () => {
    const looksOf = (await import("./label-look")).createLabelLooks();
    /** By what the label of an entry looks like. */
    const byLook = ({ name }: BookItem) => (name === undefined ? [] : looksOf(name));
    return {
      looksOf,
      isTaken: (look: string, but: string | undefined) =>
        store.namesFound(byLook, look).some((name) => name !== but),
    };
  });
  const isReserved = (look: string, but: string | undefined) =>
    [...(reserved.get(look) ?? [])].some((label) => label !== but);

  return {
    async reserve(host, exact) {
      const { looksOf, isTaken } = await labelLooks();
      const known = knownAs(host, store);
      const { label } = entryFor(host, exact, known, (wanted) =>
        looksOf(wanted).some((look) => isTaken(look, known?.label) || isReserved(look, known?.label)),
      );
      for (const look of looksOf(label)) reserved.set(look, (reserved.get(look) ?? new Set()).add(label));
      return {
        label,
        [Symbol.dispose]() {
          for (const look of looksOf(label)) {
            const labels = reserved.get(look);
            labels?.delete(label);
            if (labels?.size === 0) reserved.delete(look);
          }
        },
      };
    },
    admit: (host, exact, accept) =>
      store.change(async (list) => {
        const { looksOf, isTaken } = await labelLooks();
        const known = knownAs(host, store);
        const entry = entryFor(host, exact, known, (wanted) =>
          looksOf(wanted).some((look) => isTaken(look, known?.label)),
        );
        if (!(await accept(entry, known))) return known ?? entry;
        if (known?.label === entry.label) list.replace(entry);
        else {
          if (known) list.remove(known.label);
          list.add(entry);
        }
        return entry;
      }),
  };
}

/** The host of that identity. @throws as {@link refuseTakenKey}. */
function knownAs(host: Host, book: HostLookup): Host | undefined {
  refuseTakenKey(host, book);
  const id = host.member?.host_id;
  return id === undefined ? undefined : book.found(byHostId, id)[0];
}

/** @throws `conflict` where another host has its NATS key: what the desk asks of one would reach the other. */
export function refuseTakenKey({ member }: Host, book: HostLookup): void {
  const key = member?.nats_key;
  if (key === undefined) return;
  const other = book.found(byNatsKey, key).find((one) => one.member?.host_id !== member?.host_id);
  if (other) throw conflict(`nats_key: another host has this key: ${printable(other.label, 130)}`);
}

/** A host that joins as it would be in the book. @param looksTaken whether another host has that label, or one like it. @throws as `admit`. */
function entryFor(
  host: Host,
  exact: boolean,
  known: Host | undefined,
  looksTaken: (label: string) => boolean,
): Host {
  const isFree = (label: string) => label === known?.label || !looksTaken(label);
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

/** How many labels are tried one after the other: most hosts have few namesakes. */
const IN_TURN = 16;

/**
 * `wanted`, else the first of `wanted-2`, `wanted-3`, … that is free. Where many are taken, as by machines with one image, it is one that
 * follows a label that is taken, though one before may have become free: n of them cost a few looks for each host, not n.
 */
function freeLabel(wanted: string, isFree: (label: string) => boolean): string {
  const labelAt = (nth: number) => (nth === 1 ? wanted : `${wanted}-${nth}`);
  for (let nth = 1; nth <= IN_TURN; nth++) if (isFree(labelAt(nth))) return labelAt(nth);
  let [taken, free] = [IN_TURN, 2 * IN_TURN];
  while (!isFree(labelAt(free))) [taken, free] = [free, 2 * free];
  while (free - taken > 1) {
    const middle = Math.floor((taken + free) / 2);
    if (isFree(labelAt(middle))) free = middle;
    else taken = middle;
  }
  return labelAt(free);
}
