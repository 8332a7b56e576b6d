/**
 * The NKey of a host as it proves it to its desk.
 */
import type { NKey } from "../nats/nkeys";

/** The NKey of this host for NATS servers. */
export type NatsKey = Pick<NKey, "id" | "sign">;

/** The signature of an NKey as desks take it. */
export const provedBy = ({ sign }: NatsKey, message: string): string =>
  sign(Buffer.from(message)).toString("base64url");
