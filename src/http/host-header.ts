/**
 * Which `Host` a server bound to loopback answers to. A page anywhere can point a name of its own at 127.0.0.1 and have
 * the browser talk to us (DNS rebinding); its requests carry that name.
 */

/** Whether `host` (an address to bind to) is reachable from this machine only. */
export function isLoopback(host: string): boolean {
  const bare = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return (
    bare === "localhost" || bare === "::1" || /^127(\.\d{1,3}){3}$/.test(bare) || bare === "::ffff:127.0.0.1"
  );
}

/**
 * The check of a `Host` header for a server bound to `boundTo`.
 *
 * @param allowed further names that the operator allows; a port in one does not matter, as that of a `Host` does not.
 */
export function createHostCheck(
  boundTo: string,
  allowed: readonly string[],
): (host: string | null) => boolean {
  if (!isLoopback(boundTo)) return () => true;
  const withoutPort = (host: string) => host.toLowerCase().replace(/:\d*$/, "");
  const names = new Set(allowed.map(withoutPort));
  const answersTo = (host: string | null) => {
    const name = withoutPort(host ?? "");
    return isLoopback(name) || name.endsWith(".localhost") || names.has(name);
  };
  // Nearly every request names the host that the one before it did.
  let last: { host: string | null; answers: boolean } = { host: null, answers: answersTo(null) };
  return (host) => {
    if (host !== last.host) last = { host, answers: answersTo(host) };
    return last.answers;
  };
}
