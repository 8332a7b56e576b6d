/** The sessions of hosts are the texts that were heard, however many hosts there are. */
import { expect, test } from "bun:test";
import { Sessions } from "../../../src/desk/nats/sessions";
import { newSession } from "../../../src/wire/nats/wire";

test("each host has the session that was heard last", () => {
  const sessions = new Sessions();
  const heard = new Map<string, string>();
  const hear = (host: string) => {
    const session = newSession();
    heard.set(host, session);
    sessions.set(host, session);
  };
  for (let nth = 0; nth < 1_000; nth++) hear(`host-${nth}`);
  for (let nth = 0; nth < 1_000; nth += 7) hear(`host-${nth}`);
  const zeros = "00000001000000a0";
  sessions.set("host-3", zeros);
  heard.set("host-3", zeros);
  for (const [host, session] of heard) expect(sessions.get(host)).toBe(session);
  expect(sessions.get("host-1000")).toBeUndefined();
});
