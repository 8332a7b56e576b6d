/**
 * Attack: lock out those who have the right token, from the same address, or by way of a web page that reaches a server bound
 * beyond loopback under a foreign host name.
 */
import { expect, test } from "bun:test";
import { serveBinary, TOKEN } from "../support";
import { addToken, statusOf } from "./raw";

test("wrong guesses lock out the owner's token and a given one, and none that svc made", async () => {
  await using server = await serveBinary();
  const made = await addToken(server, "made");
  const given = await addToken(server, "given", { given: "a-password-of-a-person" });
  const statuses = async (...tokens: string[]) => {
    const found: number[] = [];
    for (const token of tokens) found.push(await statusOf(server, "/commands", token));
    return found;
  };
  expect(await statuses(TOKEN, given, made)).toEqual([200, 200, 200]);
  expect(await statuses(...Array(8).fill("wrong"))).toEqual(Array(8).fill(401));
  expect(await statuses("wrong", TOKEN, given, made)).toEqual([429, 429, 429, 200]);
  expect(await statuses(await addToken(server, "made-meanwhile"))).toEqual([200]);
});

test("a page under a foreign host name gets no guess, on any bind", async () => {
  await using server = await serveBinary(["--host", "0.0.0.0", "--insecure-http"]);
  for (let nth = 0; nth < 10; nth++) {
    expect(await statusOf(server, "/commands", "wrong", "rebound.example:9939")).toBe(421);
  }
  expect(await statusOf(server, "/health", undefined, "rebound.example")).toBe(421);
  for (const own of ["192.0.2.1", "localhost:1", "[2001:db8::1]:9939"]) {
    expect([own, await statusOf(server, "/commands", TOKEN, own)]).toEqual([own, 200]);
  }
});
