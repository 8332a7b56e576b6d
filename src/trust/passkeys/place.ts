/**
 * At which address a page asks for a passkey. WebAuthn knows names and no addresses: a browser gives a passkey to `https://desk.example.org`
 * and to `http://localhost`, and neither to `https://192.0.2.7` nor to `http://127.0.0.1`.
 */
import { type Caller, isRemote } from "../../core/caller";

/** Where the page is. */
export interface Place {
  /** The name for which a passkey is (the RP ID). */
  readonly rpId: string;
  readonly origins: readonly string[];
}

/** How this server is reached. */
export interface Reach {
  readonly tls: boolean;
  /** On which it listens; undefined where it does not. */
  readonly port: number | undefined;
  /** Its address in browsers, where a proxy in front speaks TLS; undefined for the name of each request, at its own port. */
  readonly publicUrl: string | undefined;
}

/** Why there is no place, in words for a person. */
const NO_PAGE = "only a page of the dashboard can ask for it";
const NO_NAME =
  "a browser gives it to a name alone: open the dashboard at https://NAME, or at http://localhost on the host itself, not at an address of numbers";

const notHere = (port: number) =>
  `a page elsewhere could ask for it: svc listens on port ${port}, and the browser says another; where a proxy is in front, --oidc-url says the address`;

/** Those that a browser leaves out, as its page is of https or of http. */
const USUAL_PORTS = [443, 80];

const isNumeric = (hostname: string) => /^\d+(?:\.\d+){3}$/.test(hostname) || hostname.startsWith("[");

const isLocalName = (hostname: string) => hostname === "localhost" || hostname.endsWith(".localhost");

/** The place of a request, or why there is none. */
export function placeOf(
  caller: Pick<Caller, "kind" | "request">,
  { tls, port, publicUrl }: Reach,
): Place | { readonly why: string } {
  const host = isRemote(caller) && caller.kind !== "link" ? caller.request?.headers?.get("host") : undefined;
  if (!host) return { why: NO_PAGE };
  const url = URL.parse(publicUrl ?? `https://${host}`);
  if (!url || isNumeric(url.hostname)) return { why: NO_NAME };
  if (publicUrl !== undefined) return { rpId: url.hostname, origins: [url.origin] };
  // Whoever listens on another port of this machine has pages of the same name: what the request says of its port counts for nothing.
  if (port === undefined) return { why: NO_PAGE };
  const isHere = url.port === "" ? USUAL_PORTS.includes(port) : Number(url.port) === port;
  if (!isHere) return { why: notHere(port) };
  // Without TLS here, a proxy in front may speak it; plain http is for this machine alone.
  const plain = !tls && isLocalName(url.hostname) ? [new URL(`http://${url.hostname}:${port}`).origin] : [];
  return { rpId: url.hostname, origins: [new URL(`https://${url.hostname}:${port}`).origin, ...plain] };
}
