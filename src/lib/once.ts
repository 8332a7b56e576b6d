/** Calls `make` once and keeps its result. Calls at the same time share it; after a failure, the next call tries again. */
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

/** Calls `make` at the first call, and keeps its result. What it throws is thrown, and the next call tries again. */
export function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** `use` of what `made` resolves to: at once where it is there already, so that who only reads memory waits for no turn of the event loop. */
export function withMade<T, R>(made: Promise<T>, use: (made: T) => R): R | Promise<R> {
  const now = Bun.peek.status(made) === "fulfilled" ? Bun.peek(made) : made;
  return now instanceof Promise ? now.then(use) : use(now);
}
