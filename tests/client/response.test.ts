/** Reading responses piece by piece, as hostile hosts would send them. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { deadlineIn, type RemoteError } from "../../src/client/carrier";
import type { Line, Receiver } from "../../src/client/line";
import { openRequest, sendRequest } from "../../src/client/line-request";
import { createReader } from "../../src/client/response";
import { usedMs } from "../support";

/** A line on which exactly what is fed arrives; what was fed is overwritten at once, as a socket may do with its buffer. */
function fedLine() {
  let reader = createReader({ head() {}, data() {}, end() {} });
  let receiver: Receiver | undefined;
  let isPaused = false;
  const line: Line = {
    ...{ since: 0, pin: () => undefined, wasUsed: () => false, isFree: () => true, close() {} },
    send(_, to) {
      receiver = to;
      reader = createReader(to);
    },
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
    },
  };
  const guarded = (act: () => boolean): boolean => {
    try {
      return act();
    } catch (error) {
      receiver?.failed(error);
      return true;
    }
  };
  return {
    line,
    isPaused: () => isPaused,
    /** @returns whether the line takes no more. */
    feed(piece: Uint8Array): boolean {
      const buffer = Buffer.from(piece);
      const isOver = guarded(() => reader.feed(buffer));
      buffer.fill("#");
      return isOver;
    },
    end: () => void (guarded(reader.end) || receiver?.failed(new Error("closed"))),
  };
}

/** What an exchange makes of `bytes` that arrive in pieces of these sizes, again and again: an answer, or why there is none. */
async function answerTo(bytes: Uint8Array, sizes: readonly number[], maxBytes = 1_048_576) {
  const { line, feed, end } = fedLine();
  const { response } = sendRequest(line, "", { deadline: deadlineIn(60_000), maxBytes }, undefined);
  let isOver = false;
  for (let at = 0, nth = 0; at < bytes.length && !isOver; nth++) {
    const size = sizes[nth % sizes.length] ?? bytes.length;
    isOver = feed(bytes.subarray(at, at + size));
    at += size;
  }
  if (!isOver) end();
  return response.then(
    ({ status, body }) => ({
      status,
      body: Buffer.from(body).toString("latin1"),
      kept: body.buffer.byteLength,
    }),
    ({ fault, message }: RemoteError) => ({ fault, message }),
  );
}

const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const REFUSED = { fault: "answer", message: "not a svc host" } as const;
const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 10 });

describe("a response", () => {
  test("is the same answer however it is cut, and none of it is what the socket wrote later", async () => {
    const parts = fc.array(fc.uint8Array({ minLength: 1, maxLength: 100 }), { maxLength: 20 });
    const head = fc.constantFrom(
      "HTTP/1.1 100 \r\n\r\nHTTP/1.1 200 OK\r\nx: \t y \t\r\n",
      "HTTP/1.1 404 \r\n",
    );
    const kind = fc.constantFrom("length", "chunks", "rest");
    await fc.assert(
      fc.asyncProperty(head, kind, parts, sizes, async (first, form, chunks, cuts) => {
        const body = Buffer.concat(chunks);
        const inChunks = chunks.flatMap((one) => [`${one.length.toString(16)};x\r\n`, one, "\r\n"]);
        const [field, coded] = {
          length: [`content-length: \t${body.length}\r\n`, [body]] as const,
          chunks: ["transfer-encoding: chunked\r\n", [...inChunks, "0\r\nt: u\r\n\r\n"]] as const,
          rest: ["", [body]] as const,
        }[form];
        const bytes = Buffer.concat([`${first}${field}\r\n`, ...coded].map((one) => Buffer.from(one)));
        const answer = await answerTo(bytes, cuts);
        expect(answer).toMatchObject({
          status: Number(/[24]0\d/.exec(first)),
          body: body.toString("latin1"),
        });
      }),
      { numRuns: 300 },
    );
  });

  test("that is garbage ends in an answer or a refusal, and no more than twice what it may have is kept", async () => {
    const text = fc.oneof(
      fc.constantFrom(
        "HTTP/1.1 200 OK\r\n",
        "\r\n",
        "\r\n\r\n",
        "Content-Length: 700\r\n",
        "1\r\nX\r\n",
        "200\r\n",
      ),
      fc.constantFrom(
        CHUNKED,
        "Transfer-Encoding: chunked\r\n",
        "0\r\n\r\n",
        "ffffffff\r\n",
        "HTTP/1.1 100 \r\n\r\n",
      ),
      fc.constantFrom(`1;${"a".repeat(5_000)}\r\nX\r\n`, `x:${" ".repeat(5_000)}\r\n`, "b".repeat(5_000)),
      fc.string({ unit: "binary", maxLength: 40 }),
    );
    const garbage = fc.tuple(
      fc.constantFrom("", CHUNKED, "HTTP/1.1 200 OK\r\n"),
      fc.array(text, { maxLength: 30 }),
    );
    await fc.assert(
      fc.asyncProperty(garbage, sizes, async ([first, more], cuts) => {
        const answer = await answerTo(Buffer.from(first + more.join("")), cuts, 1_000);
        if ("status" in answer)
          expect([answer.body.length <= 1_000, answer.kept <= 2_000]).toEqual([true, true]);
        else expect(answer.fault).not.toBe("timeout");
      }),
      { numRuns: 200 },
    );
  });

  test("of a megabyte in chunks of 64 bytes is an answer; one in chunks of a byte is refused before its end", async () => {
    const chunks = (bytes: number) => `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`;
    const fine = `${CHUNKED}${chunks(64).repeat(16_384)}0\r\n\r\n`;
    expect(await answerTo(Buffer.from(fine), [65_536])).toMatchObject({
      status: 200,
      body: "x".repeat(1_048_576),
    });
    const tiny = `${CHUNKED}${chunks(1).repeat(1_048_576)}`;
    expect(await answerTo(Buffer.from(tiny), [65_536])).toEqual(REFUSED);
  });

  test("in tiny chunks is refused after a few of them, also where a large one is expected", async () => {
    let taken = 0;
    const { feed } = createReader({ maxBytes: 24 * 1_048_576, head() {}, data: () => taken++, end() {} });
    feed(Buffer.from(CHUNKED));
    const tiny = Buffer.from("1\r\nX\r\n".repeat(5_000));
    expect(() => {
      for (let sent = 0; sent < 4_000_000; sent += 5_000) feed(tiny);
    }).toThrow("not a svc host");
    expect(taken).toBeLessThan(300_000);
  });

  test("may have up to 16 KiB beside each chunk, and beside all of them twice the largest body", async () => {
    const chunk = (beside: number) => `1;${"a".repeat(beside)}\r\nX\r\n`;
    const answer = (text: string) => answerTo(Buffer.from(`${CHUNKED}${text}0\r\n\r\n`), [9_000]);
    expect(await answer(chunk(16).repeat(5_000))).toMatchObject({ status: 200, body: "X".repeat(5_000) });
    expect(await answer(chunk(16_000).repeat(100))).toMatchObject({ body: "X".repeat(100) });
    expect(await answer(chunk(17_000))).toEqual(REFUSED);
    expect(await answer(chunk(16_000).repeat(250))).toEqual(REFUSED);
  });

  test("after a few interim responses is an answer; after many there is none, also where nothing else is bounded", async () => {
    const interim = "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n";
    const ok = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nX";
    expect(await answerTo(Buffer.from(interim.repeat(16) + ok), [40])).toMatchObject({
      status: 200,
      body: "X",
    });
    let taken = 0;
    const { feed } = createReader({ head() {}, data: () => taken++, end() {} });
    expect(() => {
      for (let nth = 0; nth < 1_000; nth++) feed(Buffer.from(interim));
    }).toThrow("not a svc host");
    expect(taken).toBe(0);
  });

  test("with blanks after the size of a chunk is refused", async () => {
    for (const size of ["1 ", "1\t", "1 ;a=b"])
      expect(await answerTo(Buffer.from(`${CHUNKED}${size}\r\nX\r\n0\r\n\r\n`), [9_000])).toEqual(REFUSED);
  });

  test("with a header of blanks alone, and one of them no character, is refused in no time", async () => {
    const bytes = Buffer.from(`HTTP/1.1 200 OK\r\na:${" ".repeat(16_000)}\0\r\n\r\n`);
    const started = usedMs();
    for (let nth = 0; nth < 10; nth++) expect(await answerTo(bytes, [bytes.length])).toEqual(REFUSED);
    // Where a blank may be read in two ways, each takes 100 milliseconds or more.
    expect(usedMs() - started).toBeLessThan(500);
  });
});

describe("a response that goes on", () => {
  test("waits while more than a mebibyte of it is not taken; its pieces are copies", async () => {
    const { line, feed, isPaused } = fedLine();
    const opening = openRequest(line, "", deadlineIn(60_000), undefined);
    feed(Buffer.from("HTTP/1.1 200 OK\r\n\r\n"));
    const { pieces } = await opening;
    const block = Buffer.alloc(65_536, "a");
    for (let nth = 0; nth < 16; nth++) feed(block);
    expect(isPaused()).toBe(false);
    feed(block);
    expect(isPaused()).toBe(true);
    const coming = pieces(5_000);
    const { value } = await coming.next();
    expect([value?.length, isPaused()]).toEqual([17 * 65_536, false]);
    feed(Buffer.from("next"));
    expect(Buffer.from((await coming.next()).value ?? []).toString()).toBe("next");
    expect(Buffer.from(value ?? []).equals(Buffer.alloc(17 * 65_536, "a"))).toBe(true);
    await coming.return(undefined);
  });

  test("is refused once many tiny chunks come at once", async () => {
    const { line, feed } = fedLine();
    const opening = openRequest(line, "", deadlineIn(60_000), undefined);
    feed(Buffer.from(CHUNKED));
    const { pieces } = await opening;
    for (let nth = 0; nth < 100; nth++) feed(Buffer.from("1\r\nX\r\n".repeat(1_000)));
    const coming = pieces(5_000);
    expect((await coming.next()).value?.length).toBe(100_000);
    expect(feed(Buffer.from("1\r\nX\r\n".repeat(10_000)))).toBe(true);
    await coming.next();
    await expect(coming.next()).rejects.toThrow("not a svc host");
  });
});
