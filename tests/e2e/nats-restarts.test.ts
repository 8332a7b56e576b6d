/** A NATS server that is killed and started again under plans; `tests/soak` does it 100 times. */
import { plansThrough } from "../nats/restarts";
import { testWith } from "../support";

testWith("nats-server")(
  "plans come through ten kills of the server: nothing is lost, and nothing runs twice",
  () => plansThrough(10),
  600_000,
);
