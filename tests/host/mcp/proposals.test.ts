/** What agents have proposed, and how much they may change. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createBudget } from "../../../src/host/mcp/budget";
import { DEFAULT_RATE } from "../../../src/host/mcp/options";
import { createProposals, LIFETIME_MS } from "../../../src/host/mcp/proposals";
import { operations } from "../../../src/operations";
import { temporaryFolder } from "../../support";

const [operation] = operations;
if (!operation) throw new Error("no operations");
const effects = { masked: [], full: [] };
const proposing = (text: string) => ({ operation, input: { text }, effects });

describe("a proposal", () => {
  test("that is made again lasts as long as a new one, unless a person is asked already", () => {
    let now = 0;
    const proposals = createProposals(() => now);
    const { digest } = proposals.add("bob", proposing("a"));
    now = LIFETIME_MS - 1_000;
    const again = proposals.add("bob", proposing("a"));
    expect([again.digest, proposals.minutesOf(again)]).toEqual([digest, 10]);
    now = LIFETIME_MS + 1_000;
    const found = proposals.find("bob", digest);
    found.decision = Promise.resolve("denied");
    now = 2 * LIFETIME_MS - 30_000;
    expect(proposals.minutesOf(proposals.add("bob", proposing("a")))).toBe(1);
    now = 2 * LIFETIME_MS;
    expect(() => proposals.find("bob", digest)).toThrow("no proposal");
  });

  test("that newer ones take the place of is dropped, with what waits for it", () => {
    const proposals = createProposals();
    const first = proposals.add("bob", proposing("first"));
    for (let nth = 0; nth < 31; nth++) proposals.add("bob", proposing(`${nth}`));
    expect(first.dropped.signal.aborted).toBe(false);
    proposals.add("bob", proposing("last"));
    expect(first.dropped.signal.aborted).toBe(true);
    expect(() => proposals.find("bob", first.digest)).toThrow("no proposal");
  });

  test("is forgotten with its agent, once no person is asked any longer", async () => {
    const proposals = createProposals();
    const { dropped, digest } = proposals.add("bob", proposing("a"));
    const withdrawn = Promise.withResolvers<"denied">();
    let isWithdrawn = false;
    dropped.signal.addEventListener("abort", () => {
      setTimeout(() => {
        isWithdrawn = true;
        withdrawn.reject(dropped.signal.reason);
      });
    });
    proposals.find("bob", digest).decision = withdrawn.promise;
    await proposals.close();
    expect(isWithdrawn).toBe(true);
  });

  test("has a digest from which nobody else finds out what it says", () => {
    const [one, other] = [createProposals(), createProposals()];
    const { digest } = one.add("bob", proposing("1234"));
    expect(one.add("bob", proposing("1234")).digest).toBe(digest);
    expect(other.add("bob", proposing("1234")).digest).not.toBe(digest);
  });
});

describe("the changes of a token", () => {
  test("are counted by all processes of the host, and by those that start later", () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "changes.db");
    const [one, other] = [createBudget(path), createBudget(path)];
    for (let nth = 0; nth < DEFAULT_RATE.minute; nth++) (nth % 2 === 0 ? one : other).spend("bob");
    for (const budget of [one, other, createBudget(path)])
      expect(() => budget.spend("bob")).toThrow("10 changes a minute");
    expect(one.words("ann")).toContain("10 of 10 this minute, 60 of 60 this hour");
    one.close();
    other.close();
  });

  test("are at most so many an hour", () => {
    using folder = temporaryFolder();
    let now = Date.now();
    const budget = createBudget(join(folder.path, "changes.db"), { now: () => now });
    for (let nth = 0; nth < DEFAULT_RATE.hour; nth++) {
      budget.spend("bob");
      now += 10_000;
    }
    expect(() => budget.spend("bob")).toThrow(
      "60 changes an hour, its limit over MCP: the next one in 3000 s",
    );
    now += 3_000_000;
    budget.spend("bob");
    expect(() => budget.spend("bob")).toThrow("60 changes an hour");
    budget.close();
  });

  test("are as many as their flags say", () => {
    using folder = temporaryFolder();
    const budget = createBudget(join(folder.path, "changes.db"), { rate: { minute: 2, hour: 3 } });
    budget.spend("bob");
    expect(budget.words("bob")).toContain("1 of 2 this minute, 2 of 3 this hour");
    budget.spend("bob");
    expect(() => budget.spend("bob")).toThrow("2 changes a minute");
    budget.close();
  });

  test("do not count where a clock was wrong and ran ahead", () => {
    using folder = temporaryFolder();
    let now = Date.now() + 86_400_000;
    const budget = createBudget(join(folder.path, "changes.db"), { now: () => now });
    for (let nth = 0; nth < DEFAULT_RATE.minute; nth++) budget.spend("bob");
    now -= 86_400_000;
    budget.spend("bob");
    expect(budget.words("bob")).toContain("9 of 10 this minute");
    budget.close();
  });
});
