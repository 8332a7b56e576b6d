/** Which tools agents are offered. */
import { describe, expect, test } from "bun:test";
import { callOperation } from "../../../src/core/call";
import { isReadOnly } from "../../../src/core/operation";
import { OWNER } from "../../../src/core/rights";
import { createBudget } from "../../../src/host/mcp/budget";
import { createCalls } from "../../../src/host/mcp/calls";
import { createProposals } from "../../../src/host/mcp/proposals";
import { createPictures } from "../../../src/host/mcp/resources";
import { chosen, offerOf, TOOLSETS, toolName } from "../../../src/host/mcp/toolsets";
import { silentLog } from "../../../src/lib/log";
import { operations } from "../../../src/operations";

const calls = createCalls({
  ...{ service: {}, operations, hosts: null, ask: null, log: silentLog },
  perform: (operation, input, caller) => callOperation({}, operation, input, caller),
  proposals: createProposals(),
  budget: createBudget("/dev/null/unused"),
  pictures: createPictures(),
});
const names = (choice: Parameters<typeof chosen>[1]) => chosen(operations, choice).map(({ name }) => name);

/** The largest list by default, in bytes: every model reads it before it does anything. */
const MAX_LIST = 16_384;

describe("by default", () => {
  const listOf = (write: boolean) => calls.list(chosen(operations, { write }), OWNER);
  const bytesOf = (tools: unknown) =>
    Buffer.byteLength(JSON.stringify({ tools, ttlMs: 60_000, cacheScope: "private" }));

  test("the list of tools has at most 16 KB, and only what reads", () => {
    const tools = listOf(false);
    expect(bytesOf(tools)).toBeLessThanOrEqual(MAX_LIST);
    expect(tools.length).toBeGreaterThan(20);
    expect(tools.every(({ annotations }) => annotations.readOnlyHint)).toBe(true);
  });

  test("with --write the list has desktop_act and the tools of leases too, and at most 16 KB", () => {
    const tools = listOf(true);
    expect(bytesOf(tools)).toBeLessThanOrEqual(MAX_LIST);
    const acting = tools.filter(({ annotations }) => !annotations.readOnlyHint).map(({ name }) => name);
    expect(acting).toEqual(["desktop_act", "lease_request", "lease_end", "confirm"]);
  });
});

describe("without --write", () => {
  test("nothing is offered that changes something, or needs operate or admin, whatever is asked for", () => {
    for (const toolsets of TOOLSETS.map((set) => [set])) {
      for (const one of chosen(operations, { toolsets, write: false })) {
        expect(isReadOnly(one)).toBe(true);
        expect([one.changes, one.uses, ["operate", "admin", "sync"].includes(one.scope)]).toEqual([
          undefined,
          undefined,
          false,
        ]);
      }
    }
    expect(() => names({ tools: ["jobs_remove"], write: false })).toThrow("jobs_remove changes something");
  });

  test("there is no confirm", () => {
    const tools = calls.list(chosen(operations, { toolsets: ["all"], write: false }), OWNER);
    expect(tools.map(({ name }) => name)).not.toContain("confirm");
  });
});

describe("with --write", () => {
  test("tokens, join strings, keys, configuration, programs and the end of the audit log are offered to nobody", () => {
    const all = names({ toolsets: ["all"], write: true });
    const never =
      /^(token|join|join_token|config\.(export|import|set)|audit\.(clear|prune|export)|shell|desktop\.launch|desk\.(ex|im)port|standby|nats\.(bundle|desk|use|grant)|tls|turn|webhook|service|scripts\.(add|remove)|admin\.(add|set|remove|rotate|tag|export|import))/;
    expect(all.filter((name) => never.test(name))).toEqual([]);
    expect(
      chosen(operations, { toolsets: ["all"], write: true }).filter(({ scope }) => scope === "admin"),
    ).toEqual([]);
  });

  test("each set has what changes something there", () => {
    expect(names({ toolsets: ["jobs"], write: true })).toContain("jobs.remove");
    expect(names({ toolsets: ["fleet"], write: true })).toContain("plan.apply");
    expect(names({ toolsets: ["desktop"], write: true })).toContain("desktop.click_mouse");
    const tools = calls.list(chosen(operations, { toolsets: ["jobs"], write: true }), OWNER);
    expect(tools.at(-1)).toMatchObject({
      name: "confirm",
      annotations: { readOnlyHint: false, destructiveHint: true },
    });
    expect(tools.find(({ name }) => name === "jobs_remove")?.annotations).toMatchObject({
      readOnlyHint: false,
      destructiveHint: true,
    });
  });
});

test("with --write, a choice that adds nothing for it says so", () => {
  const notice = (choice: Parameters<typeof chosen>[1]) => offerOf(operations, choice).notice;
  expect(notice({ toolsets: ["read", "screen"], write: true })).toBe(
    "write: none of these tools changes something; the toolsets that have some: act, jobs, fleet, desktop, all",
  );
  expect(notice({ write: true })).toBeUndefined();
  expect(notice({ toolsets: ["jobs"], write: true })).toBeUndefined();
  expect(notice({ write: false })).toBeUndefined();
});

describe("a choice", () => {
  test("has the tools that it names, besides its sets or alone", () => {
    expect(names({ tools: ["usb_list"], write: false })).toEqual(["usb.list"]);
    expect(names({ toolsets: ["screen"], tools: ["usb_list"], write: false })).toContain("usb.list");
  });

  test("has nothing that it excludes", () => {
    const without = { exclude: ["usb_list"], write: false } as const;
    expect(names(without)).not.toContain("usb.list");
    expect(names({ ...without, tools: ["usb_list"] })).toEqual([]);
  });

  test("has the same order whatever the order of its words", () => {
    expect(names({ toolsets: ["desktop", "read"], write: true })).toEqual(
      names({ toolsets: ["read", "desktop"], write: true }),
    );
  });

  test("names the tool that is meant where it has one that there is not", () => {
    expect(() => names({ tools: ["usb_lists"], write: false })).toThrow("usb_lists (did you mean usb_list");
    expect(() => names({ exclude: ["nonsense"], write: false })).toThrow("there is no tool nonsense");
  });
});

describe("a tool", () => {
  test("has a name of its own, that clients take", () => {
    const all = names({ toolsets: ["all"], write: true }).map(toolName);
    expect(new Set([...all, "confirm"]).size).toBe(all.length + 1);
    for (const name of all) expect(name).toMatch(/^[a-z_]{1,64}$/);
  });

  test("is absent for a token whose scopes do not reach", () => {
    const offered = chosen(operations, { toolsets: ["all"], write: true });
    const tools = (scopes: ["read"] | ["screen"]) =>
      calls.list(offered, { name: "bob", scopes }).map(({ name }) => name);
    expect(tools(["read"])).toContain("usb_list");
    expect(tools(["read"])).not.toContain("desktop_screenshot");
    expect(tools(["screen"])).toContain("desktop_screenshot");
    expect(tools(["read"])).not.toContain("jobs_remove");
  });
});
