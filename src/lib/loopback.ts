/** Addresses that only this machine reaches. */

/** Whether `host`, an address to bind to or the host of a URL, is reachable from this machine only. */
export function isLoopback(host: string): boolean {
  if (host === "127.0.0.1") return true;
  const bare = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return (
    bare === "localhost" || bare === "::1" || /^127(\.\d{1,3}){3}$/.test(bare) || bare === "::ffff:127.0.0.1"
  );
}
