import { expect, test } from "bun:test";
import { newLogStatus, watchedIn } from "../../../src/desk/witness/states";
import { witness } from "../../../src/host/diagnostics/checks/witness";
import type { State } from "../../../src/wire/witness/log-state";
import { CALLER } from "./support";

const serviceWith = (states: Readonly<Record<string, State>>, age = 0) => ({
  addressBook: async () => ({
    hosts: () => Object.keys(states).map((label) => ({ label, member: { host_id: `id of ${label}` } })),
  }),
  foundLogs: async () =>
    watchedIn(
      new Map(
        Object.entries(states).map(([label, state]) => [
          `id of ${label}`,
          { ...newLogStatus(), state, since: new Date(Date.now() - age).toISOString() },
        ]),
      ),
    ),
});

test("audit logs that are not what they were are a failure, silent ones a warning, each by the name of its host", async () => {
  expect(await witness.run(serviceWith({}), CALLER)).toMatchObject({ severity: "info", extra: { logs: 0 } });
  const good = serviceWith({ "lab-1": "ok", "lab-2": "restored", "lab-3": "unknown" });
  expect(await witness.run(good, CALLER)).toMatchObject({ severity: "info", extra: { logs: 3 } });
  expect(await witness.run(serviceWith({ "lab-1": "ok", "lab-2": "silent" }), CALLER)).toMatchObject({
    ok: true,
    severity: "warn",
    detail: "nothing new of 1 of 2 audit logs: lab-2 (silent)",
  });
  expect(await witness.run(serviceWith({ "lab-1": "forked", "lab-2": "silent" }), CALLER)).toMatchObject({
    ok: false,
    detail: "1 of 2 audit logs are not what they were: lab-1 (forked)",
  });
});

test("audit logs that were never seen are a warning that says what to do, once they had the time", async () => {
  const states = { "lab-1": "ok", "lab-2": "unknown" } as const;
  expect(await witness.run(serviceWith(states), CALLER)).toMatchObject({ severity: "info" });
  expect(await witness.run(serviceWith(states, 120_000), CALLER)).toMatchObject({
    ok: true,
    severity: "warn",
    detail: "nothing new of 1 of 2 audit logs: lab-2 (unknown)",
    advice: ["svc admin witness: why", expect.stringContaining("older svc")],
  });
});

test("the broken log of a host that has left is a failure too", async () => {
  const gone = {
    ...newLogStatus(),
    label: "lab-9",
    left: "2026-11-22T10:00:00.000Z",
    state: "forked" as const,
  };
  const service = { ...serviceWith({}), foundLogs: async () => watchedIn(new Map([["an id", gone]])) };
  expect(await witness.run(service, CALLER)).toMatchObject({
    ok: false,
    detail: "1 of 1 audit logs are not what they were: lab-9 (forked, has left)",
  });
});
