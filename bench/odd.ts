/**
 * Screens that differ from the others: how surely they are found among 500, whether one is named among those that are alike, and how long
 * 10,000 signatures keep the event loop.
 */
import { compareScreens, ODD_FROM } from "../src/desk/fleet/odd/compare";
import { createPreparing, type PreparedScreen, type SignedHost } from "../src/desk/fleet/odd/prepared";
import { FAULTS, type Fault, fleet, machine } from "../tests/desk/fleet/odd/screens";
import type { Figure } from "./support";

const [FLEETS, SIZE, TRIALS, MANY] = [20, 500, 100, 10_000];
const [MOST_MS, MOST_STALL_MS] = [300, 50];

export async function bench(): Promise<Figure[]> {
  const fleets = Array.from({ length: FLEETS }, (_, nth) => fleet(1 + nth, SIZE));
  let like = 0;
  for (const hosts of fleets) like += (await oddIn(hosts)).length;
  let found = 0;
  for (let trial = 0; trial < TRIALS; trial++) {
    const [seed, place] = [trial % FLEETS, (trial * 97) % SIZE];
    const odd = machine(1 + seed, place, FAULTS[trial % FAULTS.length] as Fault);
    const named = await oddIn(fleets[seed]?.with(place, odd) ?? []);
    if (named.length === 1 && named[0] === odd.label) found++;
  }
  const prepare = createPreparing();
  const began = processorMs();
  const screens = fleets.flat().map((host, nth) => prepare({ ...host, label: `${host.label}-${nth}` }));
  const each = ((processorMs() - began) * 1_000) / screens.length;
  const { took, stall } = await timed(screens.slice(0, MANY));
  return [
    {
      name: "odd one out: one odd screen of 500 found, and no other one named, of 100",
      ratio: found / TRIALS,
      goal: ">= 0.99",
      detail: `${found} / ${TRIALS}`,
    },
    {
      name: "odd one out: hosts named of 20 times 500 that are alike",
      ratio: like,
      goal: "<= 0",
      detail: `${like} / ${FLEETS * SIZE}`,
    },
    {
      name: "odd one out: processor time to compare 10,000 signatures, against 300 ms",
      ratio: took / MOST_MS,
      goal: "<= 1",
      detail: `${took.toFixed(0)} / ${MOST_MS} ms; to prepare each when it comes, ${each.toFixed(0)} µs`,
    },
    {
      name: "odd one out: processor time of the longest turn of the event loop meanwhile, against 50 ms",
      ratio: stall / MOST_STALL_MS,
      goal: "<= 1",
      detail: `${stall.toFixed(1)} / ${MOST_STALL_MS} ms`,
    },
  ];
}

const oddIn = async (hosts: readonly SignedHost[]): Promise<string[]> =>
  (await compareScreens(hosts.map(createPreparing()), ["kiosk"]))
    .filter(({ score }) => (score ?? 0) >= ODD_FROM)
    .map(({ label }) => label);

/** What this process has used of processors, in milliseconds. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** How long the comparison takes, and the longest turn of the event loop within it, in milliseconds of processor time. */
async function timed(screens: readonly PreparedScreen[]): Promise<{ took: number; stall: number }> {
  let [stall, isOver] = [0, false];
  const watch = async () => {
    for (let before = processorMs(); !isOver; ) {
      await new Promise((resolve) => setImmediate(resolve));
      const now = processorMs();
      stall = Math.max(stall, now - before);
      before = now;
    }
  };
  const watching = watch();
  const began = processorMs();
  await compareScreens(screens, ["kiosk"]);
  const took = processorMs() - began;
  isOver = true;
  await watching;
  return { took, stall };
}
