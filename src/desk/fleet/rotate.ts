/**
 * Replacing the token of a host: the host makes the new one, and the address book keeps it.
 *
 * The promise: wherever this is interrupted, the token in the book works, and it can be replaced again while it does. The host
 * accepts the old token until the overlap ends, and renews it until the desk confirms that the new one is in the book.
 */
import * as v from "valibot";
import { deadlineIn, RemoteError, type RemoteServer } from "../../client/carrier";
import { carrierTo } from "../../client/connection";
import { typed } from "../../client/remote-call";
import { conflict, failureOf, unavailable } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { AddressBook } from "./address-book";
import { HOST_FIELDS, type Host } from "./host";
import type { TokenRotation } from "./results";

/** How long the host may take for each answer, in milliseconds. */
const ANSWER_MS = 10_000;

/** The largest answer. */
const MAX_BYTES = 65_536;

const RENEWED = v.object({
  name: v.nullable(v.pipe(v.string(), v.maxLength(64))),
  token: HOST_FIELDS.token,
  /** Hosts of the first builds of 0.1.0 do not send it. */
  expires: v.nullish(v.pipe(v.string(), v.isoTimestamp())),
  old_until: v.pipe(v.string(), v.isoTimestamp()),
});

/**
 * @param overlapS how long the old token works, in seconds.
 * @param requireDeskAt asks the host first whether this is its desk: the token that it replaces is that of whoever is.
 * @throws `not_found` for an unknown label; `conflict` for a host that is reached without a token; `unavailable` when the host does not make a token, or it cannot be stored: then the
 *   book has the old one.
 */
export async function rotateToken(
  book: Pick<AddressBook, "host" | "set" | "reach">,
  label: string,
  overlapS: number,
  requireDeskAt: (host: Host) => Promise<void> = async () => {},
): Promise<TokenRotation> {
  const old = book.host(label);
  if (old.token === undefined)
    throw conflict(`${printable(label, 130)} is reached over its link, which needs no token`);
  const renewed = async () => {
    await requireDeskAt(old);
    return ask(book.reach(old), RENEWED, "/token/renew", { overlap_s: overlapS });
  };
  const { name, token, expires, old_until } = await renewed().catch((error) => {
    throw error instanceof RemoteError ? unavailable(`${label}: ${reasonOf(error)}`) : error;
  });
  const stored = await book.set(label, keep(old, token, expires ?? undefined)).catch((error) => {
    const reason = failureOf(error)?.message ?? "internal error";
    throw unavailable(
      `${label}: the new token could not be stored (${reason}): the old one works until ${old_until}, and can be rotated again`,
    );
  });
  const problem = await ask(book.reach(stored), v.unknown(), "/token/confirm", {}).then(
    () => null,
    (error) => {
      if (error instanceof RemoteError) return error.message;
      throw error;
    },
  );
  return { label, name, old_until, problem };
}

/** Puts the token into the entry that it was made for. */
const keep = (old: Host, token: string, token_expires: string | undefined) => (now: Host) => {
  if (now.token === old.token && now.base_url === old.base_url) return { token, token_expires };
  throw conflict("somebody else has changed the host meanwhile");
};

async function ask<S extends v.GenericSchema>(
  server: RemoteServer,
  schema: S,
  path: string,
  body: object,
): Promise<v.InferOutput<S>> {
  using carrier = await carrierTo(server);
  const limits = { deadline: deadlineIn(ANSWER_MS), maxBytes: MAX_BYTES };
  return typed(schema, await carrier.ask({ method: "POST", path, body: JSON.stringify(body) }, limits));
}

function reasonOf({ fault, sent, message, refusal }: RemoteError): string {
  // A 403 says why.
  if (fault === "unauthorized" && !refusal)
    return `${message}: the host does not accept the token in the address book`;
  if (refusal?.status === 404) return `${message}: this version of svc cannot replace a token from afar`;
  if (sent && fault !== "answer" && fault !== "unauthorized") {
    return `${message}: it may have made a token, but the old one still works: try again`;
  }
  return message;
}
