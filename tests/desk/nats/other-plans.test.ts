/** Two desks with the same hosts: each sees the plans of the other, and changes its own. */
import { expect } from "bun:test";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { adoptPlan, cancelPlan } from "../../../src/desk/plans/operations/change";
import { listPlans, showPlan } from "../../../src/desk/plans/operations/look";
import { newPlan } from "../../../src/desk/plans/operations/make";
import { applyPlan } from "../../../src/desk/plans/operations/run";
import { configFiles } from "../../../src/lib/paths";
import { openSigningKey } from "../../../src/trust/identity";
import { testService, testWith, until } from "../../support";
import { startNats } from "../../wire/nats/support";

testWith("nats-server")(
  "a desk shows the plans of another one, changes none of them, and takes none over while that is there",
  async () => {
    await using stack = new AsyncDisposableStack();
    const nats = stack.use(await startNats());
    const [first, second] = [stack.use(testService()), stack.use(testService())];
    const [there, here] = [configFiles(first.configDir), configFiles(second.configDir)];
    openSigningKey(there.deskKey);
    mkdirSync(dirname(here.deskKey), { recursive: true });
    copyFileSync(there.deskKey, here.deskKey);
    writeFileSync(there.nats, JSON.stringify(await nats.part("first")));
    writeFileSync(here.nats, JSON.stringify(await nats.part("second")));
    const host = { label: "off", base_url: "http://127.0.0.1:1", token: "t", tags: [] };
    for (const { service } of [first, second]) {
      await (await service.addressBook()).add(host);
      await service.runJobs();
    }
    const at = ({ service }: typeof first) => localCaller(service, "cli");
    const make = { actions: [["AC_screen_size"]], on: "all", queue: true };
    const { id, digest } = await callOperation(first.service, newPlan, make, at(first));
    await callOperation(first.service, applyPlan, { id, digest }, at(first));
    const list = async () => (await callOperation(second.service, listPlans, {}, at(second))).plans;
    const seen = () => list().then((plans) => plans.find((plan) => plan.counts.waiting === 1));
    const heard = { desk: "first", heard: expect.any(String) };
    expect(await until("the plan of the other desk", seen)).toMatchObject({
      ...{ id, owner: heard, state: "running", total: 1 },
    });
    expect(await callOperation(second.service, showPlan, { id: id.slice(0, 8) }, at(second))).toMatchObject({
      id,
      owner: heard,
      queue: true,
      targets: [],
      actions: null,
    });
    await expect(callOperation(second.service, cancelPlan, { id }, at(second))).rejects.toThrow(
      new RegExp(`^the plan ${id} is of the desk first, heard at .*: change it there`),
    );

    const ledger = join(nats.folder, "plans.db");
    copyFileSync(there.plans, ledger);
    copyFileSync(`${there.plans}-wal`, `${ledger}-wal`);
    const adopt = (force: boolean) =>
      callOperation(second.service, adoptPlan, { id, ledger, force }, at(second));
    await expect(adopt(false)).rejects.toThrow(/^the desk first owns the plan .*; --force takes/);
    expect(await adopt(true)).toMatchObject({ id, owner: null });
    expect((await list()).map(({ id, owner }) => ({ id, owner }))).toEqual([{ id, owner: null }]);

    // The first desk was there after all.
    const former = () => callOperation(first.service, showPlan, { id }, at(first));
    const paused = await until("the former owner to hear it", async () => {
      const plan = await former();
      return plan.state === "paused" && plan;
    });
    expect(paused.reason).toBe("adopted by the desk second");
    await expect(callOperation(first.service, cancelPlan, { id }, at(first))).rejects.toThrow(
      new RegExp(`^the plan ${id} is of the desk second, heard at`),
    );
    expect((await list())[0]).toMatchObject({ id, owner: null, state: "running" });
  },
);
