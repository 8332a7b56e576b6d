/**
 * A ring buffer: keeps the newest items and drops the oldest, in constant time and memory.
 */
export interface Ring<T> {
  readonly size: number;
  push(item: T): void;
  /** The items, oldest first. */
  items(): T[];
  clear(): void;
}

/** @param capacity how many items it keeps, at least 1. */
export function createRing<T>(capacity: number): Ring<T> {
  let slots: T[] = [];
  let oldest = 0;
  return {
    get size() {
      return slots.length;
    },
    push(item) {
      if (slots.length < capacity) {
        slots.push(item);
        return;
      }
      slots[oldest] = item;
      oldest = (oldest + 1) % capacity;
    },
    items: () => [...slots.slice(oldest), ...slots.slice(0, oldest)],
    clear() {
      slots = [];
      oldest = 0;
    },
  };
}
