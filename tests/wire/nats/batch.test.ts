/** What a desk publishes at once. */
import { expect, test } from "bun:test";
import { silentLog } from "../../../src/lib/log";
import { inBatches } from "../../../src/wire/nats/batch";
import { guarded } from "../../../src/wire/nats/guarded-connection";
import { nextTurn } from "../../support";

function connection() {
  const sent: string[] = [];
  let isClosed = false;
  const made = {
    isClosed: () => isClosed,
    publish: (subject: string, _message: Uint8Array, { reply }: { reply?: string }) =>
      void sent.push(`${subject} ${reply}`),
  };
  const publish = inBatches(guarded(made as never, silentLog).publish);
  const close = () => {
    isClosed = true;
  };
  return { sent, close, publish };
}

test("what is published in one turn of the event loop leaves together and in order", async () => {
  const { sent, publish } = connection();
  publish("a", new Uint8Array(), "x");
  await Promise.resolve();
  publish("b", new Uint8Array());
  expect(sent).toEqual([]);
  await nextTurn();
  expect(sent).toEqual(["a x", "b undefined"]);
  publish("c", new Uint8Array());
  await nextTurn();
  expect(sent).toHaveLength(3);
});

test("nothing is published on a connection that was closed meanwhile", async () => {
  const { sent, close, publish } = connection();
  publish("a", new Uint8Array());
  close();
  await nextTurn();
  expect(sent).toEqual([]);
});
