/** Requests of a desk, as far as its messages go. */
import { expect, jest, test } from "bun:test";
import { createAsks, KEEP_ALIVE_MS } from "../../../src/desk/nats/asks";
import { nextTurn } from "../../support";

test("a host that is not there is so at once, also when others are told that somebody waits", async () => {
  jest.useFakeTimers();
  try {
    const sent: Array<{ subject: string; reply: string | undefined }> = [];
    const asks = createAsks({
      id: `U${"A".repeat(55)}`,
      key: { sign: () => "" },
      hostId: () => "h",
      publish: (subject, _message, reply) => void sent.push({ subject, reply }),
      sessions: new Map(),
      unheard() {},
    });
    const begin = (host: string) =>
      asks.begin(host, { method: "GET", path: "/status" }, { accept: "application/json" });
    using _slow = begin("SLOW");
    jest.advanceTimersByTime(KEEP_ALIVE_MS - 1);
    using off = begin("OFF");
    jest.advanceTimersByTime(KEEP_ALIVE_MS);
    jest.useRealTimers();
    await nextTurn();
    asks.take(sent.find(({ subject }) => subject.includes("OFF"))?.reply ?? "", new Uint8Array(), true);
    await expect(off.head).rejects.toMatchObject({ message: "not connected", sent: false });
  } finally {
    jest.useRealTimers();
  }
});
