/**
 * Kills of a desk or of one of its hosts, at random, in the middle of plans, which other processes cancel and retry meanwhile: no job
 * runs twice, no host of a plan is lost, the sum is exact, and nothing runs that has expired. In CI fifty kills, elsewhere twenty;
 * `bun run soak` has a thousand (SVC_SOAK_KILLS says otherwise).
 *
 * What is killed, and after how many requests, follows from a seed, which is printed; SVC_SOAK_SEED replays it.
 */
import { expect, test } from "bun:test";
import { faultsIn } from "../../bench/programs/sim-host";
import { seeded } from "../../bench/programs/sim-seed";
import { isThorough, until } from "../support";
import { type PlanView, startFleet } from "./fleet";

const KILLS = Number(process.env.SVC_SOAK_KILLS ?? (isThorough ? 50 : 20));
const SEED = process.env.SVC_SOAK_SEED ?? (KILLS <= 50 ? "kills" : `${Math.floor(Math.random() * 2 ** 32)}`);

/** When a plan expires that has time, in seconds: then it gives up the host that never answers. */
const LONG_S = KILLS > 50 ? 60 : 15;

/** States in which nothing may have run. */
const NOTHING_RAN = new Set(["planned", "unreachable", "refused", "expired"]);

test(
  "killed at random in the middle of plans: no job runs twice, no host is lost, the sum is exact, nothing expired runs",
  async () => {
    console.info(`kills: ${KILLS} with the seed ${SEED}`);
    const random = seeded(SEED, "kills");
    const below = (most: number) => Math.floor(random() * most);
    await using fleet = await startFleet(SEED);
    let [kills, decisions] = [0, 0];
    for (let round = 0; kills < KILLS; round++) {
      const queue = random() < 0.7;
      const plan = {
        actions: [["AC_sleep", { seconds: 0.05 }]],
        on: "all",
        waves: random() < 0.5 ? ["100%"] : ["1", "30%", "100%"],
        max_failures: "100%",
        pause_s: random() < 0.5 ? 0 : 0.1,
        queue,
        expires_s: queue && random() < 0.6 ? LONG_S : 1 + below(4),
        delivery_timeout_s: 1,
        timeout_s: 5,
      };
      const isCut = random() < 0.15;
      if (isCut) kills++;
      const id = await fleet.begin(plan, isCut);
      for (let left = 1 + below(6); left > 0 && kills < KILLS; left--, kills++) {
        await fleet.requests(1 + below(30));
        const decision = random();
        const decided =
          decision < 0.4 ? fleet.decide(decision < 0.15 ? "cancel" : "retry", id) : Promise.resolve(1);
        if (decision < 0.2) await decided;
        const victim = random();
        if (victim < 0.5) await fleet.killDesk();
        else if (victim < 0.8) await fleet.killHost(below(fleet.real.length));
        else fleet.crashSimulated(below(fleet.simulated.length));
        if ((await decided) === 0) decisions++;
      }
      if (kills % 50 < 6) console.info(`kills: ${kills} of ${KILLS} in ${round + 1} plans`);
    }

    const plans = await until(
      "every plan is over",
      async () => {
        const found = await fleet.plans();
        return found.every(({ state, ended }) => state === "new" || ended !== null) && found;
      },
      { seconds: 600, everyMs: 500 },
    );
    const tally = new Map<string, number>();
    const wrong = faultsIn(fleet.runs, 0, "job");
    for (const { id } of plans) {
      const plan: PlanView = await fleet.plan(id);
      const sum = Object.values(plan.counts).reduce((total, count) => total + count, 0);
      if (sum !== fleet.labels.length || plan.targets.length !== fleet.labels.length)
        wrong.push(
          `${id}: ${sum} of ${fleet.labels.length} hosts are counted, ${plan.targets.length} listed`,
        );
      for (const { label, state, sent } of plan.targets) {
        tally.set(state, (tally.get(state) ?? 0) + 1);
        const ran = await fleet.timesRun(plan, label);
        const isUnbegun = NOTHING_RAN.has(state) || (state === "cancelled" && sent === null);
        const isWrong = state === "ok" ? ran !== 1 : isUnbegun ? ran !== 0 : ran > 1;
        if (isWrong) wrong.push(`${id}: ${label} is ${state} and ran ${ran} times`);
      }
    }
    const states = [...tally].map(([state, count]) => `${count} ${state}`).join(", ");
    console.info(
      `kills: ${kills}, ${decisions} decisions, in ${plans.length} plans for ${fleet.labels.length} hosts each: ${states}`,
    );
    expect({ seed: SEED, wrong }).toEqual({ seed: SEED, wrong: [] });
    expect(tally.get("ok")).toBeGreaterThan(0);
    expect(decisions).toBeGreaterThan(0);
    expect(tally.has("refused")).toBe(false);
  },
  (KILLS * 4 + 900) * 1_000,
);
