/**
 * What is kept for several callers, and how much of it.
 *
 * The promise: all together have at most so many entries. Where that is too many, the oldest of the caller goes who has the most: nobody
 * pushes out what others have while they have more themselves.
 */

/** Entries by caller and key. A caller is known by a share; null is the owner. */
interface FairMap<K, V> {
  /** The value becomes the newest of that caller. */
  put(share: string | null, key: K, value: V): void;
  /** What that caller has. */
  get(share: string | null, key: K): V | undefined;
  /** What any caller has. */
  find(key: K): V | undefined;
  /** Takes it from whoever has it; `gone` is not called. */
  remove(key: K): void;
}

/** @param gone is called with a key that no caller has any longer, and its last value. */
export function createFairMap<K, V>(
  most: number,
  gone: (key: K, value: V) => void = () => {},
): FairMap<K, V> {
  const byShare = new Map<string | null, Map<K, V>>();
  let size = 0;

  const find = (key: K): V | undefined => {
    for (const entries of byShare.values()) if (entries.has(key)) return entries.get(key);
    return undefined;
  };
  const has = (key: K) => [...byShare.values()].some((entries) => entries.has(key));
  const forgetOne = () => {
    const [largest] = [...byShare].toSorted(([, one], [, other]) => other.size - one.size);
    const [oldest] = largest?.[1] ?? [];
    if (!largest || !oldest) return;
    const [share, entries] = largest;
    entries.delete(oldest[0]);
    size--;
    if (entries.size === 0) byShare.delete(share);
    if (!has(oldest[0])) gone(...oldest);
  };
  return {
    put(share, key, value) {
      const entries = byShare.get(share) ?? new Map<K, V>();
      byShare.set(share, entries);
      if (!entries.delete(key)) size++;
      entries.set(key, value);
      if (size > most) forgetOne();
    },
    get: (share, key) => byShare.get(share)?.get(key),
    find,
    remove(key) {
      for (const [share, entries] of byShare) {
        if (entries.delete(key)) size--;
        if (entries.size === 0) byShare.delete(share);
      }
    },
  };
}
