/** A host that was updated speaks TLS, and the address book still says http. */
import { expect, test } from "bun:test";
import { deadlineIn, RemoteError } from "../../src/client/carrier";
import { carrierTo } from "../../src/client/connection";
import { makeCertificate, makeKey, parseKey } from "../../src/trust/certificate";

async function errorAt(url: string) {
  const server = { url, token: "test-token-0123456789", trust: { kind: "system" } } as const;
  using carrier = await carrierTo(server);
  const limits = { deadline: deadlineIn(60_000), maxBytes: 1_024 };
  const asked = carrier.ask({ method: "GET", path: "/sessions" }, limits);
  return asked.then(String, (error) => (error instanceof RemoteError ? error.message : `${error}`));
}

function tlsServer() {
  const key = makeKey();
  const cert = makeCertificate(parseKey(key), "lab-01", ["lab-01"], new Date());
  return Bun.serve({ port: 0, hostname: "0.0.0.0", tls: { key, cert }, fetch: () => new Response("{}") });
}

test("plain http to a host that speaks TLS fails with what to type", async () => {
  await using server = tlsServer();
  const host = `0.0.0.0:${server.port}`;
  expect(await errorAt(`http://${host}`)).toMatch(
    new RegExp(`: it may speak TLS now: \`svc admin set LABEL --url https://${host} --trust-first\`$`),
  );
});

test("on loopback, where http is the default, the reason stands alone", async () => {
  await using server = tlsServer();
  expect(await errorAt(`http://127.0.0.1:${server.port}`)).not.toContain("TLS");
});
