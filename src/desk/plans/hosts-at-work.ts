/**
 * The hosts of a plan that have a job, or may have one: while its answer is lost, it may run. And how many of them there are at each server
 * (`lib/per-server.ts`).
 */
import { perServer } from "../../lib/per-server";

/** Counts the hosts of a plan that are at work. */
export class HostsAtWork<E> {
  /** Each with the server at which it counts, from which it may have moved. */
  readonly #servers = new Map<E, string>();
  readonly #at = perServer(() => ({ count: 0 }));

  /** How many there are at the server. */
  countAt(server: string): number {
    return this.#at(server).count;
  }

  /** Takes note of whether the host is at work. @param serverNow says where it counts from now on. */
  note(host: E, isWorking: boolean, serverNow: () => string): void {
    const before = this.#servers.get(host);
    if (isWorking === (before !== undefined)) return;
    const server = before ?? serverNow();
    this.#at(server).count += isWorking ? 1 : -1;
    if (isWorking) this.#servers.set(host, server);
    else this.#servers.delete(host);
  }
}
