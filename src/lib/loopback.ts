/** Addresses that only this machine reaches, and those that mean it whatever machine reads them. */

/** An IPv4 address of loopback within IPv6, as people write it and as URLs have it (RFC 4291 section 2.5.5.2). */
const MAPPED = /^::ffff:(127(\.\d{1,3}){3}|7f[0-9a-f]{2}:[0-9a-f]{1,4})$/;

/** Whether `host`, an address to bind to or the host of a URL, is reachable from this machine only. */
export function isLoopback(host: string): boolean {
  if (host === "127.0.0.1") return true;
  const bare = bareOf(host);
  return bare === "localhost" || bare === "::1" || /^127(\.\d{1,3}){3}$/.test(bare) || MAPPED.test(bare);
}

/** Whether `host` stands for all addresses of a machine: to listen on it is to listen on every one, to dial it is to dial itself. */
export const isUnspecified = (host: string): boolean =>
  /^(0\.0\.0\.0|::|::ffff:0:0|::ffff:0\.0\.0\.0)?$/.test(bareOf(host));

/** Without the brackets of a URL, and the dot of a complete name. */
const bareOf = (host: string) =>
  host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
