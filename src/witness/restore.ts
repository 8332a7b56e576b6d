/**
 * The ceremony of a restore: an operator accepts that a log is not what it was, for instance after a backup was restored.
 *
 * The promise: it leaves a row in the log itself, signed by the desk, so that nobody can say later that there was no break.
 */
import { bodyOf } from "../client/call";
import { type Carrier, RemoteError } from "../client/carrier";
import { conflict } from "../lib/errors";
import { toBase64 } from "../lib/signed-note";
import type { SigningKey } from "../lib/signing-key";
import { checkpointOf, type LogKey, limits } from "./look";
import { type Membership, restoredMessage } from "./messages";
import { signedBy } from "./signed";
import type { Record } from "./states";
import type { Store } from "./store";

interface Restore {
  readonly store: Store;
  readonly deskKey: SigningKey;
  readonly member: Membership;
  /** That of the log as it is now. */
  readonly key: LogKey;
  readonly record: Record;
  readonly reason: string;
}

/** @returns the new record. @throws a {@link RemoteError}; `conflict` where the host shows no good checkpoint. */
export async function restore(
  carrier: Carrier,
  { store, deskKey, member, key, record, reason }: Restore,
): Promise<Record> {
  const { note } = await checkpointOf(carrier, key, 0);
  const signed = signedBy(note, (origin) => (origin === key.origin ? key.vkey : undefined));
  if ("status" in signed) throw conflict(`the host shows no checkpoint of its key: ${signed.reason}`);
  const about = {
    former_origin: record.origin ?? key.origin,
    former_size: record.size,
    origin: key.origin,
    size: signed.size,
    root: toBase64(signed.root),
    reason,
    signed: new Date().toISOString(),
  };
  const signature = deskKey.sign(restoredMessage(member, about));
  const body = JSON.stringify({ ...about, signature });
  const answer = await carrier.ask({ method: "POST", path: "/audit/restored", body }, limits());
  if (answer.status === 404) throw new RemoteError("answer", "the host has an older svc", true);
  bodyOf(answer);
  // Later than each before, also where this desk has lost count: after the host left, or the loss of witness.db. Peers remember.
  const epoch = Math.max(record.epoch + 1, Date.now());
  store.register({ ...key, epoch });
  return {
    ...record,
    ...key,
    epoch,
    ...{ state: "restored", since: about.signed, restored: about.signed, reason },
    ...{ size: 0, peers: [] },
  };
}
