/**
 * The hosts of a plan that are ready to begin, in their order, at each server (`lib/per-server.ts`).
 *
 * The promise: servers take turns, and one whose hosts have all places that they may have is passed over.
 */

/** After so many that have begun, the list of those that are ready is cut. */
const BEGUN = 1_000;

/** Those at one server. */
interface Queue<E> {
  readonly hosts: E[];
  next: number;
}

export class ReadyHosts<E> {
  readonly #queues = new Map<string, Queue<E>>();

  push(server: string, host: E): void {
    const queue = this.#queues.get(server);
    if (queue) queue.hosts.push(host);
    else this.#queues.set(server, { hosts: [host], next: 0 });
  }

  /** Takes the next one. @param isFree whether one more may begin at the server. */
  take(isFree: (server: string) => boolean): E | undefined {
    for (const [server, queue] of this.#queues) {
      if (!isFree(server)) continue;
      const host = queue.hosts[queue.next++];
      // Those that have begun are kept no longer: in the end, they would be all hosts of the plan.
      if (queue.next === BEGUN) {
        queue.hosts.splice(0, BEGUN);
        queue.next = 0;
      }
      // The next turn is that of another server.
      this.#queues.delete(server);
      if (queue.next < queue.hosts.length) this.#queues.set(server, queue);
      return host;
    }
    return undefined;
  }

  /**
   * Has hosts that were moved wait at the server at which they are now, behind those there.
   *
   * @param serverNow that of a host which may have been moved; undefined for any other.
   */
  move(serverNow: (host: E) => string | undefined): void {
    const moved: Array<readonly [server: string, host: E]> = [];
    for (const [server, { hosts, next }] of this.#queues) {
      const staying = hosts.filter((host, at) => {
        const now = at < next ? server : (serverNow(host) ?? server);
        if (now !== server) moved.push([now, host]);
        return at >= next && now === server;
      });
      if (staying.length > 0) this.#queues.set(server, { hosts: staying, next: 0 });
      else this.#queues.delete(server);
    }
    for (const [server, host] of moved) this.push(server, host);
  }

  clear(): void {
    this.#queues.clear();
  }
}
