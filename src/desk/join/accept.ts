/**
 * The desk's side of joining: it takes a host into its address book, and lets it go.
 *
 * Promises. A string lets in as many hosts as it allows, under labels that begin with its prefix. A host that did not get the
 * answer may ask for the same again with the same string, and needs no second use. No request is taken twice, nor after a later
 * one of the same host: whoever records one can do nothing with it.
 */
import type { Caller } from "../../core/caller";
import { DESK_SCOPES } from "../../core/rights";
import { badInput, conflict, forbidden, notFound } from "../../lib/errors";
import { isLoopback, isUnspecified } from "../../lib/loopback";
import { configFiles } from "../../lib/paths";
import { printable } from "../../lib/sanitize";
import { hostIdOf, isSignedBy, openSigningKey } from "../../trust/identity";
import {
  type JoinRequest,
  joinMessage,
  leaveMessage,
  natsKeyMessage,
  sha256,
  wishesOf,
} from "../../wire/join/messages";
import { FIRST, natsAddress } from "../../wire/nats/region";
import type { AddressBook } from "../fleet/address-book";
import type { Host } from "../fleet/host";
import type { JoinStrings } from "./join-strings";

/** A host in the address book, as far as joining goes. */
type Entry = Pick<
  Host,
  "label" | "base_url" | "token" | "tags" | "pin" | "token_expires" | "member" | "rights"
>;

/** A way from the desk to the host, as the host keeps it. */
interface Carrier {
  readonly kind: string;
  readonly [field: string]: unknown;
}

type Members = Pick<AddressBook, "memberWith" | "reserve" | "admit" | "remove">;

/** That a host has an NKey. */
interface NatsProof {
  readonly message: string;
  readonly signature: string;
}

/** What a desk uses of its service. */
export interface DeskUses {
  readonly configDir: string;
  joinStrings(): Promise<JoinStrings>;
  /** Null where the server takes no links. */
  openHub(): Promise<object | null>;
  /**
   * How a host with this NKey reaches the NATS server of this desk; null where the desk has none, or takes no hosts in.
   *
   * @param region of the server (default: the first).
   * @throws `forbidden` where the NKey has not signed the `message` of `proof`, or the desk takes no hosts in at that region;
   *   `conflict` where it has no such region.
   */
  natsCarrier(key: string, name: string, proof: NatsProof, region?: string): Promise<Carrier | null>;
  addressBook(): Promise<Members>;
}

/**
 * @throws the reason why the host may not join, as a failure; then nothing is kept. `too_many` when it asks too often.
 */
export async function acceptHost(service: DeskUses, request: JoinRequest, caller: Caller) {
  const strings = await service.joinStrings();
  const { id, secret, host_key, label, time } = request;
  const string = strings.find(id, secret);
  const message = joinMessage(string.pin, request);
  if (!isSignedBy(host_key, message, request.signature)) {
    throw forbidden("the signature is not that of the host's identity key");
  }
  const host_id = hostIdOf(host_key);
  strings.refuseOften(host_id);
  const { nats_key } = request;
  const region = string.region ?? FIRST;
  const nats =
    nats_key === undefined
      ? null
      : await service.natsCarrier(nats_key, host_id, proofOf(request, string.pin, host_id), region);
  const way = nats
    ? { base_url: natsAddress(nats_key ?? "", region) }
    : wayTo(host_id, request, (await service.openHub()) !== null, caller);
  const book = await service.addressBook();
  const nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64url");
  const member = { host_id, host_key, nonce, ...(nats && { nats_key }), request: sha256(message), time };
  const wishes = sha256(wishesOf(request));

  /** Whether the host has used the string, and asks for the same again. */
  const asksAgain = (known: Entry | undefined) =>
    known !== undefined && strings.lastUse(id, host_id)?.wishes === wishes;
  const known = book.memberWith(host_id);

  const host: Entry = {
    label: labelOf(request, string.label_prefix, known),
    ...way,
    tags: string.tags,
    member,
    rights: { allows: [...(request.allow ?? DESK_SCOPES)] },
  };
  const desk = openSigningKey(configFiles(service.configDir).deskKey);
  /** Whether the host is taken in now; false where it is in the book as it asks. @throws why it may not join. */
  const mayEnter = (former: Entry | undefined) => {
    if (former?.member?.request === member.request) return false;
    const last = strings.lastUse(id, host_id);
    if (time <= Math.max(former?.member?.time ?? 0, last?.time ?? 0)) throw conflict(NOT_NEWER);
    strings.refuseSpent(strings.find(id, secret), asksAgain(former));
    return true;
  };
  const announce = (entryLabel: string) => {
    const [kept, where] = [entryLabel, way.base_url].map((text) => printable(JSON.stringify(text), 200));
    return caller.announce(`join.accept id=${id} host_id=${host_id} label=${kept} url=${where}`);
  };
  const exact = label !== undefined;
  const enter = async () => {
    // Not under the lock of the address book: a thousand hosts would wait for each other's rows.
    using place = await book.reserve(host, exact);
    await announce(place.label);
    let takeBack = () => {};
    const accept = async (entry: Entry, former: Entry | undefined) => {
      if (!mayEnter(former)) return false;
      // Another process has given away the label.
      if (entry.label !== place.label) await announce(entry.label);
      takeBack = strings.use(id, host_id, { wishes, time }, asksAgain(former));
      return true;
    };
    try {
      // Awaited here: its label is kept for it until then.
      return await book.admit({ ...host, label: place.label }, exact, accept);
    } catch (error) {
      takeBack();
      throw error;
    }
  };
  const kept = mayEnter(known) || !known ? await enter() : known;
  return {
    host_id,
    label: kept.label,
    desk_key: desk.publicKey,
    nonce: kept.member?.nonce ?? nonce,
    carriers: [carrierOf(kept.base_url, nats)],
  };
}

/** @throws `bad_input` where a request names an NKey without one. */
function proofOf({ nats_proof, time }: JoinRequest, pin: string, host_id: string): NatsProof {
  if (nats_proof === undefined) throw badInput("nats_proof: missing: expected it with nats_key");
  return { message: natsKeyMessage(pin, host_id, String(time)), signature: nats_proof };
}

/** How the desk reaches the host, as the host learns it. */
function carrierOf(base_url: string, nats: Carrier | null): Carrier {
  if (base_url.startsWith("nats:") && nats) return nats;
  return base_url.startsWith("link:") ? { kind: "link" } : { kind: "direct", url: base_url };
}

const NOT_NEWER =
  "this host has sent a later request to join: its clock may have been set back; let the desk remove the host and make another string";

/** The label that a host wants: it begins with the prefix of the string, unless the host has it already. */
function labelOf({ label, name }: JoinRequest, prefix: string, known: Entry | undefined): string {
  const wanted = label?.trim();
  if (wanted === undefined) return `${prefix}${name}`;
  return wanted === known?.label || wanted.startsWith(prefix) ? wanted : `${prefix}${wanted}`;
}

/**
 * How the desk reaches the host: over its link where it dials and the desk takes links; no token is kept then.
 *
 * @throws `conflict` where there is no way; as {@link checkUrl}.
 */
function wayTo(hostId: string, request: JoinRequest, takesLinks: boolean, caller: Caller) {
  const { dials, url, pin, token, token_expires } = request;
  if (dials && takesLinks) return { base_url: `link:${hostId}` };
  if (url === undefined) throw conflict(NO_WAY);
  checkUrl(url, caller);
  return {
    base_url: url,
    token,
    ...(pin !== undefined && { pin }),
    ...(token_expires !== undefined && { token_expires }),
  };
}

const NO_WAY = "url: missing: this desk takes no links (`svc serve --hub`), so it has to reach the host";

/** @throws `bad_input` for an address at which the desk would not reach the host that asks. */
function checkUrl(url: string, { client }: Caller): void {
  const { hostname } = new URL(url);
  const isLocal = isLoopback(hostname) || isUnspecified(hostname);
  if (isLocal && client !== null && !isLoopback(client)) {
    throw badInput("url: expected an address at which this desk reaches the host, which is another machine");
  }
  if (!isLocal && /^http:/i.test(url)) {
    throw badInput("url: expected an https address: plain http to another machine shows the token to others");
  }
}

/** Removes a host that leaves. @throws `not_found` where it has not joined; `forbidden` when it did not sign that. */
export async function releaseHost(
  service: Pick<DeskUses, "addressBook">,
  { host_id, signature }: { readonly host_id: string; readonly signature: string },
  caller: Caller,
) {
  const book = await service.addressBook();
  const host = book.memberWith(host_id);
  if (!host?.member) throw notFound("this host has not joined this desk");
  const { host_key, nonce } = host.member;
  if (!isSignedBy(host_key, leaveMessage(host_id, nonce), signature)) {
    throw forbidden("the signature is not that of the host's identity key");
  }
  await caller.announce(
    `join.release host_id=${host_id} label=${printable(JSON.stringify(host.label), 200)}`,
  );
  return { removed: await book.remove(host.label) };
}
