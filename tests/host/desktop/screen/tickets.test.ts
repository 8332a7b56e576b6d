/** Tickets of the live screen. */
import { expect, setSystemTime, test } from "bun:test";
import type { Grant } from "../../../../src/core/rights";
import { createTickets, LIFETIME_MS } from "../../../../src/host/desktop/screen/tickets";
import { ticketIn } from "../../../../src/wire/screen/stream";

const ANN: Grant = { name: "ann", scopes: ["screen"] };
const asked = { control: false, carrier: "websocket" as const };
const caller = { grant: ANN, client: "192.0.2.7" };

test("a ticket is good once", () => {
  const tickets = createTickets();
  const { ticket, viewer_id } = tickets.make(caller, asked);
  expect(tickets.use(ticket, "192.0.2.7")).toMatchObject({ grant: ANN, control: false, viewer_id });
  expect(tickets.use(ticket, "192.0.2.7")).toBeUndefined();
});

test("a ticket is good from the address that asked for it, and one that was found elsewhere stays its owner's", () => {
  const tickets = createTickets();
  const { ticket } = tickets.make(caller, asked);
  expect(tickets.use(ticket, "192.0.2.8")).toBeUndefined();
  expect(tickets.use(ticket, null)).toBeUndefined();
  expect(tickets.use(ticket, "192.0.2.7")).toBeDefined();
});

test("a ticket ends after half a minute", () => {
  let now = 0;
  const tickets = createTickets(() => now);
  setSystemTime(new Date("2040-01-01T00:00:00Z"));
  const { ticket, expires_at } = tickets.make(caller, asked);
  setSystemTime();
  expect(expires_at).toBe("2040-01-01T00:00:30.000Z");
  now = LIFETIME_MS;
  expect(tickets.use(ticket, "192.0.2.7")).toBeUndefined();
});

test("one token leaves half of the tickets to others, and those that ended make room", () => {
  let now = 0;
  const tickets = createTickets(() => now);
  for (let nth = 0; nth < 128; nth++) tickets.make(caller, asked);
  expect(() => tickets.make(caller, asked)).toThrow("ann has 128 tickets");
  tickets.make({ ...caller, grant: { ...ANN, name: "bob" } }, asked);
  now = LIFETIME_MS;
  tickets.make(caller, asked);
});

test("no guess and no empty text is a ticket", () => {
  const tickets = createTickets();
  tickets.make(caller, asked);
  for (const guess of ["", "a", "constructor"]) expect(tickets.use(guess, "192.0.2.7")).toBeUndefined();
});

test("the ticket is read from the subprotocols that a client offers", () => {
  const offered = (text: string) => ticketIn(new Headers({ "sec-websocket-protocol": text }));
  expect(offered("svc.rfb, ticket.abc-_")).toBe("abc-_");
  expect(offered("svc.rfb")).toBeUndefined();
  expect(ticketIn(undefined)).toBeUndefined();
});
