/**
 * What a relay is to be, checked: whatever passes here can be written into coturn's configuration, a systemd unit, a
 * compose file and a URL and be read there as it was meant.
 */
import { randomBytes } from "node:crypto";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { badInput } from "../lib/errors";
import { isHostName } from "./url";

/** The settings as they are given: `operations.ts` has checked types and bounds. */
export interface GivenSettings {
  readonly realm: string;
  readonly user?: string | undefined;
  readonly secret?: string | undefined;
  readonly auth_secret: boolean;
  readonly listen_port: number;
  readonly tls_port: number;
  readonly tls_cert?: string | undefined;
  readonly tls_key?: string | undefined;
  readonly external_ip?: string | undefined;
  readonly min_port: number;
  readonly max_port: number;
}

export interface Settings {
  /** A host name, or an IP address in its usual spelling. */
  readonly realm: string;
  /** Null in the form with time-limited credentials when none is named. */
  readonly user: string | null;
  readonly secret: string;
  /** Whether `secret` signs time-limited credentials, rather than being the user's own. */
  readonly timeLimited: boolean;
  readonly listenPort: number;
  readonly tlsPort: number;
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly external: { readonly address: string; readonly local: string | null } | null;
  readonly minPort: number;
  readonly maxPort: number;
}

/** Fewer relay ports than this serve nobody: a call takes two or more. */
const MIN_RELAY_PORTS = 10;

/**
 * Checks `given` as a whole.
 *
 * @throws a `bad_input` failure that names every field at fault; the secret is in no message.
 */
export function checkSettings(given: GivenSettings): Settings {
  const offences: string[] = [];
  const refuse = (fault: string | undefined) => {
    if (fault !== undefined) offences.push(fault);
  };
  refuse(realmFault(given.realm));
  if (given.user !== undefined) refuse(userFault("user", given.user));
  else if (!given.auth_secret) refuse("user: missing: expected a name");
  if (given.secret !== undefined) refuse(secretFault(given.secret, given.auth_secret));
  refuse(pathFault("tls_cert", given.tls_cert));
  refuse(pathFault("tls_key", given.tls_key));
  if ((given.tls_cert === undefined) !== (given.tls_key === undefined)) {
    refuse("tls_cert, tls_key: expected both or neither");
  }
  for (const fault of portFaults(given)) refuse(fault);
  const external = readExternal(given.external_ip, refuse);
  if (offences.length > 0) throw badInput(offences.join("; "));
  return {
    realm: isIP(given.realm) ? ipaddr.parse(given.realm).toString() : given.realm.toLowerCase(),
    user: given.user ?? null,
    secret: given.secret ?? newSecret(),
    timeLimited: given.auth_secret,
    listenPort: given.listen_port,
    tlsPort: given.tls_port,
    tls: given.tls_cert && given.tls_key ? { cert: given.tls_cert, key: given.tls_key } : null,
    external,
    minPort: given.min_port,
    maxPort: given.max_port,
  };
}

/** What is wrong with `user`, which coturn parts from the secret at the first colon. */
export function userFault(field: string, user: string): string | undefined {
  if (/^[\w.@+~=-]{1,128}$/.test(user)) return undefined;
  return `${field}: expected 1 to 128 of the characters A-Z a-z 0-9 . _ @ + ~ = - (others mean something else to coturn or its clients)`;
}

/** 32 random characters that need no quoting anywhere, 192 bits. */
function newSecret(): string {
  const secret = randomBytes(24).toString("base64url");
  // A leading dash would be taken for a flag by whoever pastes it.
  return secret.startsWith("-") ? newSecret() : secret;
}

function realmFault(realm: string): string | undefined {
  return isUnicast(realm) || isHostName(realm)
    ? undefined
    : "realm: expected a host name (international ones as xn--…) or the IP address of a machine";
}

function secretFault(secret: string, timeLimited: boolean): string | undefined {
  if (!/^[\x21-\x7e]{1,128}$/.test(secret)) {
    return "secret: expected 1 to 128 visible ASCII characters without spaces (coturn drops spaces at its ends, and clients differ in how they write others)";
  }
  if (!timeLimited && secret.startsWith("0x"))
    return "secret: coturn takes one that begins with 0x for a hash";
  return undefined;
}

function pathFault(field: string, path: string | undefined): string | undefined {
  if (path === undefined || (path.length <= 900 && /^(?:\/(?!\.{1,2}(?:\/|$))[\w.+@,=-]+)+$/.test(path))) {
    return undefined;
  }
  return `${field}: expected the absolute path of a file on the relay, without . and .., of the characters A-Z a-z 0-9 . _ + @ , = / - (others would need quoting in a unit or a compose file)`;
}

function* portFaults({ listen_port, tls_port, min_port, max_port }: GivenSettings): Generator<string> {
  if (listen_port === tls_port) yield "listen_port, tls_port: expected two different ports";
  if (min_port < 1024) yield "min_port: expected 1024 or more";
  if (max_port - min_port + 1 < MIN_RELAY_PORTS) {
    yield `min_port, max_port: expected a range of at least ${MIN_RELAY_PORTS} ports`;
  }
  for (const [field, port] of Object.entries({ listen_port, tls_port })) {
    if (port >= min_port && port <= max_port) yield `${field}: expected a port outside of the relay range`;
  }
}

/** `IP` or `IP/PRIVATE`. */
function readExternal(text: string | undefined, refuse: (fault: string) => void): Settings["external"] {
  if (text === undefined) return null;
  const [address = "", local, ...more] = text.split("/");
  const parts = local === undefined ? [address] : [address, local];
  if (more.length > 0 || !parts.every(isUnicast)) {
    refuse("external_ip: expected IP or IP/PRIVATE, each the address of a machine");
    return null;
  }
  const [own, inside] = parts.map((part) => ipaddr.parse(part));
  if (own === undefined || (inside !== undefined && inside.kind() !== own.kind())) {
    refuse("external_ip: expected two addresses of one family");
    return null;
  }
  return { address: own.toString(), local: inside?.toString() ?? null };
}

/** Whether it can be the address of a machine that others reach. */
function isUnicast(text: string): boolean {
  if (!isIP(text) || text.includes("%")) return false;
  const kind = ipaddr.parse(text).range();
  return !["unspecified", "broadcast", "multicast", "loopback", "linkLocal", "ipv4Mapped"].includes(kind);
}
