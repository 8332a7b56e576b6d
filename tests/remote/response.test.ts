import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { RemoteError } from "../../src/remote/error";
import { MAX_HEAD_BYTES, type Response, ResponseReader } from "../../src/remote/response";

const LIMIT = 1_000;

/** What a reader makes of `text` that comes in pieces of `size` bytes, and of the end after it. */
function read(text: string | Buffer, size = Number.MAX_SAFE_INTEGER, end = true): Response | undefined {
  const reader = new ResponseReader(LIMIT);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) {
    const response = reader.push(bytes.subarray(at, at + size));
    if (response) return response;
  }
  return end ? reader.end() : undefined;
}

const bodyOf = (response: Response | undefined) => Buffer.from(response?.body ?? []).toString();

describe("a response", () => {
  test("is the same however it is cut into pieces", () => {
    const body = fc.string({ unit: "binary", maxLength: 300 });
    const sizes = fc.integer({ min: 1, max: 50 });
    fc.assert(
      fc.property(
        body,
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        sizes,
        (text, cuts, size) => {
          const bytes = Buffer.from(text);
          const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
          const counted = Buffer.concat([
            Buffer.from(`${head}Content-Length: ${bytes.length}\r\n\r\n`),
            bytes,
          ]);
          const chunks: Buffer[] = [Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`)];
          for (let at = 0, nth = 0; at < bytes.length; nth++) {
            const part = bytes.subarray(at, at + (cuts[nth % cuts.length] ?? 1));
            chunks.push(Buffer.from(`${part.length.toString(16)};x=y\r\n`), part, Buffer.from("\r\n"));
            at += part.length;
          }
          chunks.push(Buffer.from("0\r\nTrailer: t\r\n\r\n"));
          for (const whole of [counted, Buffer.concat(chunks)]) {
            expect(Buffer.from(read(whole, size, false)?.body ?? []).equals(bytes)).toBe(true);
          }
        },
      ),
    );
  });

  test("without a length ends with the connection, which cannot be used again", () => {
    const response = read("HTTP/1.1 200 OK\r\n\r\nall of it");
    expect([bodyOf(response), response?.reusable]).toEqual(["all of it", false]);
  });

  test("that is cut short is none", () => {
    expect(read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour")).toBeUndefined();
    expect(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")).toBeUndefined();
    expect(read("HTTP/1.1 200 OK\r\nContent-")).toBeUndefined();
  });

  test("comes after interim ones", () => {
    const interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    expect(bodyOf(read(`${interim}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`))).toBe("ok");
  });

  test("leaves the connection to the next unless it says close, is HTTP/1.0 or is followed by more", () => {
    const reusable = (text: string) => read(text)?.reusable;
    expect(reusable("HTTP/1.1 204 No Content\r\n\r\n")).toBe(true);
    expect(reusable("HTTP/1.1 204 No Content\r\nConnection: Close\r\n\r\n")).toBe(false);
    expect(reusable("HTTP/1.0 204 No Content\r\n\r\n")).toBe(false);
    expect(reusable("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")).toBe(false);
  });
});

describe("refused is", () => {
  const refusals: Record<string, string> = {
    "what is not HTTP": "SSH-2.0-OpenSSH_9\r\n\r\n",
    "another version": "HTTP/2.0 200 OK\r\n\r\n",
    "a status beyond 599": "HTTP/1.1 999 OK\r\n\r\n",
    "another protocol": "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
    "a folded header": "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
    "a negative length": "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "a length beside chunks": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "an unknown encoding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "a chunk without a size": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a chunk longer than it says": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    "a head without end": `HTTP/1.1 200 OK\r\nX: ${"a".repeat(MAX_HEAD_BYTES)}`,
    "interim responses without end": "HTTP/1.1 100 Continue\r\n\r\n".repeat(MAX_HEAD_BYTES / 25 + 1),
    "trailers without end": `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${"X: y\r\n".repeat(MAX_HEAD_BYTES)}`,
  };
  for (const [what, text] of Object.entries(refusals)) {
    test(what, () => {
      for (const size of [1, 7, Number.MAX_SAFE_INTEGER])
        expect(() => read(text, size)).toThrow("not a svc host");
    });
  }

  test("a body over the limit: at once when it says so, else as soon as it is", () => {
    const large = "answer larger than";
    expect(() => read(`HTTP/1.1 200 OK\r\nContent-Length: ${LIMIT + 1}\r\n\r\n`)).toThrow(large);
    expect(() => read(`HTTP/1.1 200 OK\r\n\r\n${"a".repeat(LIMIT + 1)}`, 10)).toThrow(large);
    const chunk = `64\r\n${"a".repeat(100)}\r\n`;
    expect(() =>
      read(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(11)}`, 10),
    ).toThrow(large);
    expect(
      read(`HTTP/1.1 200 OK\r\nContent-Length: ${LIMIT}\r\n\r\n${"a".repeat(LIMIT)}`)?.body,
    ).toHaveLength(LIMIT);
  });
});

test("whatever comes, it ends in a response, in none, or in a refusal", () => {
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
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 30 }), (parts, size) => {
      try {
        expect((read(parts.join(""), size)?.body ?? []).length).toBeLessThanOrEqual(LIMIT);
      } catch (error) {
        expect(error).toBeInstanceOf(RemoteError);
      }
    }),
    { numRuns: 1_000 },
  );
});
