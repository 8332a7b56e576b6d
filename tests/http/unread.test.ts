/** What is kept of large answers until they are read. */
import { describe, expect, test } from "bun:test";
import { createUnread } from "../../src/http/unread";

const MIB = 1_048_576;
const LARGE = JSON.stringify("x".repeat(2 * MIB));

/** A limit of 3 MiB, and a client. */
function limited() {
  const unread = createUnread(3 * MIB);
  const client = new AbortController();
  const ask = (text = LARGE, isRead = true) =>
    unread.respond(text, { name: "anna", gone: client.signal }, isRead);
  return { unread, client, ask };
}

test("an answer arrives as it is", async () => {
  const { ask } = limited();
  expect(await ask().text()).toBe(LARGE);
  expect(await ask('"é"').text()).toBe('"é"');
});

describe("while a large answer waits", () => {
  test("another that would not fit is refused, a small one and that of another client are not", async () => {
    const { unread, ask } = limited();
    const waits = ask();
    const refused = ask();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(ask('"small"').status).toBe(200);
    const other = { name: "bert", gone: new AbortController().signal };
    expect(unread.respond(LARGE, other, true).status).toBe(200);
    await waits.text();
    expect(ask().status).toBe(200);
  });

  test("that of a change comes all the same; then its client may ask for nothing", async () => {
    const { unread, ask } = limited();
    const answers = [ask(), ask(LARGE, false)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(unread.refusal("anna")?.status).toBe(429);
    expect(unread.refusal("bert")).toBeUndefined();
    await answers[1]?.text();
    expect(unread.refusal("anna")).toBeUndefined();
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
