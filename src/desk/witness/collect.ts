/**
 * Having a good checkpoint of a host's log cosigned by its peers, and handing all cosignatures back to the host.
 *
 * The promise: a peer or a host that does wrong here is said as a claim; only an objection that is true breaks the log.
 */

import { type Carrier, RemoteError } from "../../client/carrier";
import { bodyOf } from "../../client/remote-call";
import type { SigningKey } from "../../lib/signing-key";
import type { Submission } from "../../wire/witness/add-checkpoint";
import type { Witness } from "../../wire/witness/witness";
import { handBack } from "./hand-back";
import type { Finding } from "./look";
import { opinionsOf } from "./opinions";
import type { Member } from "./peer-opinion";
import type { Peers } from "./peers";
import { BROKEN, type LogStatus, logOf } from "./states";
import type { Watch } from "./watch";

interface Uses<E> {
  readonly witness: Pick<Witness, "vkey">;
  readonly deskKey: SigningKey;
  readonly peers: Peers<E & Member>;
  readonly watches: ReadonlyMap<string, Watch<E>>;
  keep(watch: Watch<E>, status: LogStatus): void;
  note(watch: Watch<E>, found: Finding): void;
}

/** @returns a function that does it for one host. @throws a `cancelled` {@link RemoteError}. */
export function createCollecting<E>({ witness, deskKey, peers, watches, keep, note }: Uses<E>) {
  /** The cosignatures of peers. An objection that is true breaks the log. */
  const askPeers = async (watch: Watch<E>, submission: Submission, carrier: Carrier, signal: AbortSignal) => {
    const log = logOf(watch.status);
    if (!log) return [];
    const members = Array.from(watches.values(), ({ entry }) => entry);
    const asked = peers.of(watch.hostId, members);
    const about = { carrier, log, submission, own: witness.vkey, signal };
    const { cosigned, claims, broken } = await opinionsOf(peers, asked, about);
    if (broken) note(watch, broken);
    keep(watch, { ...watch.status, peers: cosigned.map(({ host_id }) => host_id), claims: [...claims] });
    return cosigned;
  };

  return async (
    watch: Watch<E>,
    carrier: Carrier,
    { size, submission, cosignatures }: { size: number; submission: Submission; cosignatures: string },
    signal: AbortSignal,
  ) => {
    const others = await askPeers(watch, submission, carrier, signal);
    if (BROKEN.includes(watch.status.state)) return;
    watch.handed = { at: performance.now(), size, looks: 0 };
    watch.answering.asked();
    const desk = { deskKey, member: watch.entry.member };
    const all = [{ cosignatures, vkey: witness.vkey }, ...others];
    try {
      const response = await handBack(carrier, desk, submission, all);
      watch.answering.answered(size);
      bodyOf(response);
    } catch (error) {
      // The look itself was good.
      if (signal.aborted || !(error instanceof RemoteError)) throw error;
      const claims = [...watch.status.claims, `the host keeps no cosignatures: ${error.message}`];
      keep(watch, { ...watch.status, claims });
    }
  };
}
