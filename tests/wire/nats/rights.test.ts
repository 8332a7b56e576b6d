/** What the credentials that svc makes allow, as a real server sees them. */
import { describe, expect, test } from "bun:test";
import { nkeys } from "@nats-io/nats-core";
import { connectNats } from "../../../src/wire/nats/connect";
import { isPublic, isSeed, newNKey, nkey } from "../../../src/wire/nats/nkeys";
import { allowed, forbiddenToDesks, forbiddenToHosts } from "../../../src/wire/nats/rights";
import { startBundle } from "../../desk/nats/bundle";
import { movableClocks, testWith } from "../../support";

describe("a host", () => {
  testWith("nats-server")("neither reads nor answers nor speaks for others", async () => {
    await using nats = await startBundle();
    const [host, other] = [nats.host(), nats.host()];
    const nc = await connectNats(host);
    const own = { kind: "subscribe", subject: `svc.v1.host.${host.id}.ask` } as const;
    expect(await allowed(nc, [...forbiddenToHosts(other.id, nats.first.id), own])).toEqual([own]);
    await nc.close();
  });

  testWith("nats-server")("is asked by a desk, answers it, and is heard by every desk", async () => {
    await using nats = await startBundle();
    const [host, second] = [nats.host(), nats.desk("second")];
    const [answering, asking, hearing] = await Promise.all([host, nats.first, second].map(connectNats));
    if (!answering || !asking || !hearing) throw new Error("no connection");
    answering.subscribe(`svc.v1.host.${host.id}.>`, {
      callback: (_error, message) => void message.respond("here"),
    });
    await answering.flush();
    const heard = Promise.withResolvers<string>();
    hearing.subscribe("svc.v1.up.>", { callback: (_error, { subject }) => heard.resolve(subject) });
    await hearing.flush();
    const inbox = `_INBOX.${nats.first.id}.1`;
    const answered = Promise.withResolvers<string>();
    asking.subscribe(inbox, { callback: (_error, message) => answered.resolve(message.string()) });
    asking.publish(`svc.v1.host.${host.id}.ask`, "", { reply: inbox });
    expect(await answered.promise).toBe("here");
    answering.publish(`svc.v1.up.${host.id}.hello`);
    expect(await heard.promise).toBe(`svc.v1.up.${host.id}.hello`);
    await Promise.all([answering, asking, hearing].map((nc) => nc.close()));
  });
});

testWith("nats-server")(
  "a desk speaks for no host and no other desk, and reads no other's answers",
  async () => {
    await using nats = await startBundle();
    const second = nats.desk("second");
    const nc = await connectNats(nats.first);
    const own = { kind: "publish", subject: "svc.v1.host.U.ask" } as const;
    expect(await allowed(nc, [...forbiddenToDesks(second.id), own])).toEqual([own]);
    await nc.close();
  },
);

testWith("nats-server")(
  "credentials that were revoked open nothing, and those of others still do",
  async () => {
    await using nats = await startBundle();
    const [second, host, other] = [nats.desk("second"), nats.host(), nats.host()];
    const lost = await connectNats(second);
    nats.revoke("second", host.id);
    await lost.closed();
    for (const user of [second, host]) {
      await expect(connectNats(user)).rejects.toMatchObject({ fault: "unauthorized" });
    }
    await (await connectNats(other)).close();
  },
);

testWith("nats-server")(
  "a desk that got its part while the clock was ahead is shut out all the same",
  async () => {
    await using nats = await startBundle();
    using clocks = movableClocks();
    clocks.set(400 * 86_400_000);
    const second = nats.desk("second");
    clocks.set(-400 * 86_400_000);
    const lost = await connectNats(second);
    nats.revoke("second");
    await lost.closed();
    await expect(connectNats(second)).rejects.toMatchObject({ fault: "unauthorized" });
  },
);

testWith("nats-server")("credentials that have expired open nothing", async () => {
  await using nats = await startBundle();
  const past = Math.floor(Date.now() / 1_000) - 60;
  await expect(connectNats(nats.host(past))).rejects.toMatchObject({ fault: "unauthorized" });
});

describe("keys", () => {
  test("are those of the NATS libraries", () => {
    const message = Buffer.from("message");
    for (const kind of ["O", "A", "U"] as const) {
      const key = newNKey(kind);
      const theirs = nkeys.fromSeed(Buffer.from(key.seed));
      expect(theirs.getPublicKey()).toBe(key.id);
      expect(theirs.verify(message, key.sign(message))).toBe(true);
      expect(nkey(key.seed).id).toBe(key.id);
      expect([isSeed(key.seed, kind), isPublic(key.id, kind)]).toEqual([true, true]);
    }
  });

  test("what is mistyped is none", () => {
    const { id, seed } = newNKey("U");
    const wrong = (text: string) => text.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    expect(isPublic(wrong(id), "U")).toBe(false);
    expect(isSeed(wrong(seed), "U")).toBe(false);
    expect(isPublic(id, "A")).toBe(false);
    expect(isSeed(id, "U")).toBe(false);
    expect(isPublic(seed, "U")).toBe(false);
  });
});
