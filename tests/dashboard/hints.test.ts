/** What the pages say of tokens. */
import { expect, test } from "bun:test";
import { resolve } from "node:path";

test("the page asks for the owner's token on the host itself only", async () => {
  const { tokenSource } = await import(resolve("dashboard/sign-in.js"));
  const commandAt = (hostname: string) => tokenSource(hostname)[0];
  const own = ["localhost", "127.0.0.1", "[::1]"].map(commandAt);
  expect(own).toEqual(["svc token show", "svc token show", "svc token show"]);
  const others = ["lab-01.example", "10.0.0.5", "127.0.0.1.example"].map(commandAt);
  expect(new Set(others)).toEqual(new Set(["svc token add NAME --scope desk"]));
});
