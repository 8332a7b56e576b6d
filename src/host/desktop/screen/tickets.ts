/**
 * Tickets: a WebSocket of a browser carries no token, so a request with the token gets a ticket for it.
 *
 * The promise: a ticket is good once, for {@link LIFETIME_MS}, from the address that asked for it, with what its token allows. This
 * process keeps its digest alone.
 */
import type { Caller } from "../../../core/caller";
import type { Grant } from "../../../core/rights";
import { sha256 } from "../../../lib/checksum";
import { busy } from "../../../lib/errors";
import { shortage } from "../../../lib/quota";
import type { CarrierKind } from "../../../wire/screen/viewer";

export const LIFETIME_MS = 30_000;

/** How many are open at once. */
const OPEN = { what: "tickets that nobody has used", most: 256, times: 1 };

interface Ticket {
  readonly viewer_id: string;
  readonly grant: Grant;
  readonly client: string | null;
  readonly control: boolean;
  readonly carrier: CarrierKind;
  /** The name of the desktop, if it is one on demand. */
  readonly desktop?: string | undefined;
  /** By the clock of the tickets. */
  readonly expires: number;
}

interface MadeTicket {
  readonly ticket: string;
  readonly viewer_id: string;
  readonly expires_at: string;
}

/** The tickets of this process. */
export interface Tickets {
  /** @throws an `unavailable` failure while too many are open. */
  make(
    caller: Pick<Caller, "grant" | "client">,
    viewer: Pick<Ticket, "control" | "carrier" | "desktop">,
  ): MadeTicket;
  /** What it stands for, once; undefined for any that is not good. @param client who uses it. */
  use(ticket: string, client: string | null): Ticket | undefined;
}

/** @param now milliseconds of a clock that nobody sets. */
export function createTickets(now = () => performance.now()): Tickets {
  /** By their digests, the oldest first. */
  const open = new Map<string, Ticket>();
  const forgetOld = () => {
    for (const [digest, { expires }] of open) {
      if (expires > now()) return;
      open.delete(digest);
    }
  };
  return {
    make({ grant, client }, viewer) {
      forgetOld();
      const users = [...open.values()].map((one) => one.grant.name);
      const full = shortage(OPEN, users, grant.name);
      if (full !== undefined) throw busy(full);
      const ticket = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
      const expires = now() + LIFETIME_MS;
      const viewer_id = crypto.randomUUID();
      open.set(sha256(ticket), { ...viewer, viewer_id, grant, client, expires });
      return { ticket, viewer_id, expires_at: new Date(Date.now() + LIFETIME_MS).toISOString() };
    },
    use(ticket, client) {
      forgetOld();
      const digest = sha256(ticket);
      const found = open.get(digest);
      // Whoever has found one elsewhere does not use up that of its owner.
      if (!found || found.client !== client) return undefined;
      open.delete(digest);
      return found;
    },
  };
}
