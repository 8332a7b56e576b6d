import { expect, test } from "bun:test";
import { witness } from "../../src/diagnostics/checks/witness";
import { CALLER } from "./support";

const serviceWith = (states: Readonly<Record<string, string>>) => ({
  addressBook: async () => ({
    hosts: () => Object.keys(states).map((label) => ({ label, member: { host_id: `id of ${label}` } })),
  }),
  foundLogs: async () =>
    new Map(Object.entries(states).map(([label, state]) => [`id of ${label}`, { state }])),
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
