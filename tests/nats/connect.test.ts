/** Connections to a real nats-server: what is checked before credentials are sent. */
import { describe, expect } from "bun:test";
import { connectNats } from "../../src/nats/connect";
import { testWith } from "../support";
import { startNats } from "./support";

describe("over TLS", () => {
  testWith("nats-server")(
    "a server is trusted by its pin or by its authority, and by nothing else",
    async () => {
      await using nats = await startNats({ tls: true });
      const desk = await nats.desk();
      const { urls, pin } = nats.server;
      const tried = async (server: Parameters<typeof connectNats>[0]["server"]) => {
        try {
          await (await connectNats({ server, ...desk })).close();
          return "connected";
        } catch (error) {
          return String(error);
        }
      };
      expect(await tried({ urls, pin })).toBe("connected");
      expect(await tried({ urls, ca: nats.cert })).toBe("connected");
      expect(await tried({ urls })).toMatch(/^RemoteError: the certificate is not trusted/);
      expect(await tried({ urls, pin: `spki:${"A".repeat(43)}` })).toBe(
        "RemoteError: the key is not the pinned one",
      );
    },
  );

  testWith("nats-server")("a server that offers no TLS gets nothing", async () => {
    await using nats = await startNats();
    const urls = nats.server.urls.map((url) => url.replace("nats:", "tls:"));
    await expect(connectNats({ server: { urls }, ...(await nats.desk()) })).rejects.toMatchObject({
      fault: "unreachable",
    });
  });
});

testWith("nats-server")("credentials that the server refuses are said to be refused", async () => {
  await using nats = await startNats();
  const [desk, host] = [await nats.desk(), await nats.host()];
  const mixed = { server: nats.server, jwt: desk.jwt, seed: host.seed };
  await expect(connectNats(mixed)).rejects.toMatchObject({ fault: "unauthorized" });
});
