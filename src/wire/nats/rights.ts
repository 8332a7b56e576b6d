/**
 * What users of a NATS server may not do, tried on the server itself.
 */
import type { NatsConnection } from "@nats-io/nats-core";

/** Something that a user tries. */
export interface Attempt {
  readonly kind: "publish" | "subscribe";
  readonly subject: string;
}

/** What a host must not be able to do: to read what others are asked or answer, to answer for them, or to speak for them. */
export const forbiddenToHosts = (other: string, desk: string): Attempt[] => [
  ...subscribe([">", "svc.v1.>", "svc.v1.host.*.ask", "svc.v1.up.>", "_INBOX.>"]),
  ...[subscribe, publish].flatMap((tried) =>
    tried([
      `svc.v1.host.${other}.ask`,
      `svc.v1.up.${other}.hello`,
      `svc.v1.desk.${desk}.plans`,
      `_INBOX.${desk}.1`,
      `_INBOX.${other}.1`,
      "$SYS.REQ.SERVER.PING",
    ]),
  ),
];

/** What a desk must not be able to do: to speak for hosts or other desks, or to read what others are asked or answered. */
export const forbiddenToDesks = (other: string): Attempt[] => [
  ...subscribe([">", `svc.v1.host.${other}.ask`, `_INBOX.${other}.>`, "_INBOX.>", "$SYS.>"]),
  ...publish([`svc.v1.up.${other}.hello`, `svc.v1.desk.${other}.plans`, `_INBOX.${other}.1`]),
];

const subscribe = (subjects: readonly string[]): Attempt[] =>
  subjects.map((subject) => ({ kind: "subscribe", subject }));
const publish = (subjects: readonly string[]): Attempt[] =>
  subjects.map((subject) => ({ kind: "publish", subject }));

/**
 * Those of `attempts` that the server lets the user of this connection do.
 *
 * @throws what the server says beside refusals: then nothing is known of the rest.
 */
export async function allowed(nc: NatsConnection, attempts: readonly Attempt[]): Promise<Attempt[]> {
  const { PermissionViolationError } = await import("@nats-io/nats-core");
  const refused = new Set<string>();
  const { promise: broken, reject } = Promise.withResolvers<never>();
  broken.catch(() => {});
  const statuses = nc.status();
  const watching = (async () => {
    for await (const status of statuses) {
      if (status.type !== "error") continue;
      const { error } = status;
      if (!(error instanceof PermissionViolationError))
        reject(new Error(`the server says: ${error.message}`));
      else refused.add(`${error.operation === "publish" ? "publish" : "subscribe"} ${error.subject}`);
    }
  })();
  for (const { kind, subject } of attempts) {
    const tried = kind === "subscribe" ? nc.subscribe(subject, { callback() {} }) : nc.publish(subject);
    // The server refuses before it answers this.
    await Promise.race([nc.flush(), broken]);
    // Hosts may have few subscriptions.
    tried?.unsubscribe();
  }
  (statuses as unknown as { stop(): void }).stop();
  await watching;
  await Promise.race([broken, undefined]);
  return attempts.filter(({ kind, subject }) => !refused.has(`${kind} ${subject}`));
}
