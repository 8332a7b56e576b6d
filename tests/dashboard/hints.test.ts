/** What the pages say of tokens, and what they count as a change. */
import { expect, test } from "bun:test";
import { resolve } from "node:path";

test("a row of the audit log is a change where a person asked for one, named by what the server has added", async () => {
  const { changeIn } = await import(resolve("dashboard/desk/changes.js"));
  const change = (detail: string, event_type = "rest_api") => {
    const found = changeIn({ id: 1, ts: "2026-11-30T08:00:00Z", event_type, detail });
    return found && [found.who, found.what, found.isDone];
  };
  const reads = ["GET /windows -> ok:200 desktop.windows", "POST /find -> ok:200 jobs.list token=anna"];
  expect(reads.map((detail) => change(detail))).toEqual([undefined, undefined]);
  expect(change("POST /jobs/remove -> ok:200 jobs.remove nightly token=anna")).toEqual([
    "anna",
    "jobs.remove nightly",
    true,
  ]);
  expect(change("POST /jobs/remove -> failed:404 jobs.remove a token=bob token=anna")).toEqual([
    "anna",
    "jobs.remove a token=bob",
    false,
  ]);
  expect(change("POST /jobs/remove -> ok:200 jobs.remove a token=anna agent=a1 via=mcp")).toBeUndefined();
  expect(change("jobs.remove nightly", "cli")?.[0]).toBe("the owner");
});

test("the page asks for the owner's token on the host itself only", async () => {
  const { tokenSource } = await import(resolve("dashboard/sign-in.js"));
  const commandAt = (hostname: string) => tokenSource(hostname)[0];
  const own = ["localhost", "127.0.0.1", "[::1]"].map(commandAt);
  expect(own).toEqual(["svc token show", "svc token show", "svc token show"]);
  const others = ["lab-01.example", "10.0.0.5", "127.0.0.1.example"].map(commandAt);
  expect(new Set(others)).toEqual(new Set(["svc token add NAME --scope desk"]));
});
