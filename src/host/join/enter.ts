/**
 * The host's side of joining a desk, and of leaving it.
 *
 * Promises. Nothing is sent before the desk has shown the key that the join string names. A host that may not join keeps
 * nothing of the attempt. One that has joined is kept by the desk with a token that works.
 */
import { hostname } from "node:os";
import { RemoteError } from "../../client/carrier";
import { NOT_PINNED } from "../../client/dial";
import { callRemote } from "../../client/remote-call";
import { DESK_SCOPES, scopesText } from "../../core/rights";
import { type Backoff, pauseBefore } from "../../lib/backoff";
import { conflict, type Failure, notFound, unavailable } from "../../lib/errors";
import { configFiles } from "../../lib/paths";
import type { InTurn } from "../../lib/queue";
import { hostIdOf, openSigningKey } from "../../trust/identity";
import { acceptEndpoint, releaseEndpoint } from "../../wire/join/endpoints";
import { type JoinString, parseJoinString } from "../../wire/join/join-string";
import {
  type Membership,
  pinsOfDesk,
  readMembership,
  removeMembership,
  writeMembership,
} from "../../wire/join/membership";
import { type JoinRequest, joinMessage, leaveMessage, natsKeyMessage } from "../../wire/join/messages";
import { type NatsKey, provedBy } from "../../wire/join/nats-key";
import { type LocalServer, urlOfHost } from "../../wire/join/reach";
import { type DeskRight, type DeskScopes, scopesOf } from "./rights";

/** What a host uses of its service. */
export interface HostUses {
  readonly configDir: string;
  /** The server that runs here; null when none does. */
  runningServer(): LocalServer | null;
  /** The pin of the TLS key with which a server here speaks. */
  ownPin(): Promise<string>;
  /** Who this host is to NATS servers: an NKey that is made on the first call. */
  natsKey(): Promise<NatsKey>;
  deskTokens(): Promise<DeskTokens>;
  /** Joining, leaving and what the desk changes of the membership, one after the other. Callers own the folder: no other process does it. */
  readonly inJoinTurn: InTurn;
}

export interface DeskTokens {
  /** Makes one that ends soon unless it is `kept`. `expires`: when it ends then, ISO 8601. */
  add(
    scopes: DeskScopes,
  ): Promise<{ readonly name: string; readonly token: string; readonly expires?: string | undefined }>;
  /** The desk has it, for as long as it was made for. */
  kept(name: string): Promise<void>;
  /** What the token allows; null where it is not there. */
  scopes(name: string): DeskScopes | null;
  /** Sets what the token allows; what it has begun ends where it may do less than before. @throws `not_found`. */
  limit(name: string, scopes: DeskScopes): Promise<void>;
  /** Ends the token, where it is there. */
  remove(name: string): Promise<void>;
}

/** How long the desk may take to answer, in milliseconds. */
const ANSWER_MS = 15_000;

interface JoinOptions {
  readonly join_string: string;
  readonly label?: string | undefined;
  readonly direct?: string | undefined;
  /** What the desk may do here (default: as before, else all but `admin`). */
  readonly allow?: readonly DeskRight[] | undefined;
}

/**
 * Joins the desk that made the string.
 *
 * @throws `bad_input` for a string that is none; `conflict` when this host has joined another desk, or the desk refuses;
 *   `unavailable` when the desk does not answer. Then nothing has changed here.
 */
export async function joinDesk(service: HostUses, { join_string, label, direct, allow }: JoinOptions) {
  const string = parseJoinString(join_string);
  const files = configFiles(service.configDir);
  return service.inJoinTurn(async () => {
    const former = readMembership(files.desk);
    if (former && !pinsOfDesk(former).includes(string.pin)) {
      throw conflict(`this host has joined the desk at ${former.desk}: leave it first with \`svc leave\``);
    }
    const server = service.runningServer();
    const way = wayFrom(server, string.address, direct);
    const identity = openSigningKey(files.hostKey);
    const pin = /^https:/i.test(way.url ?? "") ? await service.ownPin() : undefined;
    const tokens = await service.deskTokens();
    const scopes = allow ? scopesOf(allow) : ((former && tokens.scopes(former.token)) ?? DESK_SCOPES);
    const { name: tokenName, token, expires: token_expires } = await tokens.add(scopes);
    const host = { host_key: identity.publicKey, name: hostname(), label, url: way.url, pin };
    // Later than its last request, also where the clock was set back since.
    const time = Math.max(Date.now(), Date.parse(former?.joined ?? "") + 1 || 0);
    const known = { id: string.id, ...host, token, token_expires, time };
    const nats = way.dials && (await service.natsKey());
    const askWith = ({ nats: key, ...more }: Extras) => {
      const about = { ...known, ...more, ...(key && { nats_key: key.id }) };
      const signature = identity.sign(joinMessage(string.pin, about));
      const proof = natsKeyMessage(string.pin, hostIdOf(identity.publicKey), String(time));
      const proved = key && { nats_proof: provedBy(key, proof) };
      return ask(string, { ...about, ...proved, secret: string.secret, signature });
    };
    // Only what is not usual: a desk that does not know the field takes the others.
    const rights: readonly Extras[] = scopesText(scopes) === "desk" ? [{}] : [{ allow: [...scopes] }, {}];
    const ways: readonly Extras[] = way.dials
      ? [{ dials: true, ...(nats && { nats }) }, { dials: true }]
      : [{}];
    try {
      const attempts = ways.flatMap((one) => rights.map((right) => ({ ...one, ...right })));
      const answer = await askInTurn(attempts, askWith).catch((error) => {
        if (!(error instanceof RemoteError)) throw error;
        if (!way.dials || !hasToReach(error)) throw refusedBy(string.address, error);
        if (way.url === undefined) throw way.problem;
        return askInTurn(rights, askWith).catch((again) => {
          throw again instanceof RemoteError ? refusedBy(string.address, again) : again;
        });
      });
      const membership: Membership = {
        desk: string.address,
        desk_pin: string.pin,
        ...answer,
        ...officesKept(former, answer),
        token: tokenName,
        joined: new Date().toISOString(),
      };
      // First: a process that is killed in between leaves a desk without its token otherwise.
      await tokens.kept(tokenName);
      writeMembership(files.desk, membership);
      const { base_url, dials } = addressIn(membership, way.url);
      if (former) await tokens.remove(former.token);
      return {
        desk: string.address,
        host_id: answer.host_id,
        label: answer.label,
        url: base_url,
        dials,
        served: server !== null,
        asks_certificate: server?.asks_certificate ?? false,
        allows: [...scopes],
      };
    } catch (error) {
      await tokens.remove(tokenName);
      throw error;
    }
  });
}

/**
 * What this host knows of take-overs of that desk. A machine that was taken over and has not heard takes the host in again, and sends it
 * no job for that.
 */
function officesKept(
  former: Membership | undefined,
  { desk_key, host_id }: Pick<Membership, "desk_key" | "host_id">,
): Pick<Membership, "desk_offices"> {
  const isSame = former?.desk_key === desk_key && former.host_id === host_id;
  return isSame && former.desk_offices ? { desk_offices: former.desk_offices } : {};
}

/** Where the desk reaches this host, and whether this host dials for that. @param url at which it would reach it directly. */
function addressIn({ carriers, host_id }: Membership, url = "") {
  const nats = carriers.find(({ kind }) => kind === "nats");
  if (nats) return { base_url: `nats:${nats.id}`, dials: true };
  const dials = carriers.some(({ kind }) => kind === "link");
  return { base_url: dials ? `link:${host_id}` : url, dials };
}

/** How this host and the desk can come together: the address at which the desk reaches it, and whether it dials. */
interface Way {
  /** Undefined where it has none, or the user has to choose: that is the `problem`. */
  readonly url?: string;
  readonly dials?: true;
  readonly problem?: unknown;
}

/** @param direct the address that the user says: then the desk shall use that. */
function wayFrom(server: LocalServer | null, desk: string, direct: string | undefined): Way {
  if (direct !== undefined) return { url: direct };
  try {
    return { url: urlOfHost(server, desk, undefined), dials: true };
  } catch (problem) {
    return { dials: true, problem };
  }
}

/** Whether the desk knows nothing of links, as those of before, or takes none: then it has to reach this host. */
const hasToReach = ({ refusal }: RemoteError) =>
  refusal?.status === 400 || (refusal?.status === 409 && refusal.error.startsWith("url:"));

/** What a request may have that older desks do not know. */
interface Extras {
  readonly dials?: true;
  readonly nats?: NatsKey;
  readonly allow?: JoinRequest["allow"];
}

/** Asks with the first of `attempts`, and a desk that knows less with those after it. @throws a {@link RemoteError}. */
async function askInTurn<T>(
  [first = {}, ...others]: readonly Extras[],
  askWith: (extras: Extras) => Promise<T>,
): Promise<T> {
  try {
    return await askWith(first);
  } catch (error) {
    if (others.length === 0 || Object(error).refusal?.status !== 400) throw error;
    return askInTurn(others, askWith);
  }
}

/** How often a desk is asked that is busy, and the pauses between. */
const ATTEMPTS = 8;
const PAUSES: Backoff = { firstMs: 250, longestMs: 8_000 };

/** To ask twice is safe: the desk knows the host by its key. @throws a {@link RemoteError}. */
async function ask({ address, pin }: JoinString, request: JoinRequest) {
  const desk = { url: `https://${address}`, token: undefined, trust: { kind: "pin", pins: [pin] } } as const;
  for (let attempt = 1; ; attempt++) {
    try {
      return await callRemote(desk, acceptEndpoint, request, ANSWER_MS);
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      if (!isBusy(error) || attempt === ATTEMPTS) throw error;
      await Bun.sleep(pauseBefore(PAUSES, attempt));
    }
  }
}

/** Whether the desk has too many connections or refusals at the moment. */
const isBusy = ({ message, refusal }: RemoteError) =>
  refusal?.status === 429 || message === "connection closed";

function refusedBy(address: string, { message, refusal, sent }: RemoteError): Failure {
  if (refusal) return conflict(`the desk at ${address} refuses: ${refusal.error}`);
  if (message === NOT_PINNED.key) {
    return conflict(`the server at ${address} has another key than the join string names: nothing was sent`);
  }
  if (!sent) return unavailable(`the desk at ${address} cannot be reached: ${message}`);
  return unavailable(
    `the desk at ${address}: ${message}: it may have taken this host in; run \`svc join\` again with the same string`,
  );
}

/**
 * Leaves the desk: notifies it, ends its token, forgets it.
 *
 * @returns why the desk was not notified; null when it was.
 * @throws `not_found` when this host has joined no desk.
 */
export async function leaveDesk(service: HostUses) {
  const files = configFiles(service.configDir);
  return service.inJoinTurn(async () => {
    const membership = readMembership(files.desk);
    if (!membership) throw notFound("this host has joined no desk");
    const { desk, label, token } = membership;
    const problem = await tellDesk(membership, openSigningKey(files.hostKey).sign);
    await (await service.deskTokens()).remove(token);
    await removeMembership(files.desk);
    return { desk, label, problem };
  });
}

async function tellDesk(membership: Membership, sign: (message: string) => string): Promise<string | null> {
  const { desk, host_id, nonce } = membership;
  const server = {
    url: `https://${desk}`,
    token: undefined,
    trust: { kind: "pin", pins: pinsOfDesk(membership) },
  } as const;
  try {
    await callRemote(
      server,
      releaseEndpoint,
      { host_id, signature: sign(leaveMessage(host_id, nonce)) },
      ANSWER_MS,
    );
    return null;
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    // It has removed the host already.
    return error.refusal?.status === 404 ? null : error.message;
  }
}

/**
 * Sets what the desk may do here; what it has begun ends where that is less than before.
 *
 * @returns the desk, and what it may do.
 * @throws `not_found` when this host has joined no desk, or has no token for it any more.
 */
export async function limitDesk(
  service: Pick<HostUses, "configDir" | "deskTokens" | "inJoinTurn">,
  words: readonly DeskRight[],
) {
  const files = configFiles(service.configDir);
  return service.inJoinTurn(async () => {
    const membership = readMembership(files.desk);
    if (!membership) throw notFound("this host has joined no desk");
    const scopes = scopesOf(words);
    await (await service.deskTokens()).limit(membership.token, scopes);
    return { desk: membership.desk, allows: [...scopes] };
  });
}

/**
 * Forgets the desk, which has removed this host.
 *
 * @param token the name of the token that the desk sent.
 * @throws `conflict` when it is not the token that this host made for its desk.
 */
export async function forgetDesk(
  service: Pick<HostUses, "configDir" | "deskTokens" | "inJoinTurn">,
  token: string | null,
) {
  const files = configFiles(service.configDir);
  return service.inJoinTurn(async () => {
    const membership = readMembership(files.desk);
    if (!membership || membership.token !== token) {
      throw conflict("this is not the token that this host made for its desk");
    }
    await (await service.deskTokens()).remove(membership.token);
    await removeMembership(files.desk);
  });
}
