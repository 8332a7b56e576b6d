/**
 * How a host reaches the NATS server of its desk, as it keeps that in `desk.json`.
 */
import * as v from "valibot";
import { valueAs } from "../../lib/value-in";
import { NATS_SERVER } from "./desk-part";

const NATS_CARRIER = v.object({
  kind: v.literal("nats"),
  /** The public half of the host's NKey. */
  id: v.string(),
  server: NATS_SERVER,
  /** What makes it a user of the server. */
  jwt: v.pipe(v.string(), v.maxLength(8_192)),
});

export type NatsCarrier = v.InferOutput<typeof NATS_CARRIER>;

/** That of a host; undefined where it has none. */
export const natsCarrierIn = (carriers: readonly unknown[]): NatsCarrier | undefined =>
  carriers.map((carrier) => valueAs(NATS_CARRIER, carrier)).find((read) => read !== undefined);
