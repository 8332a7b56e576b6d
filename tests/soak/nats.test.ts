/** A NATS server that is killed under plans: ten times, and 100 times by `npm run soak`. */

import { testWith } from "../support";
import { plansThrough } from "../wire/nats/restarts";

const KILLS = Number(process.env.SVC_NATS_KILLS ?? 10);

testWith("nats-server")(
  `plans come through ${KILLS} kills of the server: nothing is lost, and nothing runs twice`,
  () => plansThrough(KILLS),
  { timeout: 120_000 + KILLS * 60_000 },
);
