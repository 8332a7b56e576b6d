/**
 * `make` on the first call, its result ever after; callers at the same time share one attempt, and a failed one is
 * tried again by the next call.
 */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
