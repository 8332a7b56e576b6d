import { expect, test } from "bun:test";
import { judgeLink, link } from "../../../src/host/diagnostics/checks/link";
import { plans } from "../../../src/host/diagnostics/checks/plans";
import { finding, host, SERVER } from "./support";

const LINK: Parameters<typeof judgeLink>[0] = {
  ...{ desk: "desk:9939", state: "linked", since: "2026-11-22T10:00:00.000Z", problem: null, dials: 1 },
  ...{ lost: null, twin: null },
};
const carriers = (kind: string) => async () => ({ carriers: [{ kind }], token: "desk" });
const tokens = (expires?: string) => async () => ({
  list: () => (expires === undefined ? [] : [{ name: "desk", expires }]),
  endingLate: () => [],
  ownerFromElsewhere: () => null,
});
const at = Date.parse("2026-11-22T10:04:00.000Z");

test("a host without a desk, one that the desk reaches, and one that is linked are as they should be", async () => {
  expect(await finding(link)).toMatchObject({ severity: "info", detail: "this host has joined no desk" });
  const direct = host({ membership: carriers("direct") });
  expect(await finding(link, direct)).toMatchObject({ severity: "info", extra: { link: false } });
  const linked = host({
    membership: carriers("link"),
    runningServer: () => ({ ...SERVER, link: async () => LINK }),
    tokens: tokens("2100-01-01T00:00:00.000Z"),
  });
  expect(await finding(link, linked)).toMatchObject({
    severity: "info",
    detail: "linked to desk:9939 since 2026-11-22T10:00:00.000Z",
  });
});

test.each([
  [undefined, "was revoked"],
  ["2020-01-01T00:00:00.000Z", "has expired"],
])("a linked host whose desk has a token that ended (%p) is a warning", async (expires, how) => {
  const linked = host({
    membership: carriers("link"),
    runningServer: () => ({ ...SERVER, link: async () => LINK }),
    tokens: tokens(expires),
  });
  expect(await finding(link, linked)).toMatchObject({
    ...{ ok: true, severity: "warn" },
    detail: `linked to desk:9939, which may do nothing here: its token desk ${how}`,
  });
});

test("a link that is lost is a warning at first and then a failure, with the reason", () => {
  const lost = {
    ...LINK,
    state: "waiting" as const,
    problem: "connection refused",
    lost: "2026-11-22T10:00:00.000Z",
  };
  const detail = "not linked to desk:9939 since 2026-11-22T10:00:00.000Z: connection refused";
  expect(judgeLink(lost, true, at)).toMatchObject({ ok: true, severity: "warn", detail });
  expect(judgeLink(lost, true, at + 61_000)).toMatchObject({ ok: false, severity: "error", detail });
});

test("a host whose server does not run, and one with the identity of another, are a warning", async () => {
  const off = { ...LINK, state: "off" as const, since: null, problem: "no server runs here" };
  const stopped = host({ membership: carriers("link"), hostLink: async () => off });
  expect(await finding(link, stopped)).toMatchObject({
    severity: "warn",
    detail: "no server runs here, which keeps the link to desk:9939",
  });
  expect(judgeLink({ ...LINK, twin: "192.0.2.7" }, true, at)).toMatchObject({
    severity: "warn",
    detail: "another host, at 192.0.2.7, has the identity of this one: only one of them is linked",
  });
});

test("plans that too many failures have paused are a warning, those that a person has paused are not", async () => {
  expect(await finding(plans)).toMatchObject({ severity: "info", detail: "no plan was made here" });
  const having = (...reasons: string[]) => {
    const open = reasons.map((reason, nth) => ({ id: `${nth}2345678-9`, state: "paused", reason }));
    return host({ existingPlans: async () => ({ ledger: { plans: () => open } }) });
  };
  expect(await finding(plans, having("by anna"))).toMatchObject({ severity: "info", extra: { open: 1 } });
  expect(await finding(plans, having("by anna", "3 failed, more than 2"))).toMatchObject({
    ...{ ok: true, severity: "warn" },
    detail: "plans that wait for a person: 1: 12345678 (3 failed, more than 2)",
  });
});

test("a ledger of plans that cannot be read is a failure", async () => {
  const broken = host({ existingPlans: () => Promise.reject(new Error("file is not a database")) });
  expect(await finding(plans, broken)).toMatchObject({
    ok: false,
    detail: expect.stringContaining("not a database"),
  });
});
