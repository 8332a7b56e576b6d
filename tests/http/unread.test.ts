/** What is kept of large answers until they are read. */
import { describe, expect, test } from "bun:test";
import { createUnreadAnswers } from "../../src/http/unread";
import { nextTurn } from "../support";

const MIB = 1_048_576;
const LARGE = JSON.stringify("x".repeat(2 * MIB));

/** A limit of 3 MiB, and a client. */
function limited() {
  const unread = createUnreadAnswers(3 * MIB);
  const client = new AbortController();
  const by = (name: string, asked = "list") => ({ name, asked, request: client });
  const ask = (text = LARGE, isRead = true) => unread.respond(text, by("anna"), { isRead });
  return { unread, client, ask, by };
}

test("an answer arrives as it is", async () => {
  const { ask } = limited();
  expect(await ask().text()).toBe(LARGE);
  expect(await ask('"é"').text()).toBe('"é"');
});

describe("while a large answer waits", () => {
  test("another that would not fit is refused, a small one and that of another client are not", async () => {
    const { unread, ask, by } = limited();
    const waits = ask();
    const refused = ask();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(ask('"small"').status).toBe(200);
    expect(unread.respond(LARGE, by("bert"), { isRead: true }).status).toBe(200);
    await waits.text();
    expect(ask().status).toBe(200);
  });

  test("what was too large is refused before it is made again, until its client has read something", async () => {
    const { unread, ask, by } = limited();
    const waits = ask();
    expect(unread.refusal(by("anna"))).toBeUndefined();
    ask();
    expect(unread.refusal(by("anna"))?.status).toBe(429);
    expect(unread.refusal(by("anna", "another"))).toBeUndefined();
    expect(unread.refusal(by("bert"))).toBeUndefined();
    await waits.text();
    expect(unread.refusal(by("anna"))).toBeUndefined();
  });

  test("that of a change comes all the same; then its client may ask for nothing", async () => {
    const { unread, ask, by } = limited();
    const answers = [ask(), ask(LARGE, false)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(unread.refusal(by("anna"))?.status).toBe(429);
    expect(unread.refusal(by("bert"))).toBeUndefined();
    await answers[1]?.text();
    expect(unread.refusal(by("anna"))).toBeUndefined();
  });

  test("that of a change comes without what is large where it has a short one", async () => {
    const { unread, ask, by } = limited();
    const change = () => unread.respond(LARGE, by("anna"), { isRead: false, brief: () => '"done"' });
    expect(await change().text()).toBe(LARGE);
    const waits = ask();
    expect([await change().text(), await change().text()]).toEqual(['"done"', '"done"']);
    expect(unread.refusal(by("anna"))).toBeUndefined();
    await waits.text();
    expect(await change().text()).toBe(LARGE);
  });

  test("it counts no longer when its client goes, or stops reading it", async () => {
    const { client, ask } = limited();
    await ask().body?.cancel();
    const waits = ask();
    expect(waits.status).toBe(200);
    client.abort();
    expect(ask().status).toBe(200);
  });
});

test("one that is larger than the limit comes when no other waits", async () => {
  const { ask } = limited();
  const huge = JSON.stringify("x".repeat(5 * MIB));
  expect(await ask(huge).text()).toBe(huge);
});

describe("an answer that grows", () => {
  /** Lines of 1 MiB, at most 3 of which may wait. */
  function growing() {
    const { unread, client, by } = limited();
    const gone = Promise.withResolvers<void>();
    const { promise, resolve: begin } = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
    const source = new ReadableStream<Uint8Array>({ start: begin, cancel: () => gone.resolve() });
    const answer = unread.follow(new Response(source, { headers: { "x-test": "kept" } }), by("anna"), false);
    const send = async (count: number) => {
      for (let nth = 0; nth < count; nth++) (await promise).enqueue(new Uint8Array(MIB));
      await nextTurn();
    };
    const end = async () => (await promise).close();
    return { unread, client, by, answer, gone: gone.promise, send, end };
  }

  test("arrives as it is, whatever its length, while its client reads", async () => {
    const { answer, send, end } = growing();
    expect(answer.headers.get("x-test")).toBe("kept");
    const read = answer.bytes();
    for (let nth = 0; nth < 10; nth++) await send(1);
    await end();
    expect((await read).length).toBe(10 * MIB);
  });

  test("counts as others do while it waits, also after its end", async () => {
    const { unread, by, answer, send, end } = growing();
    await send(3);
    await end();
    expect(unread.refusal(by("anna"))?.status).toBe(429);
    expect((await answer.bytes()).length).toBe(3 * MIB);
    expect(unread.refusal(by("anna"))).toBeUndefined();
  });

  test("breaks off when too much waits, ends its work, and counts no longer", async () => {
    const { unread, by, answer, send, gone } = growing();
    await send(4);
    await gone;
    expect(unread.refusal(by("anna"))).toBeUndefined();
    await expect(answer.bytes()).rejects.toThrow("this client has not read the answers that it has");
  });

  test("ends its work, and counts no longer, when its client goes", async () => {
    const { unread, by, client, send, gone } = growing();
    await send(3);
    client.abort();
    await gone;
    expect(unread.refusal(by("anna"))).toBeUndefined();
  });
});

describe("an answer that an operation made itself", () => {
  const picture = () =>
    new Response(new Uint8Array(2 * MIB), { status: 203, headers: { "content-type": "image/jpeg" } });

  test("arrives as it is, large or small", async () => {
    const { unread, by } = limited();
    const large = await unread.whole(picture(), by("anna"), true);
    expect([large.status, large.headers.get("content-type")]).toEqual([203, "image/jpeg"]);
    expect((await large.bytes()).length).toBe(2 * MIB);
    expect(await (await unread.whole(new Response("small"), by("anna"), true)).text()).toBe("small");
    expect((await unread.whole(new Response(null, { status: 304 }), by("anna"), true)).status).toBe(304);
  });

  test("counts with others that are ready at once", async () => {
    const { unread, by } = limited();
    const answers = await Promise.all([1, 2, 3].map(() => unread.whole(picture(), by("anna"), true)));
    expect(answers.map(({ status }) => status)).toEqual([203, 429, 429]);
  });

  test("counts while it waits, and is refused when too much does", async () => {
    const { unread, ask, by } = limited();
    const waits = await unread.whole(picture(), by("anna"), true);
    expect((await unread.whole(picture(), by("anna"), true)).status).toBe(429);
    expect(ask().status).toBe(429);
    expect((await unread.whole(picture(), by("anna"), false)).status).toBe(203);
    await waits.bytes();
    expect(unread.refusal(by("anna"))).toBeUndefined();
  });
});

test("an answer counts until its last piece has been taken", async () => {
  const { unread, by } = limited();
  const waits = unread.respond(JSON.stringify("x".repeat(100_000)), by("anna"), { isRead: true });
  const reader = waits.body?.getReader();
  await reader?.read();
  expect(unread.respond(JSON.stringify("x".repeat(3 * MIB)), by("anna"), { isRead: true }).status).toBe(429);
  await reader?.read();
  expect(unread.respond(JSON.stringify("x".repeat(3 * MIB)), by("anna"), { isRead: true }).status).toBe(200);
});

test("an answer that grows is read a mebibyte ahead of its client, where it waits for that", async () => {
  const { unread, by } = limited();
  let made = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    made++;
    if (made > 20) controller.close();
    else controller.enqueue(new Uint8Array(MIB / 2));
  };
  const source = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
  const answer = unread.follow(new Response(source), by("anna"), true);
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  expect(made).toBe(3);
  expect((await answer.bytes()).length).toBe(10 * MIB);
});
