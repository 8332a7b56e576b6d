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
  expect(Object.keys(revoke(revoked, ["second"], now).revoked)).toEqual([first.part.desk.id]);
  const again = addDesk(revoked, "second", false, server);
  expect(again.keys.desks).toEqual([{ name: "second", id: again.part.desk.id }]);
  expect(Object.keys(again.keys.revoked)).toEqual([first.part.desk.id]);
});

test("a desk that is revoked stays so, also where it is named by its key once more", () => {
  const { keys, part } = addDesk(newOperator(""), "second", false, server);
  const { id } = part.desk;
  const revoked = revoke(keys, ["second"], now);
  const renamed = addDesk(revoked, "second", false, server).keys;
  expect(revoke(renamed, [id], now).revoked[id]).toBe(revoked.revoked[id] ?? 0);
});

test("a part lets hosts in only where that is asked for, and what is no user is not revoked", () => {
  const keys = newOperator("");
  expect(addDesk(keys, "a", false, server).part.host_signer).toBeUndefined();
  expect(addDesk(keys, "a", true, server).part.host_signer).toBe(keys.host_signer);
  expect(() => revoke(keys, ["nobody"], now)).toThrow(/neither a desk that .* nor a public key/);
});
