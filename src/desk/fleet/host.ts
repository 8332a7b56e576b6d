/**
 * A host of the address book: the schema of an entry, and the server behind it.
 */
import * as v from "valibot";
import type { RemoteServer, Via } from "../../client/carrier";
import { field, fileContent, secret, TAGS } from "../../core/fields";
import { expectation } from "../../core/input";
import type { ParseResult } from "../../lib/json-store";
import { isLoopback } from "../../lib/loopback";
import { orElse } from "../../lib/or-else";
import { PIN_FORM, parsePin } from "../../lib/spki";
import { natsPlaceOf } from "../../wire/nats/region";

/** A label is a term of a selection (`--on lab-01,!lab-02`): it has no comma and does not look like another kind of term. */
const LABEL = v.pipe(
  v.string(),
  v.trim(),
  v.normalize("NFC"),
  v.regex(
    /^(?!all$|tag:|!)[^,\p{C}\p{Zl}\p{Zp}]{1,128}$/u,
    "1 to 128 visible characters without commas, not `all` and not beginning with `!` or `tag:`",
  ),
);

const TOKEN_WORDS = "a token of up to 512 visible ASCII characters";

/** What a header can hold. */
const TOKEN = v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,512}$/, TOKEN_WORDS));

const BASE_URL = v.pipe(
  v.string(),
  v.maxLength(2_048),
  v.rawCheck(({ dataset: { value, typed }, addIssue }) => {
    if (!typed || baseUrl(value) !== undefined) return;
    addIssue({
      message: "an http or https address without credentials or query, link:ID or nats:KEY",
      // An address with an @ may hold a password.
      received: value.includes("@") ? "…@…" : JSON.stringify(value).replace(/\?.*/s, '?…"'),
    });
  }),
);

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

const CA = v.pipe(
  v.string(),
  v.maxLength(65_536),
  // A file may also hold a private key: only the certificates are kept.
  v.transform((pem) => (pem.match(PEM_CERTIFICATE) ?? []).map((one) => `${one}\n`).join("")),
  v.check(areCertificates, "certificates as PEM text"),
);

const PIN = v.pipe(
  v.string(),
  v.check((text) => parsePin(text) !== undefined, PIN_FORM),
  v.transform((text) => parsePin(text) ?? text),
);

const URL_WORDS =
  "URL of the host: http or https, with an optional path; or link: and its id, where it has joined and dials this desk; or nats: and its key there";

const TRUST_FIELDS = {
  ca: field(v.optional(fileContent(CA)), "PEM certificates of the only authority to trust"),
  pin: field(
    v.optional(PIN),
    "Pin of the only key to trust: spki:… (`svc pin` shows it); or of the only certificate: sha256:…",
  ),
};

/** The fields that say what a host is, for `AC_admin_add_host`. */
export const HOST_FIELDS = {
  label: field(LABEL, "Name of the host in the address book"),
  base_url: field(BASE_URL, URL_WORDS),
  token: field(secret(TOKEN), "Bearer token of the host"),
  tags: field(v.optional(TAGS, []), "Tags for selecting hosts"),
  ...TRUST_FIELDS,
};

/** The fields of an entry that can be set, each by itself. */
export const HOST_CHANGES = {
  base_url: field(v.optional(BASE_URL), URL_WORDS),
  token: field(v.optional(secret(TOKEN)), "Bearer token of the host"),
  tags: field(v.optional(TAGS), "Tags for selecting hosts, in place of those so far"),
  ...TRUST_FIELDS,
};

/** What a desk knows of a host that has joined it. */
const MEMBER = v.object({
  host_id: v.string(),
  /** Its identity key: Ed25519, public. */
  host_key: v.string(),
  /** Names this membership. */
  nonce: v.string(),
  /** Who it is to the NATS server of this desk: the public half of its NKey. */
  nats_key: v.optional(v.string()),
  /** Its last request to join: the digest, and when it signed that, milliseconds since 1970. */
  request: v.optional(v.string()),
  time: v.optional(v.number()),
});

const WORDS = v.pipe(v.array(v.pipe(v.string(), v.regex(/^[a-z0-9][\w:.*-]{0,79}$/i))), v.maxLength(100));

/** What the host lets this desk do, as it has said last. Both may have words that this desk does not know. */
const RIGHTS = v.object({
  allows: WORDS,
  /** What its server permits scripts; absent where it has not said. */
  permits: v.optional(WORDS),
});

export type HostRights = v.InferOutput<typeof RIGHTS>;

/** Absent where svc does not know, or the host says it in another way. */
export const KNOWN_RIGHTS = v.fallback(v.optional(RIGHTS), undefined);

/** An entry of the address book. */
const HOST = v.object({
  ...HOST_FIELDS,
  /** Absent where the host is reached over its link: it knows this desk by the desk's key. */
  token: v.optional(HOST_FIELDS.token),
  /** The pin of the key that the host will have next: it announced that with the key that `pin` names (`follow.ts`). */
  next_pin: v.optional(PIN),
  member: v.optional(MEMBER),
  rights: KNOWN_RIGHTS,
  /** When its token ends, ISO 8601; absent where svc does not know. */
  token_expires: v.optional(v.pipe(v.string(), v.isoTimestamp())),
});

export type Host = v.InferOutput<typeof HOST>;

/** `value` as a host, or why it is none, in words that quote no token. */
export function parseHost(value: unknown): ParseResult<Host> {
  const checked = v.safeParse(HOST, value);
  if (!checked.success) {
    const faultOf = (issue: (typeof checked.issues)[number]) =>
      `${v.getDotPath(issue) ?? "entry"}: expected ${expectation(issue)}`;
    return { fault: checked.issues.slice(0, 3).map(faultOf).join("; ") };
  }
  const { next_pin, ...host } = checked.output;
  const { base_url, ca, pin, token, member } = host;
  const linked = linkedHost(base_url);
  if (linked !== undefined) {
    if ((token ?? ca ?? pin) !== undefined) return { fault: ONLY_WITH_URL };
    return linked === member?.host_id || linked === member?.nats_key
      ? { entry: host }
      : { fault: base_url.startsWith("nats:") ? NOT_GRANTED : NOT_JOINED };
  }
  if (token === undefined) return { fault: `token: expected ${TOKEN_WORDS}` };
  if (ca !== undefined && pin !== undefined) return { fault: "ca, pin: expected one of them" };
  if ((ca ?? pin) !== undefined && !/^https:/i.test(base_url)) {
    return { fault: `${ca === undefined ? "pin" : "ca"}: expected with an https address only` };
  }
  const next = pin !== undefined && next_pin !== undefined && { next_pin };
  return { entry: { ...host, ...next, base_url: baseUrl(base_url) ?? base_url } };
}

const ONLY_WITH_URL =
  "token, ca, pin: expected with an http or https address only: neither a link nor NATS needs one";

const NOT_GRANTED =
  "base_url: expected the key of this very host after nats:, which it has where it joined this desk, or `svc nats grant` has given it one";

const NOT_JOINED =
  "base_url: expected the id of this very host after link:, which it has where it joined this desk: `svc join` there adds it, and `svc admin set LABEL --url link:…` changes how it is reached";

/** The id of the host that is reached over its link, or its key where it is over NATS; undefined for http and https. */
export const linkedHost = (base_url: string): string | undefined =>
  LINK.exec(base_url)?.[1] ?? natsPlaceOf(base_url)?.key;

const LINK = /^link:([0-9a-f]{32})$/;

/**
 * What makes sure that it is the host which answers: its `key` or its `certificate` is pinned; a `ca` of its own or one of the
 * usual `authorities` vouches for it; it proves its `identity` on a link that it has dialled; the NATS `server` vouches for it; it is
 * on `loopback`; or
 * `nothing`, as it speaks http across a network.
 */
export const TRUST = [
  "key",
  "certificate",
  "ca",
  "authorities",
  "identity",
  "server",
  "loopback",
  "nothing",
] as const;

/** One of {@link TRUST}. */
export type HostTrust = (typeof TRUST)[number];

export function trustOf({ base_url, ca, pin }: Host): HostTrust {
  const { protocol, hostname } = new URL(base_url);
  if (protocol === "link:") return "identity";
  if (protocol === "nats:") return "server";
  if (protocol === "http:") return isLoopback(hostname) ? "loopback" : "nothing";
  if (pin !== undefined) return pin.startsWith("spki:") ? "key" : "certificate";
  return ca === undefined ? "authorities" : "ca";
}

/** The ways to hosts that are not reached by http or https, by the scheme of their addresses: `link:`, `nats:`. */
export type Ways = Readonly<Record<string, Via>>;

/** The server of an entry, how to reach and trust it, and where a refusal of its token is remembered. */
export function serverOf(
  { base_url, token, ca, pin, next_pin }: Host,
  refusals?: RemoteServer["refusals"],
  ways: Ways = {},
): RemoteServer {
  const via = ways[new URL(base_url).protocol];
  const server = { url: base_url, token, refusals, ...(via && { via }) };
  if (pin !== undefined) {
    return { ...server, trust: { kind: "pin", pins: next_pin === undefined ? [pin] : [pin, next_pin] } };
  }
  return { ...server, trust: ca === undefined ? { kind: "system" } : { kind: "ca", pem: ca } };
}

function areCertificates(pem: string): boolean {
  // Loaded on first use: most hosts have no `ca`.
  const { X509Certificate } = process.getBuiltinModule("node:crypto");
  const found = pem.match(PEM_CERTIFICATE) ?? [];
  return orElse(() => found.map((one) => new X509Certificate(one)).length > 0, false);
}

/** `text` without a trailing slash; undefined when it is not the address of a host. */
function baseUrl(text: string): string | undefined {
  if (linkedHost(text) !== undefined) return text;
  if (!/^https?:\/\/[^\s\\?#@]+$/i.test(text)) return undefined;
  const url = URL.parse(text);
  return url ? `${url.origin}${url.pathname.replace(/\/+$/, "")}` : undefined;
}
