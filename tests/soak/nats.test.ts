/** A NATS server that is killed 100 times under plans. */
import { plansThrough } from "../nats/restarts";
import { testWith } from "../support";

testWith("nats-server")(
  "plans come through 100 kills of the server: nothing is lost, and nothing runs twice",
  () => plansThrough(100),
  3_600_000,
);
