/**
 * Whose turn it is at each host: jobs of several plans for one host run in the order in which they came, one after the other.
 */
export interface HostQueues<E> {
  /** Takes the last place; one that has a place keeps it. @returns whether it is the first. */
  take(label: string, one: E): boolean;
  first(label: string): E | undefined;
  /** Those behind the first. */
  behind(label: string): readonly E[];
  /** Gives up a place. @returns who is the first now, where that is another. */
  leave(label: string, one: E): E | undefined;
  /** The host has another label from now on. */
  rename(from: string, to: string): void;
}

export function createHostQueues<E>(): HostQueues<E> {
  const places = new Map<string, E[]>();
  return {
    take(label, one) {
      const there = places.get(label);
      if (!there) places.set(label, [one]);
      else if (!there.includes(one)) there.push(one);
      return (there?.[0] ?? one) === one;
    },
    first: (label) => places.get(label)?.[0],
    behind: (label) => places.get(label)?.slice(1) ?? [],
    leave(label, one) {
      const there = places.get(label) ?? [];
      const at = there.indexOf(one);
      if (at < 0) return undefined;
      there.splice(at, 1);
      if (there.length === 0) places.delete(label);
      return at === 0 ? there[0] : undefined;
    },
    rename(from, to) {
      const moved = places.get(from);
      if (!moved) return;
      places.delete(from);
      places.set(to, [...(places.get(to) ?? []), ...moved]);
    },
  };
}
