/** What `read` returns; `otherwise` where it throws, whatever the reason is. */
export function orElse<T, U>(read: () => T, otherwise: U): T | U {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
