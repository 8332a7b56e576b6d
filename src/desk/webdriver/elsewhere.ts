/**
 * Sessions on hosts of the address book: this desk hands their commands on, over http, a link or NATS.
 *
 * The promise: only the token that made a session here uses it, and the host does no more for it than that token allows here, whatever
 * it allows this desk.
 */

import type { ServerBook } from "../../client/carrier";
import { askHostFor } from "../../client/for-caller";
import { callRemote } from "../../client/remote-call";
import type { Caller } from "../../core/caller";
import { allows, beyond, limitsOf, SCOPES, shareOf } from "../../core/rights";
import { Failure, forbidden } from "../../lib/errors";
import { createFairMap } from "../../lib/fair-map";
import { type Elsewhere, handedOn, ownerOf, type Request } from "../../wire/webdriver/endpoint";
import { type Answer, failing } from "../../wire/webdriver/errors";

/** How long a host is waited for, in milliseconds: a list of actions may take long. */
const PATIENCE = { sendMs: 15_000, answerMs: 3_600_000 };
/** Sessions that are remembered, of all tokens together. */
const MOST = 10_000;
/** The longest id that a host gives a session, in characters: a UUID has 36. */
const MAX_ID = 200;

/** A session on a host: its id there, and whose it is. */
interface HostSession {
  readonly label: string;
  readonly id: string;
  readonly owner: string;
}

/** @param most how many sessions are remembered. */
export function createElsewhere(addressBook: () => Promise<ServerBook>, most = MOST): Elsewhere {
  // Of a token that makes more sessions than others, the oldest go first: a host answers as it likes, and as often.
  const known = createFairMap<string, HostSession>(most);

  const hand = async (label: string, request: Request, caller: Caller): Promise<Answer> => {
    const { grant } = caller;
    if (!allows(grant, "operate")) throw forbidden(beyond(grant, "asking other hosts needs operate"));
    const servers = await (await addressBook()).servers(label);
    const server = servers.find((one) => one.label === label)?.server;
    if (!server)
      throw failing(
        "session not created",
        `svc:host: there is no host ${JSON.stringify(label)} in the address book`,
      );
    caller.request?.relay?.to(label);
    const { method, path, body } = request;
    // The host leaves out what it does not allow this desk.
    const scopes = limitsOf(grant, true) ?? [...SCOPES];
    const input = { method, path, body: body ?? null, scopes };
    try {
      return await askHostFor(label, caller, (signal, client) =>
        callRemote(server, handedOn, input, PATIENCE, signal, client),
      );
    } catch (error) {
      // It is no fault of an element that a host gives no answer.
      throw error instanceof Failure
        ? new Failure(error.code, error.message, { webdriver: "unknown error" })
        : error;
    }
  };

  return {
    has: (id) => known.find(id) !== undefined,
    async create(label, body, caller) {
      const answer = await hand(label, { method: "POST", path: "/session", body: withoutHost(body) }, caller);
      if (answer.status !== 200) throw failing("session not created", messageIn(answer.value));
      const { sessionId, capabilities } = Object(answer.value);
      if (typeof sessionId !== "string" || sessionId.length > MAX_ID)
        throw failing("session not created", `${label} answered without a session`);
      const id = crypto.randomUUID();
      known.put(shareOf(caller.grant), id, { label, id: sessionId, owner: ownerOf(caller.grant) });
      return { sessionId: id, capabilities: { ...Object(capabilities), "svc:host": label } };
    },
    async ask(id, request, caller) {
      const session = known.find(id);
      if (session?.owner !== ownerOf(caller.grant))
        throw failing("invalid session id", "there is no such session: it has ended, or is of another token");
      const path = `/session/${session.id}${request.path.slice(`/session/${id}`.length)}`;
      const answer = await hand(session.label, { ...request, path }, caller);
      const isEnd = request.method === "DELETE" && path === `/session/${session.id}`;
      if (isEnd || Object(answer.value).error === "invalid session id") known.remove(id);
      return answer;
    },
  };
}

const messageIn = (value: unknown): string => `${Object(value).message ?? "the host made no session"}`;

/** The capabilities without the host, which is reached by now. */
function withoutHost(body: unknown): unknown {
  const { alwaysMatch = {}, firstMatch = [{}] } = Object(Object(body).capabilities);
  const without = (one: unknown) =>
    Object.fromEntries(Object.entries(Object(one)).filter(([name]) => name !== "svc:host"));
  return { capabilities: { alwaysMatch: without(alwaysMatch), firstMatch: [...firstMatch].map(without) } };
}
