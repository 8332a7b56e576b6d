/** What an entry of the address book needs before it is stored. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { spkiPin } from "../../../src/lib/spki";
import { IDLE_SESSIONS, rawServer, selfSigned } from "../../client/support";
import { post, TOKEN, temporaryFolder, testServer, testWith } from "../../support";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

async function desk() {
  const server = await testServer();
  const ask = async (path: string, body: object) => {
    const response = await server.call(`/admin/hosts/${path}`, post({ token: TOKEN, ...body }));
    const answer = (await response.json()) as Record<string, unknown>;
    return response.status === 200 ? answer : { status: response.status, ...answer };
  };
  const hosts = async () => (await server.service.addressBook()).hosts();
  return { ask, hosts, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe("http", () => {
  const PLAIN = { label: "a", base_url: "http://10.0.0.5:9939" };
  const REFUSAL =
    "insecure_http: expected for http://10.0.0.5:9939: others can read and change what http carries, the token too. Use https";

  test.each(["http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1", "http://127.9.9.9"])(
    "on this machine needs nothing: %s",
    async (base_url) => {
      await using made = await desk();
      expect(await made.ask("add", { label: "a", base_url })).toMatchObject({ trust: "loopback" });
    },
  );

  test.each(["http://10.0.0.5:9939", "http://lab:1", "http://127.0.0.1.example", "http://localhost.example"])(
    "beyond this machine needs insecure_http, and is shown as not encrypted: %s",
    async (base_url) => {
      await using made = await desk();
      const refused = await made.ask("add", { label: "a", base_url });
      expect(refused).toMatchObject({ status: 400, error: expect.stringMatching(/^insecure_http: /) });
      expect(await made.hosts()).toEqual([]);
      const added = await made.ask("add", { label: "a", base_url, insecure_http: true });
      expect(added).toMatchObject({ trust: "nothing", pin: null });
    },
  );

  test("needs it again for a new address, and not for other changes", async () => {
    await using made = await desk();
    await made.ask("add", { ...PLAIN, insecure_http: true });
    expect(await made.ask("set", { label: "a", tags: ["lab"] })).toMatchObject({ tags: ["lab"] });
    expect(await made.ask("set", { label: "a", base_url: "http://10.0.0.6:9939" })).toMatchObject({
      status: 400,
    });
    const moved = await made.ask("set", {
      label: "a",
      base_url: "http://10.0.0.6:9939",
      insecure_http: true,
    });
    expect(moved).toMatchObject({ base_url: "http://10.0.0.6:9939" });
  });

  test("in a script and in a list of hosts needs it too", async () => {
    await using made = await desk();
    const actions = [["AC_admin_add_host", { ...PLAIN, token: TOKEN }]];
    const run = (await (await made.server.call("/execute", post({ actions }))).json()) as {
      error_text: string;
    };
    expect(run.error_text).toContain(REFUSAL);
    const { importBook } = await import("../../../src/desk/fleet/operations/transfer");
    const { callOperation } = await import("../../../src/core/call");
    const { localCaller } = await import("../../../src/core/caller");
    const { service } = made.server;
    const file = JSON.stringify({ hosts: [{ ...PLAIN, token: TOKEN }] });
    const load = (more: object) =>
      callOperation(service, importBook, { file, ...more }, localCaller(service, "cli"));
    expect(async () => load({})).toThrow(REFUSAL);
    expect(await load({ insecure_http: true })).toEqual({ added: 1, replaced: 0 });
  });

  test("of an older file stays usable as it is", async () => {
    await using made = await desk();
    await (await made.server.service.addressBook()).add({ ...PLAIN, token: TOKEN, tags: [] });
    expect(await made.ask("set", { label: "a", token: "another-token-0123456789" })).toMatchObject({
      trust: "nothing",
    });
  });
});

describe("https", () => {
  const withOpenssl = testWith("openssl");
  let cert: string;
  let key: string;
  beforeAll(() => {
    if (Bun.which("openssl") === null) return;
    const made = selfSigned(folder.path, "host", "IP:127.0.0.1");
    [cert, key] = [readFileSync(made.cert, "utf8"), readFileSync(made.key, "utf8")];
  });

  /** A host with a certificate of its own, and what it was asked. */
  function host() {
    const asked: string[] = [];
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: { cert, key },
      fetch(request) {
        asked.push(request.url);
        return new Response();
      },
    });
    const entry = { label: "a", base_url: `https://127.0.0.1:${server.port}` };
    return { asked, entry, [Symbol.asyncDispose]: () => server.stop(true) };
  }

  withOpenssl("of no usual authority needs a pin; the refusal shows what it seems to be", async () => {
    await using made = await desk();
    await using there = host();
    expect(await made.ask("add", there.entry)).toMatchObject({
      status: 400,
      error: `pin: missing: the certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT). The pin of ${there.entry.base_url} seems to be ${spkiPin(cert)}: compare it with what \`svc pin\` prints on that host, then give it`,
    });
    expect(await made.hosts()).toEqual([]);
    const pinned = await made.ask("add", { ...there.entry, pin: spkiPin(cert), unchecked: true });
    expect(pinned).toMatchObject({ trust: "key", pin: spkiPin(cert) });
    expect(await made.ask("set", { label: "a", clear_trust: true })).toMatchObject({ status: 400 });
    expect((await made.hosts())[0]?.pin).toBe(spkiPin(cert));
    expect(there.asked).toEqual([]);
  });

  withOpenssl("with a pin or an authority is asked with its token before it is added", async () => {
    await using made = await desk();
    let status = 200;
    const sent: Array<string | null> = [];
    await using there = Bun.serve({
      ...{ hostname: "127.0.0.1", port: 0, tls: { cert, key } },
      fetch(request) {
        sent.push(request.headers.get("authorization"));
        return status === 200 ? new Response(IDLE_SESSIONS) : Response.json({ error: "no" }, { status });
      },
    });
    const entry = { label: "a", base_url: `https://127.0.0.1:${there.port}` };
    const other = `spki:${"A".repeat(43)}`;
    const unasked = "; --unchecked (`unchecked`) adds it all the same";
    expect(await made.ask("add", { ...entry, pin: other })).toMatchObject({
      ...{ status: 400 },
      error: `pin: ${entry.base_url}: the key is not the pinned one: it shows ${spkiPin(cert)}${unasked}`,
    });
    expect(sent).toEqual([]);
    status = 401;
    expect(await made.ask("add", { ...entry, pin: spkiPin(cert) })).toEqual({
      ...{ status: 400, error: `token: ${entry.base_url} refuses it (HTTP 401)${unasked}` },
    });
    status = 404;
    expect(await made.ask("add", { ...entry, ca: cert })).toMatchObject({ status: 503 });
    const down = { label: "a", base_url: "https://127.0.0.1:1", pin: other };
    expect(await made.ask("add", down)).toMatchObject({
      ...{ status: 503, error: `https://127.0.0.1:1: connection refused${unasked}` },
    });
    expect(await made.hosts()).toEqual([]);
    expect(await made.ask("add", { ...down, label: "b", unchecked: true })).toMatchObject({ pin: other });
    for (const [label, answer] of [
      ["c", 200],
      ["d", 403],
    ] as const) {
      status = answer;
      const trust = label === "c" ? { pin: spkiPin(cert) } : { ca: cert };
      expect(await made.ask("add", { ...entry, label, ...trust })).toMatchObject({ label });
    }
    expect(new Set(sent)).toEqual(new Set([`Bearer ${TOKEN}`]));
  });

  withOpenssl("with trust_first is pinned to the key that it shows, to which nothing is sent", async () => {
    await using made = await desk();
    await using there = host();
    const added = await made.ask("add", { ...there.entry, trust_first: true });
    expect(added).toMatchObject({ trust: "key", pin: spkiPin(cert) });
    expect((await made.hosts())[0]).toMatchObject({ pin: spkiPin(cert) });
    expect(there.asked).toEqual([]);
  });

  withOpenssl(
    "that is known gets the pin of the key that it shows in place of its trust so far",
    async () => {
      await using made = await desk();
      await using there = host();
      await made.ask("add", { ...there.entry, ca: cert, unchecked: true });
      expect(await made.ask("set", { label: "a", trust_first: true })).toMatchObject({ pin: spkiPin(cert) });
      expect((await made.hosts())[0]?.ca).toBeUndefined();
    },
  );

  test("that is down is stored without a pin, but not with trust_first", async () => {
    await using made = await desk();
    const down = { label: "a", base_url: "https://127.0.0.1:1" };
    expect(await made.ask("add", { ...down, trust_first: true })).toMatchObject({
      status: 503,
      error: "trust_first: no key to pin: connection refused",
    });
    expect(await made.ask("add", down)).toMatchObject({ trust: "authorities", pin: null });
  });

  test("that speaks no TLS has no key to pin", async () => {
    await using made = await desk();
    await using plain = await rawServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const entry = { label: "a", base_url: plain.url.replace("http:", "https:"), trust_first: true };
    expect(await made.ask("add", entry)).toMatchObject({ status: 503 });
  });

  test.each([
    [{ base_url: "http://127.0.0.1:1" }, "trust_first: expected with an https address only"],
    [
      { base_url: "https://127.0.0.1:1", pin: `spki:${"A".repeat(43)}` },
      "trust_first: expected without ca and pin",
    ],
  ])("trust_first with %j is refused", async (entry, error) => {
    await using made = await desk();
    expect(await made.ask("add", { label: "a", ...entry, trust_first: true })).toEqual({
      status: 400,
      error,
    });
  });
});
