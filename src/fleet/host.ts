/**
 * A host of the address book: what an entry may be, and the server it stands for.
 */
import * as v from "valibot";
import type { RemoteServer, Trust } from "../client/connection";
import { field, secret } from "../core/fields";
import { expectation } from "../core/input";
import { badInput } from "../lib/errors";

/** A label is a term of a selection (`--on lab-01,!lab-02`), so it has no comma and does not look like another term. */
const LABEL = v.pipe(
  v.string(),
  v.trim(),
  v.regex(
    /^(?!all$|tag:|!)[^,\p{C}\p{Zl}\p{Zp}]{1,128}$/u,
    "1 to 128 visible characters without commas, not `all` and not beginning with `!` or `tag:`",
  ),
);

const TAG = v.pipe(
  v.string(),
  v.regex(/^[^,!\s\p{C}]{1,64}$/u, "1 to 64 characters without spaces, commas or !"),
);

/** As `rest/token.ts` takes them: what can be sent in a header. */
const TOKEN = v.pipe(
  v.string(),
  v.regex(/^[\x21-\x7e]{1,512}$/, "a token of up to 512 visible ASCII characters"),
);

const BASE_URL = v.pipe(
  v.string(),
  v.maxLength(2_048),
  v.rawCheck(({ dataset: { value, typed }, addIssue }) => {
    if (!typed || baseUrl(value) !== undefined) return;
    addIssue({
      message: "an http or https address without credentials, query or fragment",
      // What may hold a password is not quoted.
      received: value.includes("@") ? "…@…" : JSON.stringify(value).replace(/\?.*/s, '?…"'),
    });
  }),
);

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

const CA = v.pipe(
  v.string(),
  v.maxLength(65_536),
  // Nothing else of the file: a private key has no place in the book.
  v.transform((pem) => (pem.match(PEM_CERTIFICATE) ?? []).map((one) => `${one}\n`).join("")),
  v.check(areCertificates, "certificates as PEM text"),
);

const PIN = v.pipe(
  v.string(),
  v.regex(/^sha256:([0-9a-f]{2}:?){31}[0-9a-f]{2}$/i, "sha256: and 64 hexadecimal digits"),
  v.transform((pin) =>
    pin
      .toLowerCase()
      .replace(/^sha256:/, "")
      .replaceAll(":", ""),
  ),
  v.transform((digits) => `sha256:${digits}`),
);

/** The fields of an entry of `admin_hosts.json`, and of `AC_admin_add_host`. */
export const HOST_FIELDS = {
  label: field(LABEL, "What the host is called here"),
  base_url: field(BASE_URL, "Where it answers: http or https, perhaps with a path"),
  token: field(secret(TOKEN), "Its bearer token"),
  tags: field(
    v.optional(v.pipe(v.array(TAG), v.maxLength(64)), []),
    "What it is selected by, beside its label",
  ),
  ca: field(v.optional(CA), "PEM certificates that vouch for its own, instead of the usual authorities"),
  pin: field(v.optional(PIN), "SHA-256 of its certificate, the only one that is taken then: sha256:…"),
};

const HOST = v.object(HOST_FIELDS);

export type Host = v.InferOutput<typeof HOST>;

/** What a listing tells of a host; never the token. */
export interface ListedHost {
  readonly label: string;
  readonly base_url: string;
  readonly tags: string[];
}

export const listed = ({ label, base_url, tags }: Host): ListedHost => ({ label, base_url, tags });

/** `value` as a host, or what is wrong with it in words that quote no token. */
export function parseHost(value: unknown): { readonly host: Host } | { readonly fault: string } {
  const checked = v.safeParse(HOST, value);
  if (!checked.success) {
    const faults = checked.issues.map(
      (issue) => `${v.getDotPath(issue) ?? "entry"}: expected ${expectation(issue)}`,
    );
    return { fault: faults.slice(0, 3).join("; ") };
  }
  if (checked.output.ca !== undefined && checked.output.pin !== undefined) {
    return { fault: "ca, pin: expected one of them" };
  }
  const { base_url, ca, pin } = checked.output;
  if ((ca ?? pin) !== undefined && !/^https:/i.test(base_url)) {
    return { fault: `${ca === undefined ? "pin" : "ca"}: expected with an https address only` };
  }
  return { host: { ...checked.output, base_url: baseUrl(base_url) ?? base_url } };
}

/** @throws a `bad_input` failure naming what is wrong. */
export function checkHost(value: unknown): Host {
  const parsed = parseHost(value);
  if ("host" in parsed) return parsed.host;
  throw badInput(parsed.fault);
}

/** The server behind an entry. */
export function serverOf({ base_url, token, ca, pin }: Host): RemoteServer {
  return { url: base_url, token, trust: trustOf(ca, pin) };
}

function trustOf(ca: string | undefined, pin: string | undefined): Trust {
  if (pin !== undefined) return { kind: "pin", sha256: pin.slice("sha256:".length) };
  return ca !== undefined ? { kind: "ca", pem: ca } : { kind: "system" };
}

function areCertificates(pem: string): boolean {
  // On first use: most hosts have none.
  const { X509Certificate } = process.getBuiltinModule("node:crypto");
  try {
    const certificates = (pem.match(PEM_CERTIFICATE) ?? []).map((one) => new X509Certificate(one));
    return certificates.length > 0;
  } catch {
    return false;
  }
}

/** `text` as it is kept, without a trailing slash; undefined when it is no address of a server. */
function baseUrl(text: string): string | undefined {
  if (!/^https?:\/\/[^\s\\?#@]+$/i.test(text)) return undefined;
  const url = URL.parse(text);
  return url ? `${url.origin}${url.pathname.replace(/\/+$/, "")}` : undefined;
}
