/** Requests to hosts behind a server that is off. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { createNatsDesk } from "../../../src/desk/nats/desk";
import { silentLog } from "../../../src/lib/log";
import { openSigningKey } from "../../../src/trust/identity";
import { newNKey } from "../../../src/wire/nats/nkeys";
import { movableClocks, temporaryFolder, until } from "../../support";

test("a server that has been off for long is waited for by no request, and tried meanwhile", async () => {
  using folder = temporaryFolder();
  using clocks = movableClocks();
  let connections = 0;
  let isSilent = false;
  using server = Bun.listen({
    ...{ hostname: "127.0.0.1", port: 0 },
    socket: {
      open(socket) {
        connections++;
        if (!isSilent) socket.end();
      },
      data() {},
    },
  });
  const { id, seed } = newNKey("U");
  const login = { server: { urls: [`nats://127.0.0.1:${server.port}`] }, seed, jwt: "x" };
  const key = openSigningKey(join(folder.path, "desk_key"));
  const desk = createNatsDesk({ region: "eu", id, login, key, hostId: (host) => host, log: silentLog });
  const ask = () => desk.via(`nats:eu/${id}`, undefined, null);
  try {
    const failed = {
      fault: "unreachable",
      sent: false,
      message: /^no connection to the NATS server of eu: /,
    };
    const refused = { ...failed, message: expect.stringMatching(failed.message) };
    await expect(ask()).rejects.toMatchObject(refused);
    // From now on, whoever waits for an attempt waits for longer than this test may take.
    isSilent = true;
    clocks.advance(11_000);
    await expect(ask()).rejects.toMatchObject(refused);
    await until("the next attempt", () => connections > 1);
    await expect(ask()).rejects.toMatchObject(refused);
  } finally {
    await desk.stop();
  }
});
