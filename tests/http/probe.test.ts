import { describe, expect, test } from "bun:test";
import { answers } from "../../src/http/probe";
import { rawServer, selfSigned } from "../client/support";
import { temporaryFolder, testServer, testService, testWith } from "../support";

describe("a listener answers", () => {
  test("while its server runs, and not after its end", async () => {
    await using host = await testServer();
    const rest = await host.service.rest();
    const { url } = host.server;
    expect(await rest.answers()).toBe(true);
    await rest.stop();
    expect([await rest.answers(), await answers(url)]).toEqual([false, false]);
  });

  testWith("openssl")("over TLS too", async () => {
    using folder = temporaryFolder();
    const { cert, key } = selfSigned(folder.path, "own", "IP:127.0.0.1");
    await using host = await testServer({ tls_cert: cert, tls_key: key });
    expect(await answers(host.server.url)).toBe(true);
  });

  test("also when it closes at once, as one that is full does", async () => {
    await using full = await rawServer((socket) => socket.destroy());
    expect(await answers(full.url)).toBe(true);
  });

  test("only when there is one", async () => {
    await using made = testService();
    expect(await (await made.service.rest()).answers()).toBe(false);
  });
});

test("the end of a server is known to those who wait for it, whoever stops it", async () => {
  await using host = await testServer();
  await (await host.service.rest()).stop();
  await host.server.stopped;
});
