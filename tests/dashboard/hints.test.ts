/** What the pages say of tokens, and what they count as a change. */
import { expect, test } from "bun:test";
import { resolve } from "node:path";

test("a row of a request that reads is no change, however the request ended", async () => {
  const { isReading } = await import(resolve("dashboard/host/audit.js"));
  const row = (detail: string, event_type = "rest_api") => isReading({ event_type, detail });
  const reads = ["GET /windows -> started", "GET /windows -> failed:503", "HEAD /jobs -> ok:200"];
  expect(reads.map((detail) => row(detail))).toEqual([true, true, true]);
  const others = ["POST /execute -> ok:200", "POST /execute -> failed:403", "GETTING"];
  expect([...others.map((detail) => row(detail)), row("GET /x", "cli")]).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

test("the page asks for the owner's token on the host itself only", async () => {
  const { tokenSource } = await import(resolve("dashboard/sign-in.js"));
  const commandAt = (hostname: string) => tokenSource(hostname)[0];
  const own = ["localhost", "127.0.0.1", "[::1]"].map(commandAt);
  expect(own).toEqual(["svc token show", "svc token show", "svc token show"]);
  const others = ["lab-01.example", "10.0.0.5", "127.0.0.1.example"].map(commandAt);
  expect(new Set(others)).toEqual(new Set(["svc token add NAME --scope desk"]));
});
