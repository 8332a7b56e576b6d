/**
 * Tells hosts which desk this is, where that is not plain: where a desk was taken over, or is a further one of the same hosts.
 *
 * The promises: a host that has heard begins no job of the desk before, also where that is alive, has not heard, and reaches the host;
 * that desk believes no host that it was taken over, but what its own key has signed. Hosts with an earlier svc are told nothing, and take
 * the jobs of either.
 */
import { RemoteError, type RemoteServer } from "../../../client/carrier";
import { callRemote } from "../../../client/remote-call";
import { RecentMap } from "../../../lib/buckets";
import { Failure, messageOf } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { runPool } from "../../../lib/pool";
import { printable } from "../../../lib/sanitize";
import { isSignedBy, type SigningKey } from "../../../trust/identity";
import { generationEndpoint } from "../../../wire/join/endpoints";
import { isFirst, type Office, officeMessage } from "../../../wire/join/office";
import { generationOf, type OfficeFiles } from "./office";

/** How long a host may take to answer, in milliseconds, and how many are told at once. */
const ANSWER_MS = 10_000;
const SLOTS = 16;

/** How long the generation is taken for what the file says, in milliseconds: a person may reinstate this desk. */
const READ_MS = 1_000;

/** The most hosts of which it is kept that they know. */
const MAX_HOSTS = 300_000;

/** What servers answer for a route that they do not have, and what those do that have too much to do. */
const NO_ROUTE = [404, 405, 501];
const BUSY = [429, 503];

interface FenceUses {
  readonly files: Pick<OfficeFiles, "deskGeneration">;
  readonly log: Log;
  key(): SigningKey;
  /** Takes note that another machine has taken this desk over. */
  yieldOffice(by: { readonly name: string; readonly generation: number }): Promise<unknown>;
}

/** A host that has joined this desk. */
interface Reached {
  readonly label: string;
  readonly server: RemoteServer;
  readonly host_id: string | null;
}

/** For whom a host is asked, and until when. */
interface Asking {
  readonly signal?: AbortSignal | undefined;
  readonly client?: string | null;
}

/** A host of the address book. */
interface Joined {
  readonly label: string;
  readonly member?: { readonly host_id: string; readonly nonce: string } | undefined;
}

export interface Fence {
  /**
   * Which desk jobs for this host say that they are of, after the host has heard; undefined where they say nothing.
   *
   * @throws a {@link RemoteError}, as one before anything was sent.
   */
  officeFor(host: Reached, asking: Asking): Promise<Office | undefined>;
  /** Whether that host proves that another machine has taken this desk over. Then that is noted. */
  isOver(host: Reached, asking: Asking): Promise<boolean>;
  /** Tells the hosts that have not heard in this process. One that does not answer is told at the next call. */
  tellAll<H extends Joined>(hosts: readonly H[], reach: (host: H) => RemoteServer): Promise<void>;
}

export function createFence({ files, log, key, yieldOffice }: FenceUses): Fence {
  /** Whether a host takes it, and the membership that it was told for, by its id. */
  const told = new RecentMap<{ readonly takes: boolean; readonly nonce?: string | undefined }>(MAX_HOSTS);
  const officeNow = createOfficeReader(files, () => told.clear());

  /** @returns whether that host has proved that this desk is over. */
  const heed = ({ label }: Pick<Reached, "label">, hostId: string, own: Office, answer: Heard): boolean => {
    const { generation, signature } = answer;
    if (generation <= own.generation) return false;
    if (!isSignedBy(key().publicKey, officeMessage(hostId, { line: own.line, generation }), signature)) {
      log.warn(`${printable(label, 130)} says that this desk was taken over, and has no proof of it`);
      return false;
    }
    log.warn(`${printable(label, 130)} has heard that this desk was taken over (generation ${generation})`);
    void yieldOffice({ name: UNNAMED, generation }).catch((error) =>
      log.error(`that this desk was taken over is not noted: ${messageOf(error)}`),
    );
    return true;
  };
  const tell = async (host: Reached, hostId: string, asking: Asking, nonce?: string) => {
    const own = officeNow();
    const signature = key().sign(officeMessage(hostId, own));
    const { signal, client } = asking;
    const input = { line: own.line, generation: own.generation, signature };
    try {
      const heard = await callRemote(host.server, generationEndpoint, input, ANSWER_MS, signal, client);
      told.set(hostId, { takes: true, nonce });
      return heed(host, hostId, own, heard);
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      const { status } = error.refusal ?? {};
      if (status === undefined || BUSY.includes(status) || error.fault === "unauthorized")
        throw new RemoteError(error.fault, error.message, false, error.refusal);
      if (!NO_ROUTE.includes(status))
        log.warn(`${printable(host.label, 130)} does not hear which desk this is: ${error.message}`);
      told.set(hostId, { takes: false, nonce });
      return false;
    }
  };

  return {
    async officeFor(host, asking) {
      const { host_id } = host;
      if (host_id === null || isFirst(officeNow())) return undefined;
      if (!told.get(host_id)) await tell(host, host_id, asking);
      return told.get(host_id)?.takes ? officeNow() : undefined;
    },
    async isOver(host, asking) {
      if (host.host_id === null) return false;
      try {
        return await tell(host, host.host_id, asking);
      } catch (error) {
        if (error instanceof RemoteError) return false;
        throw error;
      }
    },
    async tellAll(hosts, reach) {
      if (isFirst(officeNow())) return;
      const waiting = hosts.flatMap((host) => {
        const { host_id = "", nonce } = host.member ?? {};
        const before = told.get(host_id);
        const hasHeard = before?.takes === true && before.nonce === nonce;
        return nonce === undefined || hasHeard ? [] : [{ host, host_id, nonce }];
      });
      const pool = { slots: SLOTS, patienceMs: Number.POSITIVE_INFINITY };
      await runPool(waiting, pool, async ({ host, host_id, nonce }) => {
        try {
          const reached = { label: host.label, server: reach(host), host_id };
          await tell(reached, host_id, {}, nonce);
        } catch (error) {
          // One that does not answer is told again.
          if (!(error instanceof RemoteError))
            log.warn(`a host was not told which desk this is: ${messageOf(error)}`);
        }
      });
    },
  };
}

/** @param changed is called when this desk has another generation than before. @returns a function that says which desk this is. */
function createOfficeReader(files: FenceUses["files"], changed: () => void): () => Office {
  let office: Office = { line: "", generation: 0 };
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - readAt < READ_MS) return office;
    readAt = performance.now();
    try {
      const { line, generation } = generationOf(files);
      if (line !== office.line || generation !== office.generation) changed();
      office = { line, generation };
    } catch (error) {
      // Nothing begins then; what runs goes on as it was.
      if (!(error instanceof Failure)) throw error;
    }
    return office;
  };
}

/** What a host has answered. */
interface Heard {
  readonly generation: number;
  readonly signature: string;
}

/** Who has taken over, where a host alone says so. */
const UNNAMED = "unnamed";
