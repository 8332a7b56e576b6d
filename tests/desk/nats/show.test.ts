/** What a desk that has not connected yet says of its NATS server. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { showNats } from "../../../src/desk/nats/operations/fleet";
import { addDesk, newOperator } from "../../../src/desk/nats/operator";
import { configFiles } from "../../../src/lib/paths";
import { makeKey } from "../../../src/trust/certificate";
import { testService } from "../../support";

test("a nats.json that is not JSON is said to be, beside the connections that stay", async () => {
  await using made = testService();
  const caller = localCaller(made.service, "cli");
  writeFileSync(configFiles(made.configDir).nats, "");
  const fault = expect.stringMatching(/^nats\.json is not JSON \(line 1\): mend it or restore it/);
  expect((await callOperation(made.service, showNats, {}, caller)).desk).toMatchObject({
    ...{ id: "", urls: [], state: "off", problem: fault, regions: [], fault },
  });
  const about = { id: "U", urls: ["tls://nats.example:4222"] };
  const up = {
    state: "connected",
    since: new Date(),
    next: null,
    problem: null,
    attempts: 1,
    lost: null,
  } as const;
  const natsDesks = () => new Map([["", { about, state: () => up, presence: undefined }]]);
  const shown = await showNats.run({ ...made.service, natsDesks }, {}, caller);
  expect(shown.desk).toMatchObject({ ...about, state: "connected", problem: null, fault });
});

test("a desk with a nats.json that nothing has needed yet is shown as off", async () => {
  await using made = testService();
  const show = () => callOperation(made.service, showNats, {}, localCaller(made.service, "cli"));
  expect(await show()).toEqual({ host: null, desk: null });
  const server = { urls: ["tls://127.0.0.1:1"] };
  const { part } = addDesk({ ...newOperator(makeKey()), server }, "first", true);
  writeFileSync(configFiles(made.configDir).nats, JSON.stringify({ svc_nats: 1, ...part }));
  expect((await show()).desk).toMatchObject({
    id: part.desk.id,
    urls: server.urls,
    state: "off",
    problem: "it has not connected yet: `svc serve` does",
    hosts: null,
  });
});
