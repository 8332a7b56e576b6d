/** What `svc diagnose` says of a desk and its standby. */
import { expect, test } from "bun:test";
import { standby } from "../../../src/host/diagnostics/checks/standby";
import { CALLER } from "./support";

type Uses = Parameters<typeof standby.run>[0];
type Now = NonNullable<Awaited<ReturnType<Uses["standbyNow"]>>>;

const NOTHING: Now = { taken_over: null, standbys: [], following: null, beyond: null };
const run = (now: Partial<Now> | null) =>
  standby.run({ standbyNow: async () => now && { ...NOTHING, ...now } }, CALLER);
const following = {
  ...{ desk: "10.0.0.5:9939", snapshot: "2026-01-01T00:00:00.000Z", taken_over: null },
  ...{ silent_s: 3, fault: null, begun: null },
};

/** A standby that asked from those addresses, so many seconds ago. */
const second = (asked: Record<string, number> = {}, proved = true) => ({
  ...{ name: "second", silent_s: 4 },
  from: Object.entries(asked).map(([address, asked_s]) => ({ address, asked_s, proved })),
});

test("a host without standbys is fine, and so are a desk and a standby that hear of each other", async () => {
  expect(await run(null)).toMatchObject({ ok: true, severity: "info" });
  expect(await run({ standbys: [second()] })).toMatchObject({ severity: "info" });
  expect(await run({ following })).toMatchObject({ severity: "info" });
});

test("a standby that is silent, and a desk that does not answer, are warnings", async () => {
  expect(await run({ standbys: [{ ...second(), silent_s: 61 }] })).toMatchObject({
    ...{ severity: "warn", extra: { late: ["second"] } },
  });
  expect(await run({ following: { ...following, silent_s: 61 } })).toMatchObject({ severity: "warn" });
  expect(await run({ following: { ...following, fault: "connection refused" } })).toMatchObject({
    ...{ severity: "warn", detail: expect.stringContaining("connection refused") },
  });
});

test("a standby that asks from two addresses at once is a warning: two machines may have its key", async () => {
  expect(await run({ standbys: [second({ "10.0.0.1": 9, "10.0.0.2": 4 })] })).toMatchObject({
    ...{ severity: "warn", detail: "the standby second asks from 10.0.0.1 and 10.0.0.2" },
  });
  expect(await run({ standbys: [second({ "10.0.0.1": 900, "10.0.0.2": 4 })] })).toMatchObject({
    severity: "info",
  });
  // Who has the string alone is no second standby.
  const found = [second({ "10.0.0.1": 9, "10.0.0.2": 4 }, false)];
  expect(await run({ standbys: found })).toMatchObject({ severity: "info" });
});

test("a desk that was taken over is a failure, and the standby that has is none", async () => {
  const since = "2026-01-01T00:00:00.000Z";
  expect(await run({ taken_over: { by: "second", since } })).toMatchObject({ ok: false, severity: "error" });
  expect(await run({ following: { ...following, begun: since } })).toMatchObject({
    ...{ ok: false, detail: expect.stringContaining("was cut off") },
  });
  const over = { ...following, taken_over: since, silent_s: null };
  expect(await run({ following: over })).toMatchObject({ severity: "info" });
});

test("a host with a generation that no standby can have is a failure: somebody has the key of this desk", async () => {
  const beyond = { host: "lab-01", generation: 2 ** 40 };
  expect(await run({ beyond })).toMatchObject({
    ...{
      ok: false,
      severity: "error",
      detail: expect.stringContaining("lab-01 has heard of generation 1099511627776"),
    },
  });
});
