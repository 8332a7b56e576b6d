/**
 * The hosts of the address book, as plans reach them.
 */
import { unavailable } from "../../lib/errors";
import { serverOver } from "../../lib/per-server";
import type { Host } from "../fleet/host";
import { identityOf, type PlannedHost } from "./plan";
import type { PlansUses } from "./plans";

/** For how long what the address book says of all hosts is used again, in milliseconds. */
const SAME_MS = 500;

/** Whether the hosts of the address book are there. */
export interface HostLinks {
  /** Whether the host has not dialled since this process started, and may do so soon. */
  isExpected(label: string): boolean;
  /** Whether the host dials this process, and has no link to it. */
  isOffline(label: string): boolean;
  /** Why it has none, where that is known. */
  whyOffline(label: string): string | undefined;
}

type Uses = Pick<PlansUses, "book" | "recordsAt" | "isExpected" | "isGone" | "whyGone">;

export function hostsIn({ book, ...uses }: Uses) {
  const { now: all, forget } = kept(book.hosts, byLabel);
  /** The only host with that identity: one that has another label than when its plan was made. */
  const renamed = (identity: string) => {
    const [host, second] = book.hosts().filter((one) => identityOf(one) === identity);
    return second ? undefined : host;
  };
  const targetFor = (host: Host) => {
    const { label, member, base_url } = host;
    const records = uses.recordsAt(base_url);
    return { label, server: book.reach(host), host_id: member?.host_id ?? null, records };
  };
  return {
    targetFor,
    /** Takes note that the address book has changed: what it says is asked for anew. */
    changed: forget,
    /** Each host by its label, as the address book is in this turn of the event loop. @throws where it cannot be read. */
    hostsNow(): ReadonlyMap<string, Host> {
      forget();
      return all();
    },
    /** Where the jobs of the host go, which may have another label now; undefined where there is none. @throws `unavailable` where its entry cannot be used. */
    hostOf(label: string, identity: string) {
      const labelled = all().get(label);
      const isMeant = labelled !== undefined && identityOf(labelled) === identity;
      const host = isMeant ? labelled : (renamed(identity) ?? labelled);
      if (!host && book.isGone?.(label) === false) throw unavailable(`the entry of ${label} cannot be used`);
      return host && { ...targetFor(host), identity: identityOf(host) };
    },
    /** As of `Hosts`, in this turn of the event loop. @throws where the address book cannot be read. */
    sameTexts() {
      const hosts = all();
      return (planned: PlannedHost): PlannedHost => {
        const host = hosts.get(planned.label);
        const identity = host && identityOf(host);
        return host && identity === planned.identity ? { label: host.label, identity } : planned;
      };
    },
    isExpected(label: string): boolean {
      const host = all().get(label);
      return host !== undefined && uses.isExpected(host.base_url);
    },
    isOffline(label: string): boolean {
      const host = all().get(label);
      return host !== undefined && uses.isGone(host.base_url);
    },
    whyOffline(label: string): string | undefined {
      const host = all().get(label);
      return host && uses.whyGone?.(host.base_url);
    },
    serverAt(label: string): string | undefined {
      const host = all().get(label);
      return host && serverOver(host.base_url);
    },
  };
}

/** Each host by its label. No list of pairs in between: that would take more memory than the map. */
export function byLabel(hosts: readonly Host[]): ReadonlyMap<string, Host> {
  const all = new Map<string, Host>();
  for (const host of hosts) all.set(host.label, host);
  return all;
}

/**
 * `now` is what is made of what `read` returned less than {@link SAME_MS} ago: once, as long as it returns the same. After `forget`, it is
 * read at once.
 */
function kept<S, T>(read: () => S, make: (found: S) => T) {
  let known: { readonly from: S; readonly value: T; at: number } | undefined;
  return {
    now(): T {
      const at = performance.now();
      if (known && at - known.at <= SAME_MS) return known.value;
      const from = read();
      if (known?.from === from) known.at = at;
      else known = { from, value: make(from), at };
      return known.value;
    },
    forget(): void {
      if (known) known.at = Number.NEGATIVE_INFINITY;
    },
  };
}
