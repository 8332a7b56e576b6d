/**
 * Checking the settings of a relay: whatever passes here can be written into coturn's configuration, a systemd unit, a
 * compose file and a URL, and be read there as it was meant.
 */
import { randomBytes } from "node:crypto";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { badInput } from "../../lib/errors";
import { isHostName } from "../../lib/host-name";
import { certificateFaults } from "../../lib/server-bundle";
import type { GivenSettings } from "./operations";

/** A call takes two or more relayed ports. */
const MIN_RELAY_PORTS = 10;

export type Settings = ReturnType<typeof checkSettings>;

/**
 * Checks `given` as a whole and completes it: names and addresses in their usual spelling, a new user and a new secret where none
 * was given.
 *
 * @throws a `bad_input` failure that names every field at fault; no message has the secret.
 */
export function checkSettings(given: GivenSettings) {
  const found = [...faults(given)];
  if (found.length > 0) throw badInput(found.join("; "));
  const { realm, user, secret, auth_secret, tls_cert, tls_key, external_ip } = given;
  const [address, local = null] = external_ip?.split("/").map(usualSpelling) ?? [];
  return {
    ...given,
    realm: isIP(realm) ? usualSpelling(realm) : realm.toLowerCase(),
    /** Null only with time-limited credentials. */
    user: user ?? (auth_secret ? null : newUser()),
    /** The user's own, or with `auth_secret` what signs time-limited credentials. */
    secret: secret ?? newSecret(),
    tls: tls_cert && tls_key ? { cert: tls_cert, key: tls_key } : null,
    external: address === undefined ? null : { address, local },
  };
}

/** `svc-1f0c9a3e`: relays that were set up apart do not share a user. */
const newUser = (): string => `svc-${randomBytes(4).toString("hex")}`;

/** 32 random characters that need no quoting anywhere, 192 bits. */
function newSecret(): string {
  const secret = randomBytes(24).toString("base64url");
  // Pasted into a command line, a leading dash would make it a flag.
  return secret.startsWith("-") ? newSecret() : secret;
}

/** What is wrong with `user`; coturn splits user and secret at the first colon. */
export function userFault(user: string): string | undefined {
  if (/^[\w.@+~=-]{1,128}$/.test(user)) return undefined;
  return "user: expected 1 to 128 of the characters A-Z a-z 0-9 . _ @ + ~ = - (others mean something else to coturn or its clients)";
}

function* faults(given: GivenSettings): Generator<string> {
  const { realm, user, secret, auth_secret, external_ip } = given;
  const { listen_port, tls_port, min_port, max_port } = given;
  if (!isUnicast(realm) && !isHostName(realm)) {
    yield "realm: expected a host name (international ones as xn--…) or the IP address of a machine";
  }
  const inUser = user === undefined ? undefined : userFault(user);
  if (inUser) yield inUser;
  if (secret !== undefined && !/^[\x21-\x7e]{1,128}$/.test(secret)) {
    yield "secret: expected 1 to 128 visible ASCII characters without spaces (coturn drops spaces at its ends, and clients differ in how they write others)";
  }
  if (secret?.startsWith("0x") && !auth_secret)
    yield "secret: coturn takes one that begins with 0x for a hash";
  yield* certificateFaults(given);
  if (listen_port === tls_port) yield "listen_port, tls_port: expected two different ports";
  if (min_port < 1024) yield "min_port: expected 1024 or more";
  if (max_port - min_port + 1 < MIN_RELAY_PORTS) {
    yield `min_port, max_port: expected a range of at least ${MIN_RELAY_PORTS} ports`;
  }
  for (const [field, port] of Object.entries({ listen_port, tls_port })) {
    if (port >= min_port && port <= max_port) yield `${field}: expected a port outside of the relay range`;
  }
  const addresses = external_ip?.split("/") ?? [];
  if (addresses.length > 2 || !addresses.every(isUnicast)) {
    yield "external_ip: expected PUBLIC or PUBLIC/PRIVATE, each the IP address of a machine";
  } else if (new Set(addresses.map(isIP)).size > 1) yield "external_ip: expected two addresses of one family";
}

const usualSpelling = (address: string) => ipaddr.parse(address).toString();

/** Whether it can be the address of a machine that others reach. */
function isUnicast(text: string): boolean {
  if (!isIP(text) || text.includes("%")) return false;
  const kind = ipaddr.parse(text).range();
  return !["unspecified", "broadcast", "multicast", "loopback", "linkLocal", "ipv4Mapped"].includes(kind);
}
