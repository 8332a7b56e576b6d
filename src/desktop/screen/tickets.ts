/**
 * Tickets: a WebSocket of a browser carries no token, so a request with the token gets a ticket for it.
 *
 * The promise: a ticket is good once, for {@link LIFETIME_MS}, from the address that asked for it, with what its token allows. This
 * process keeps its digest alone.
 */
import type { Caller } from "../../core/caller";
import type { Grant } from "../../core/rights";
import { busy } from "../../lib/errors";
import { shortage } from "../../lib/quota";
import type { CarrierKind } from "./record";

export const LIFETIME_MS = 30_000;

/** How many are open at once. */
const OPEN = { what: "tickets that nobody has used", most: 256, times: 1 };

/** What a ticket stands for. */
export interface Ticket {
  readonly viewer_id: string;
  readonly grant: Grant;
  readonly client: string | null;
  readonly control: boolean;
  readonly carrier: CarrierKind;
  readonly expires: number;
}

/** How a client offers it (RFC 6455 section 1.9). */
const TICKET_PREFIX = "ticket.";

const digestOf = (ticket: string) => new Bun.CryptoHasher("sha256").update(ticket).digest("hex");

export type Tickets = ReturnType<typeof createTickets>;

/** @param now milliseconds since the epoch. */
export function createTickets(now: () => number = Date.now) {
  /** By their digests, the oldest first. */
  const open = new Map<string, Ticket>();
  const forgetOld = () => {
    for (const [digest, { expires }] of open) {
      if (expires > now()) return;
      open.delete(digest);
    }
  };
  return {
    /** @throws an `unavailable` failure while too many are open. */
    make({ grant, client }: Pick<Caller, "grant" | "client">, asked: Pick<Ticket, "control" | "carrier">) {
      forgetOld();
      const users = [...open.values()].map((one) => one.grant.name);
      const full = shortage(OPEN, users, grant.name);
      if (full !== undefined) throw busy(full);
      const ticket = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
      const expires = now() + LIFETIME_MS;
      const viewer_id = crypto.randomUUID();
      open.set(digestOf(ticket), { ...asked, viewer_id, grant, client, expires });
      return { ticket, viewer_id, expires_at: new Date(expires).toISOString() };
    },
    /** What it stands for, once; undefined for any that is not good. @param client who uses it. */
    use(ticket: string, client: string | null): Ticket | undefined {
      forgetOld();
      const digest = digestOf(ticket);
      const found = open.get(digest);
      // Whoever has found one elsewhere does not use up that of its owner.
      if (!found || found.client !== client) return undefined;
      open.delete(digest);
      return found;
    },
  };
}

/** The ticket among the subprotocols that a client offers; undefined where there is none. */
export function ticketIn(headers: Headers | undefined): string | undefined {
  const offered = (headers?.get("sec-websocket-protocol") ?? "").split(",").map((one) => one.trim());
  return offered.find((one) => one.startsWith(TICKET_PREFIX))?.slice(TICKET_PREFIX.length);
}
