/**
 * The desk's side of joining: it takes a host into its address book, and lets it go.
 *
 * The promise: a string lets in as many hosts as it allows. A host that did not get the answer may ask again with the same
 * string, and needs no second use.
 */
import type { Caller } from "../core/caller";
import { badInput, conflict, forbidden, notFound } from "../lib/errors";
import { isLoopback } from "../lib/loopback";
import { configFiles } from "../lib/paths";
import { printable } from "../lib/sanitize";
import { hostIdOf, isSignedBy, openSigningKey } from "../trust/identity";
import type { JoinStrings } from "./join-strings";
import { type JoinRequest, joinMessage, leaveMessage } from "./messages";

/** A host in the address book, as far as joining goes. */
interface Entry {
  readonly label: string;
  readonly base_url: string;
  readonly token: string;
  readonly tags: string[];
  readonly pin?: string | undefined;
  readonly token_expires?: string | undefined;
  readonly member?:
    | { readonly host_id: string; readonly host_key: string; readonly nonce: string }
    | undefined;
}

/** The address book. */
export interface Members {
  hosts(): readonly Entry[];
  admit(host: Entry, exact: boolean, accept: (isKnown: boolean) => void): Promise<Entry>;
  remove(label: string): Promise<boolean>;
}

/** What a desk uses of its service. */
export interface DeskUses {
  readonly configDir: string;
  joinStrings(): Promise<JoinStrings>;
  addressBook(): Promise<Members>;
}

/** @throws the reason why the host may not join, as a failure; then nothing is kept. */
export async function acceptHost(service: DeskUses, request: JoinRequest, caller: Caller) {
  const strings = await service.joinStrings();
  const string = strings.find(request.id, request.secret);
  const { id, host_key, url, pin, token, token_expires, label } = request;
  if (!isSignedBy(host_key, joinMessage(string.pin, request), request.signature)) {
    throw forbidden("the signature is not that of the host's identity key");
  }
  checkUrl(url, caller);
  const host_id = hostIdOf(host_key);
  const book = await service.addressBook();
  const asksAgain = (isKnown: boolean) => isKnown && strings.wasUsedBy(id, host_id);
  const known = book.hosts().find(({ member }) => member?.host_id === host_id);
  strings.refuseSpent(string, asksAgain(known !== undefined));
  if (label !== undefined && label !== known?.label && book.hosts().some((one) => one.label === label)) {
    throw conflict(`label: another host is labelled ${printable(label, 130)}`);
  }
  const nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64url");
  const host: Entry = {
    label: label ?? `${string.label_prefix}${request.name}`,
    base_url: url,
    token,
    tags: string.tags,
    ...(pin !== undefined && { pin }),
    ...(token_expires !== undefined && { token_expires }),
    member: { host_id, host_key, nonce },
  };
  const desk = openSigningKey(configFiles(service.configDir).deskKey);
  const wanted = printable(JSON.stringify(host.label), 200);
  const where = printable(JSON.stringify(url), 200);
  await caller.announce(`join.accept id=${id} host_id=${host_id} label=${wanted} url=${where}`);
  let isUsed = false;
  const consume = (isKnown: boolean) => {
    if (asksAgain(isKnown)) return;
    strings.use(id, host_id);
    isUsed = true;
  };
  const kept = await book.admit(host, label !== undefined, consume).catch((error) => {
    if (isUsed) strings.giveBack(id, host_id);
    throw error;
  });
  return {
    host_id,
    label: kept.label,
    desk_key: desk.publicKey,
    nonce,
    carriers: [{ kind: "direct", url: kept.base_url }],
  };
}

/** @throws `bad_input` for an address at which the desk would not reach the host that asks. */
function checkUrl(url: string, { client }: Caller): void {
  const isLocal = isLoopback(new URL(url).hostname);
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
  const host = book.hosts().find(({ member }) => member?.host_id === host_id);
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
