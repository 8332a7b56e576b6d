/**
 * A ring buffer: keeps the newest items and drops the oldest, in constant time and memory.
 *
 * @param capacity how many items it keeps, at least 1.
 */
export function createRing<T>(capacity: number) {
  let slots: T[] = [];
  let oldest = 0;
  return {
    get size() {
      return slots.length;
    },
    push(item: T): void {
      if (slots.length < capacity) return void slots.push(item);
      slots[oldest] = item;
      oldest = (oldest + 1) % capacity;
    },
    /** The items, oldest first. */
    items: () => [...slots.slice(oldest), ...slots.slice(0, oldest)],
    clear(): void {
      slots = [];
      oldest = 0;
    },
  };
}
