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

test("a host without standbys is fine, and so are a desk and a standby that hear of each other", async () => {
  expect(await run(null)).toMatchObject({ ok: true, severity: "info" });
  expect(await run({ standbys: [{ name: "second", silent_s: 4 }] })).toMatchObject({ severity: "info" });
  expect(await run({ following })).toMatchObject({ severity: "info" });
});

test("a standby that is silent, and a desk that does not answer, are warnings", async () => {
  expect(await run({ standbys: [{ name: "second", silent_s: 61 }] })).toMatchObject({
    ...{ severity: "warn", extra: { late: ["second"] } },
  });
  expect(await run({ following: { ...following, silent_s: 61 } })).toMatchObject({ severity: "warn" });
  expect(await run({ following: { ...following, fault: "connection refused" } })).toMatchObject({
    ...{ severity: "warn", detail: expect.stringContaining("connection refused") },
  });
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
