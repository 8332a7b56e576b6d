/** What a host keeps for desks, whoever they are. */
import { expect, test } from "bun:test";
import { createNatsRequests } from "../../../src/host/nats/serve";
import { silentLog } from "../../../src/lib/log";
import { newNKey } from "../../../src/wire/nats/nkeys";
import { NO_SESSION } from "../../../src/wire/nats/wire";
import { messageOf } from "../../desk/nats/hostile";

function served() {
  const told: string[] = [];
  const asking: Array<string | undefined> = [];
  const made = createNatsRequests({
    id: newNKey("U").id,
    session: "1".repeat(16),
    hostId: () => "h",
    deskKey: () => "",
    enter(_request, desk) {
      asking.push(desk);
      return new Promise(() => {});
    },
    publish: (subject) => void told.push(subject),
    log: silentLog,
  });
  const [one, other] = [newNKey("U").id, newNKey("U").id];
  const inbox = (desk: string, nth: number) => `_INBOX.${desk}.${"0".repeat(32)}.${nth}`;
  return { made, one, other, told, inbox, asking };
}

const ask = { t: "ask", id: 0, method: "GET", path: "/status", accept: "application/json" };

test("a conversation that begins without a request has no place", () => {
  const { made, one, inbox } = served();
  made.take(inbox(one, 1), messageOf(NO_SESSION, [{ t: "more", id: 0, bytes: 0 }]));
  expect(made.size()).toBe(0);
});

test("what nobody has signed is of no desk: a server can make it up in the name of any", async () => {
  const { made, one, inbox, asking } = served();
  made.take(inbox(one, 1), messageOf(NO_SESSION, [ask]));
  expect(asking).toEqual([undefined]);
  made.endAll();
});

test("a desk that asks without end leaves places to the others", () => {
  const { made, one, other, told, inbox } = served();
  for (let nth = 0; nth < 100; nth++) made.take(inbox(one, nth), messageOf(NO_SESSION, [ask]));
  expect(made.size()).toBe(64);
  expect(told).toHaveLength(36);
  made.take(inbox(other, 1), messageOf(NO_SESSION, [ask]));
  expect(made.size()).toBe(65);
  made.endAll();
});
