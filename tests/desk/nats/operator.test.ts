/** The keys that a server obeys: desks by name. */
import { expect, test } from "bun:test";
import { addDesk, newOperator, revoke } from "../../../src/desk/nats/operator";

const server = { urls: ["tls://nats.example.org:4222"] };
const now = new Date("2026-11-22T10:00:00.000Z");

test("a name is of one desk; once that is revoked, of another", () => {
  const first = addDesk(newOperator(""), "second", false, server);
  expect(() => addDesk(first.keys, "second", false, server)).toThrow(/there is one named second already/);
  const revoked = revoke(first.keys, ["second"], now);
  // As somebody does who repeats the command line.
  expect(revoke(revoked, ["second"], now).revoked).toEqual({ [first.part.desk.id]: now.getTime() / 1_000 });
  const again = addDesk(revoked, "second", false, server);
  expect(again.keys.desks).toEqual([{ name: "second", id: again.part.desk.id }]);
  expect(Object.keys(again.keys.revoked)).toEqual([first.part.desk.id]);
});

test("a part lets hosts in only where that is asked for, and what is no user is not revoked", () => {
  const keys = newOperator("");
  expect(addDesk(keys, "a", false, server).part.host_signer).toBeUndefined();
  expect(addDesk(keys, "a", true, server).part.host_signer).toBe(keys.host_signer);
  expect(() => revoke(keys, ["nobody"], now)).toThrow(/neither a desk that .* nor a public key/);
});
