import { expect, test } from "bun:test";
import { createPeerSender, type Link } from "../../../src/host/sync/sender";
import { timedOut, unavailable } from "../../../src/lib/errors";
import { silentLog } from "../../../src/lib/log";

const noProgress = () => {};

/** A session that the test ends, and the names it was given. */
function fakeLink({ send = async (_name: string) => {} } = {}) {
  const over = Promise.withResolvers<string>();
  const names: string[] = [];
  const link: Link & { state: string } = {
    state: "open",
    closed: over.promise,
    async send({ name }) {
      if (link.state === "closed") throw unavailable("the session is over");
      names.push(name);
      await send(name);
    },
    async close(reason) {
      link.state = "closed";
      over.resolve(reason);
    },
  };
  return { link, names, over };
}

test("one connection carries all files, and a new one follows when it ends", async () => {
  const [first, second] = [fakeLink(), fakeLink()];
  const links = [first, second];
  const sender = createPeerSender({ connect: async () => links.shift()?.link ?? first.link, log: silentLog });
  await Promise.all([sender.send("/a", "a", noProgress), sender.send("/b", "b", noProgress)]);
  expect(sender.status().connected).toBe(true);
  await first.link.close("gone");
  await sender.send("/c", "c", noProgress);
  expect([first.names, second.names]).toEqual([["a", "b"], ["c"]]);
  await sender.close();
});

test("a file sent while a connection ends waits for the next connection", async () => {
  const [first, second] = [fakeLink(), fakeLink()];
  const links = [first, second];
  const sender = createPeerSender({ connect: async () => links.shift()?.link ?? first.link, log: silentLog });
  await sender.send("/a", "a", noProgress);
  first.link.state = "closed";
  const waiting = sender.send("/b", "b", noProgress);
  first.over.resolve("gone");
  await waiting;
  expect(second.names).toEqual(["b"]);
  await sender.close();
});

test("a peer that no longer answers loses the connection", async () => {
  const silent = fakeLink({
    send: async () => {
      throw timedOut("the peer no longer answers");
    },
  });
  const sender = createPeerSender({ connect: async () => silent.link, log: silentLog });
  await expect(sender.send("/a", "a", noProgress)).rejects.toThrow("no longer answers");
  expect(sender.status()).toEqual({ connected: false, connection_error: "the peer no longer answers" });
  await sender.close();
});

test("a failed connection is retried until it succeeds", async () => {
  const { link, names } = fakeLink();
  let attempts = 0;
  const sender = createPeerSender({
    connect: async () => {
      attempts += 1;
      if (attempts < 3) throw unavailable("nobody there");
      return link;
    },
    log: silentLog,
    firstPauseMs: 1,
  });
  await sender.send("/a", "a", noProgress);
  expect({ attempts, names }).toEqual({ attempts: 3, names: ["a"] });
  await sender.close();
});

test("after the sender has given up, every file fails", async () => {
  let attempts = 0;
  const sender = createPeerSender({
    connect: async () => {
      attempts += 1;
      throw unavailable("nobody there");
    },
    log: silentLog,
    firstPauseMs: 1,
    giveUpMs: 2,
  });
  for (const name of ["a", "b", "c"])
    await expect(sender.send(`/${name}`, name, noProgress)).rejects.toThrow("nobody there");
  expect(attempts).toBeLessThanOrEqual(3);
  expect(sender.status().connection_error).toBe("nobody there");
  await sender.close();
});

test("closing does not wait for a pending connection, and closes it when it opens", async () => {
  const { link, over } = fakeLink();
  const connecting = Promise.withResolvers<Link>();
  const sender = createPeerSender({ connect: () => connecting.promise, log: silentLog });
  const sending = sender.send("/a", "a", noProgress);
  await sender.close();
  await expect(sending).rejects.toThrow("the sync was stopped");
  connecting.resolve(link);
  expect(await over.promise).toBe("the sync was stopped");
  expect(sender.status().connection_error).toBeNull();
});
