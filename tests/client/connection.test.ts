import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { type Carrier, deadlineIn, type RemoteError, type Trust } from "../../src/client/carrier";
import { carrierTo } from "../../src/client/connection";
import { parsePin, spkiPin } from "../../src/lib/spki";
import { TOKEN, temporaryFolder, testServer, testWith } from "../support";
import { answering, ok, rawServer, selfSigned } from "./support";

const GET = { method: "GET", path: "/sessions" } as const;
const limits = (ms = 2_000) => ({ deadline: deadlineIn(ms), maxBytes: 1_048_576 });
const lineTo = (url: string, trust: Trust = { kind: "system" }, signal?: AbortSignal) =>
  carrierTo({ url, token: "line-token", trust }, signal);

/** Status and body, or the fault, its words and whether the request was sent. */
async function ask(opened: Promise<Carrier>, request: Parameters<Carrier["ask"]>[0] = GET, ms?: number) {
  using line = await opened;
  try {
    const { status, body } = await line.ask(request, limits(ms));
    return { status, body: Buffer.from(body).toString() };
  } catch (error) {
    const { fault, message, sent } = error as RemoteError;
    return { fault, message, sent };
  }
}

test("large answers that come at once are handed over one in a turn, so that each is read between what others ask", async () => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const via = async (url: string): Promise<Carrier> => ({
    ask: async () => ({ status: 200, body: new Uint8Array(url === "fake:small" ? 10 : 1_048_576) }),
    open: () => Promise.reject(new Error("not asked")),
    pin: () => undefined,
    [Symbol.dispose]() {},
  });
  const turnOf = async (url: string) => {
    using carrier = await carrierTo({ url, token: undefined, trust: { kind: "any" }, via });
    await carrier.ask(GET, limits());
    return turns;
  };
  const large = await Promise.all(Array.from({ length: 8 }, () => turnOf("fake:large")));
  const small = await Promise.all(Array.from({ length: 8 }, () => turnOf("fake:small")));
  isOver = true;
  expect(new Set(large).size).toBe(8);
  expect(new Set(small).size).toBe(1);
});

describe("a change whose answer was lost", () => {
  const POST = { method: "POST", path: "/execute", body: "{}" } as const;
  const knowing = (body: string) => ok(body).replace("\r\n", "\r\nsvc-repeats: idempotency-key\r\n");
  const early = "HTTP/1.1 409 Conflict\r\nretry-after: 1\r\ncontent-length: 2\r\n\r\n{}";

  test("is sent again, with its key, until it has one", async () => {
    const posts: string[] = [];
    await using server = await rawServer((socket) => {
      socket.on("data", (bytes) => {
        const head = `${bytes}`;
        if (head.startsWith("GET")) return socket.write(knowing("{}"));
        posts.push(/idempotency-key: (.*)\r/i.exec(head)?.[1] ?? "none");
        if (posts.length === 1) return socket.destroy();
        return socket.write(posts.length === 2 ? early : knowing('{"n":3}'));
      });
    });
    using line = await lineTo(server.url);
    await line.ask(GET, limits());
    const { status, body } = await line.ask(POST, limits(30_000));
    expect([status, Buffer.from(body).toString()]).toEqual([200, '{"n":3}']);
    expect([posts.length, new Set(posts).size]).toEqual([3, 1]);
    expect(posts[0]).toMatch(/^"[0-9a-f-]{36}"$/);
  });

  test("is not sent again where its caller wants it once: it has no key either", async () => {
    const posts: string[] = [];
    await using server = await rawServer((socket) => {
      socket.on("data", (bytes) => {
        if (`${bytes}`.startsWith("GET")) return socket.write(knowing("{}"));
        posts.push(`${bytes}`);
        return socket.destroy();
      });
    });
    using line = await lineTo(server.url);
    await line.ask(GET, limits());
    const asked = line.ask({ ...POST, once: true }, limits(30_000));
    await expect(asked).rejects.toMatchObject({ fault: "unreachable", sent: true });
    expect(posts).toHaveLength(1);
    expect(posts[0]).not.toMatch(/idempotency-key/i);
  });

  test("is not sent again to a server that has not said that it knows repeats", async () => {
    let posts = 0;
    await using server = await rawServer((socket) => {
      socket.on("data", (bytes) => {
        if (`${bytes}`.startsWith("GET")) return socket.write(ok("{}"));
        posts++;
        return socket.destroy();
      });
    });
    using line = await lineTo(server.url);
    await line.ask(GET, limits());
    await expect(line.ask(POST, limits(30_000))).rejects.toMatchObject({ fault: "unreachable", sent: true });
    expect(posts).toBe(1);
  });
});

describe("a request", () => {
  test("carries host, token and the path below the address", async () => {
    await using server = await answering(ok("{}"));
    expect(await ask(lineTo(`${server.url}/lab/one`))).toEqual({ status: 200, body: "{}" });
    const [head] = server.seen;
    expect(head).toStartWith("GET /lab/one/sessions HTTP/1.1\r\n");
    expect(head).toContain(`\r\nHost: ${server.url.slice("http://".length)}\r\n`);
    expect(head).toContain("\r\nAuthorization: Bearer line-token\r\n");
  });

  test("uses the connection of the one before, but for a POST", async () => {
    let connections = 0;
    await using server = await rawServer((socket) => {
      connections++;
      socket.on("data", () => socket.write(ok("{}")));
    });
    using line = await lineTo(server.url);
    await line.ask(GET, limits());
    await line.ask(GET, limits());
    expect(connections).toBe(1);
    await line.ask({ method: "POST", path: "/execute", body: "{}" }, limits());
    expect(connections).toBe(2);
  });

  test("is sent again when the connection was just being closed, but for a POST", async () => {
    await using server = await rawServer((socket) => {
      // Answers the first request of a connection, and closes at the second.
      socket.once("data", () => {
        socket.write(ok("{}"));
        socket.once("data", () => socket.destroy());
      });
    });
    using line = await lineTo(server.url);
    for (let i = 0; i < 3; i++) expect((await line.ask(GET, limits())).status).toBe(200);
  });

  test("goes to no proxy of the environment", async () => {
    await using proxy = await answering(ok("{}"));
    await using server = await answering(ok("{}"));
    process.env.HTTP_PROXY = proxy.url;
    try {
      await ask(lineTo(server.url));
    } finally {
      delete process.env.HTTP_PROXY;
    }
    expect([proxy.seen.length, server.seen.length]).toEqual([0, 1]);
  });
});

describe("a redirect", () => {
  test("is an answer like any other, and is not followed", async () => {
    await using target = await answering(ok("{}"));
    await using server = await answering(
      `HTTP/1.1 307 Temporary Redirect\r\nLocation: ${target.url}/sessions\r\nContent-Length: 0\r\n\r\n`,
    );
    expect(await ask(lineTo(server.url))).toEqual({ status: 307, body: "" });
    expect(target.seen).toEqual([]);
  });
});

describe("failures are described in words", () => {
  test("the connection is refused", async () => {
    const { url } = await rawServer(() => {}).then(async (server) => {
      await server[Symbol.asyncDispose]();
      return server;
    });
    expect(await ask(lineTo(url))).toEqual({
      fault: "unreachable",
      message: "connection refused",
      sent: false,
    });
  });

  test("a ca that is not a certificate is reported as such, and nothing is sent", async () => {
    await using server = await rawServer(() => {});
    const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    const outcome = await ask(lineTo(server.url.replace("http:", "https:"), { kind: "ca", pem }));
    expect(outcome).toEqual({
      fault: "unreachable",
      message: "the ca to trust is no certificate",
      sent: false,
    });
    expect(server.seen).toEqual([]);
  });

  test("the server quotes the request: the token is masked", async () => {
    const refusal = '{"error":"bad header Bearer line-token"}';
    await using server = await answering(ok(refusal).replace("200 OK", "400 Bad Request"));
    expect(await ask(lineTo(server.url))).toEqual({ status: 400, body: '{"error":"bad header Bearer ***"}' });
  });

  test("the name does not exist", async () => {
    const outcome = await ask(lineTo("http://no-such-host.invalid"));
    expect(outcome).toEqual({ fault: "unreachable", message: "name not found", sent: false });
  });

  test("the server hangs: the deadline is for all of the exchange, to the last byte", async () => {
    await using silent = await rawServer(() => {});
    await using dripping = await rawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
      const drip = setInterval(() => socket.write(" "), 20);
      socket.on("close", () => clearInterval(drip));
    });
    for (const { url } of [silent, dripping]) {
      const outcome = await ask(lineTo(url), GET, 300);
      expect(outcome).toEqual({ fault: "timeout", message: "timeout after 0.3 s", sent: true });
    }
  });

  test("the TLS handshake hangs: nothing was sent", async () => {
    await using silent = await rawServer(() => {});
    const outcome = await ask(lineTo(silent.url.replace("http", "https")), GET, 300);
    expect(outcome).toEqual({ fault: "timeout", message: "timeout after 0.3 s", sent: false });
  });

  test("the connection is closed instead of an answer, or in the middle of one", async () => {
    await using closing = await rawServer((socket) => socket.on("data", () => socket.end()));
    await using cutting = await rawServer((socket) =>
      socket.on("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")),
    );
    for (const { url } of [closing, cutting]) {
      expect(await ask(lineTo(url))).toEqual({
        fault: "unreachable",
        message: "connection closed",
        sent: true,
      });
    }
  });

  test("https to a port without TLS", async () => {
    await using plain = await rawServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const outcome = await ask(lineTo(plain.url.replace("http", "https")));
    expect(outcome).toEqual({ fault: "unreachable", message: "no TLS at this port", sent: false });
  });

  test("the caller stops waiting", async () => {
    await using silent = await rawServer(() => {});
    const gone = new AbortController();
    const asked = ask(lineTo(silent.url, { kind: "system" }, gone.signal));
    gone.abort();
    expect(await asked).toMatchObject({ fault: "cancelled", message: "cancelled" });
  });

  test("a gigabyte: the connection is cut after the limit", async () => {
    let sent = 0;
    await using server = await rawServer((socket) => {
      const block = Buffer.alloc(65_536, "a");
      const pour = () => {
        while (!socket.destroyed && socket.write(block)) sent += block.length;
      };
      socket.on("drain", pour).once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        pour();
      });
    });
    const outcome = await ask(lineTo(server.url));
    expect(outcome).toEqual({ fault: "answer", message: "answer larger than 1 MiB", sent: true });
    expect(sent).toBeLessThan(64 * 1_048_576);
  });
});

describe("an answer", () => {
  /** A server that sends `text` in pieces of `size` bytes, then ends the connection if it is to. */
  const sending = (text: string | Buffer, size = Number.MAX_SAFE_INTEGER, end = false) =>
    rawServer((socket) =>
      socket.once("data", async () => {
        const bytes = Buffer.from(text);
        for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
          socket.write(bytes.subarray(at, at + size));
          if (at + size < bytes.length) await new Promise(setImmediate);
        }
        if (end) socket.end();
      }),
    );
  const answerTo = async (text: string | Buffer, size?: number, end = true) => {
    await using server = await sending(text, size, end);
    return await ask(lineTo(server.url));
  };

  test("is the same however it is cut into pieces", async () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });
    const body = fc.string({ unit: "binary", maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(body, cuts, fc.integer({ min: 20, max: 100 }), async (text, sizes, size) => {
        const bytes = Buffer.from(text);
        const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
        const counted = Buffer.concat([Buffer.from(`${head}Content-Length: ${bytes.length}\r\n\r\n`), bytes]);
        const chunks: Buffer[] = [Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`)];
        for (let at = 0, nth = 0; at < bytes.length; nth++) {
          const part = bytes.subarray(at, at + (sizes[nth % sizes.length] ?? 1));
          chunks.push(Buffer.from(`${part.length.toString(16)};x=y\r\n`), part, Buffer.from("\r\n"));
          at += part.length;
        }
        chunks.push(Buffer.from("0\r\nTrailer: t\r\n\r\n"));
        for (const whole of [counted, Buffer.concat(chunks)]) {
          expect(await answerTo(whole, size, false)).toEqual({ status: 200, body: bytes.toString() });
        }
      }),
      { numRuns: 30 },
    );
  });

  test("without a length ends with the connection", async () => {
    expect(await answerTo("HTTP/1.1 200 OK\r\n\r\nall of it")).toEqual({ status: 200, body: "all of it" });
  });

  test("may follow interim responses", async () => {
    const interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    expect(await answerTo(interim + ok("{}"), 10)).toEqual({ status: 200, body: "{}" });
  });

  test.each([
    ["head", "HTTP/1.1 200 OK\r\nContent-"],
    ["body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour"],
    ["chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"],
  ])("cut short in its %s is refused", async (_where, text) => {
    expect(await answerTo(text)).toMatchObject({
      fault: "unreachable",
      message: "connection closed",
      sent: true,
    });
  });

  const refusals: Record<string, string> = {
    "what is not HTTP": "SSH-2.0-OpenSSH_9\r\n\r\n",
    "another protocol": "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "a negative length": "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "a length together with chunks":
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "compressed chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "a request": "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "a chunk without a size": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a chunk longer than it says": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    "a head without end": `HTTP/1.1 200 OK\r\n${"X: a\r\n".repeat(100_000)}`,
    "one header without end": `HTTP/1.1 200 OK\r\nX: ${"a".repeat(600_000)}`,
    "interim ones without end": "HTTP/1.1 100 Continue\r\n\r\n".repeat(200_000),
    "trailers without end": `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${"X: y\r\n".repeat(100_000)}`,
  };
  test.each(Object.entries(refusals))("is not %s", async (_what, text) => {
    expect(await answerTo(text, undefined, false)).toMatchObject({ message: "not a svc host", sent: true });
  });

  test("may be as large as the limit; a larger one is refused at once or as soon as it exceeds the limit", async () => {
    const chunked = (count: number) =>
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${`400\r\n${"a".repeat(1_024)}\r\n`.repeat(count)}`;
    expect(await answerTo(ok("a".repeat(1_048_576)))).toMatchObject({ status: 200 });
    expect(await answerTo(`${chunked(1_024)}0\r\n\r\n`)).toMatchObject({ status: 200 });
    const large = { fault: "answer" as const, message: "answer larger than 1 MiB", sent: true };
    expect(await answerTo("HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n", undefined, false)).toEqual(
      large,
    );
    expect(await answerTo(chunked(1_025), undefined, false)).toEqual(large);
  });

  test("with bytes after its end closes the connection", async () => {
    let connections = 0;
    await using server = await rawServer((socket) => {
      connections++;
      socket.on("data", () => socket.write(`${ok("{}")}${ok("[]")}`));
    });
    using line = await lineTo(server.url);
    for (let nth = 0; nth < 2; nth++) {
      expect(Buffer.from((await line.ask(GET, limits())).body).toString()).toBe("{}");
    }
    expect(connections).toBe(2);
  });

  test.each([
    ["says close", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\n"],
    ["is of HTTP/1.0", "HTTP/1.0 200 OK\r\n"],
  ])("that %s is the last one on its connection", async (_how, head) => {
    let connections = 0;
    await using server = await rawServer((socket) => {
      connections++;
      socket.on("data", () => socket.write(`${head}Content-Length: 2\r\n\r\n{}`));
    });
    using line = await lineTo(server.url);
    for (let nth = 0; nth < 2; nth++) await line.ask(GET, limits());
    expect(connections).toBe(2);
  });

  test("is a response or a refusal, whatever arrives", async () => {
    const pieces = fc.array(
      fc.oneof(
        fc.constantFrom(
          "HTTP/1.1 200 OK\r\n",
          "\r\n",
          "\r\n\r\n",
          "Content-Length: 3\r\n",
          "0\r\n",
          "3\r\nabc\r\n",
        ),
        fc.constantFrom("Transfer-Encoding: chunked\r\n", "HTTP/1.1 100 \r\n\r\n", "ffffffff\r\n"),
        fc.string({ unit: "binary", maxLength: 40 }),
      ),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(pieces, async (parts) => {
        const result = await answerTo(parts.join(""));
        expect("status" in result || result.fault !== undefined).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

describe("over https", () => {
  const folder = temporaryFolder();
  const withOpenssl = testWith("openssl");
  let ours: ReturnType<typeof selfSigned>;
  let other: ReturnType<typeof selfSigned>;
  beforeAll(() => {
    if (Bun.which("openssl") === null) return;
    ours = selfSigned(folder.path, "ours", "IP:127.0.0.1");
    other = selfSigned(folder.path, "other", "DNS:elsewhere.example");
  });
  afterAll(() => folder[Symbol.dispose]());

  const pem = (path: string) => readFileSync(path, "utf8");
  const pinned = (...pins: string[]): Trust => ({ kind: "pin", pins });
  const serve = ({ cert, key }: { cert: string; key: string }) =>
    testServer({ tls_cert: cert, tls_key: key });
  const asked = async (url: string, trust: Trust) => {
    const outcome = await ask(carrierTo({ url, token: TOKEN, trust }), {
      method: "GET",
      path: "/commands",
    });
    return "status" in outcome ? outcome.status : outcome.message;
  };

  withOpenssl(
    "a certificate that no authority vouches for is not trusted, and the token stays here",
    async () => {
      await using host = await serve(ours);
      expect(await asked(host.server.url, { kind: "system" })).toStartWith("the certificate is not trusted");
      const rendered = await (await host.service.metrics()).render();
      expect(rendered).not.toContain('path="/commands"');
    },
  );

  withOpenssl("one that the given authority vouches for is, under its own name only", async () => {
    await using host = await serve(ours);
    await using misnamed = await serve(other);
    expect(await asked(host.server.url, { kind: "ca", pem: pem(ours.cert) })).toBe(200);
    expect(await asked(host.server.url, { kind: "ca", pem: pem(other.cert) })).toStartWith(
      "the certificate is not",
    );
    const message = await asked(misnamed.server.url, { kind: "ca", pem: pem(other.cert) });
    expect(message).toBe("the certificate is for another name");
  });

  const pinsOf = ({ cert, sha256 }: { cert: string; sha256: string }) => [
    spkiPin(pem(cert)),
    parsePin(`sha256:${sha256}`) ?? "",
  ];

  withOpenssl("a pinned one is trusted whatever its name, and no other is", async () => {
    await using host = await serve(other);
    const [ofKey = "", ofCertificate = ""] = pinsOf(other);
    expect(await asked(host.server.url, pinned(ofCertificate))).toBe(200);
    const [otherKey = "", otherCertificate = ""] = pinsOf(ours);
    expect(await asked(host.server.url, pinned(otherKey))).toBe("the key is not the pinned one");
    for (const pins of [[otherCertificate], [otherKey, otherCertificate]]) {
      expect(await asked(host.server.url, pinned(...pins))).toBe("the certificate is not the pinned one");
    }
    expect(await asked(host.server.url, pinned())).toBe("the certificate is not the pinned one");
    expect(await asked(host.server.url, pinned(...pinsOf(ours), ofKey))).toBe(200);
    expect(await (await host.service.metrics()).render()).toContain(
      'service_rest_requests_total{method="GET",path="/commands",status="200"} 2\n',
    );
  });
});
