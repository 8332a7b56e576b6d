import { expect, test } from "bun:test";
import { readdirSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { configFiles } from "../../src/lib/paths";
import { INCOMING } from "../../src/peers/inbox";
import { TOKEN, temporaryFolder, testServer, testService } from "../support";

test("the partial files of a session are removed when its process dies", async () => {
  await using viewer = testService();
  await using host = testService();
  const [from, to] = [await viewer.service.sessions(), await host.service.sessions()];
  const session = await from.connect((offer) => to.answer(offer), tmpdir());
  const [other] = to.list();
  const large = join(viewer.configDir, "large");
  writeFileSync(large, "");
  truncateSync(large, 50_000_000);
  const incoming = () => readdirSync(join(host.configDir, "inbox", INCOMING));
  const seen = Promise.withResolvers<string[]>();
  const sending = session.send({
    path: large,
    name: "large",
    progress(bytes) {
      if (bytes < 5_000_000 || !other) return;
      seen.resolve(incoming());
      process.kill(other.pid, "SIGKILL");
    },
  });
  sending.catch(() => {});
  expect(await seen.promise).toHaveLength(1);
  await other?.closed;
  expect(incoming()).toEqual([]);
});

test("a sync that is stopped hangs up on a host that has not answered its offer", async () => {
  await using viewer = testService();
  const [asked, hungUp] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  using mute = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: () => asked.resolve(), close: () => hungUp.resolve() },
  });
  const { service } = viewer;
  await (await service.addressBook()).add({
    label: "mute",
    base_url: `http://127.0.0.1:${mute.port}`,
    token: TOKEN,
    tags: [],
  });
  using outbox = temporaryFolder();
  writeFileSync(join(outbox.path, "file"), "x");
  const syncs = await service.syncs();
  const request = {
    dir: outbox.path,
    to: "mute",
    include_subdirs: false,
    interval_s: 0.25,
    resume: true,
    once: false,
    dry_run: false,
  };
  const { id } = await syncs.start(request);
  await asked.promise;
  await syncs.stop(id);
  await hungUp.promise;
});

test.each([
  ["remote_host_id", "../x", "GET", "/sessions"],
  ["ice.json", "{", "POST", "/sessions/offer"],
])("a broken %s is reported as this host's fault, without a path", async (name, text, method, path) => {
  await using host = await testServer();
  const { hostId, ice } = configFiles(host.configDir);
  writeFileSync(name === "ice.json" ? ice : hostId, text);
  const offer = JSON.stringify({ type: "offer", sdp: "v=0", viewer_id: "some-peer" });
  const headers = { "content-type": "application/json" };
  const response = await host.call(path, method === "POST" ? { method, body: offer, headers } : {});
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({ error: expect.stringMatching(new RegExp(`^${name}: `)) });
});
