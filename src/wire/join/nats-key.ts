/**
 * The NKey of a host as it proves it to its desk.
 */

/** The NKey of this host for NATS servers. */
export interface NatsKey {
  /** The public half. */
  readonly id: string;
  sign(bytes: Uint8Array): Buffer;
}

/** The signature of an NKey as desks take it. */
export const provedBy = ({ sign }: NatsKey, message: string): string =>
  sign(Buffer.from(message)).toString("base64url");
