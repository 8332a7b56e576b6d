/**
 * Notifies hosts of which desk this is, where that is not plain: where a desk was taken over, or is a further one of the same hosts.
 *
 * The promises: a host that has heard begins no job of the desk before, also where that is alive, has not heard, and reaches the host;
 * that desk believes no host that it was taken over, but what its own key has signed. Hosts with an earlier svc cannot hear, and take the
 * jobs of either.
 */
import { RemoteError, type RemoteServer } from "../../../client/carrier";
import { callRemote } from "../../../client/remote-call";
import { RecentMap } from "../../../lib/buckets";
import { Failure, messageOf } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { serverOfHost } from "../../../lib/per-server";
import { runPool } from "../../../lib/pool";
import { printable } from "../../../lib/sanitize";
import { isSignedBy, type SigningKey } from "../../../trust/identity";
import type { Target } from "../../../wire/job/job";
import { generationEndpoint } from "../../../wire/join/endpoints";
import { isFirst, MAX_STEP, type Office, officeMessage } from "../../../wire/join/office";
import { UNNAMED } from "./deposed";
import { generationOf, type OfficeFiles } from "./office";

/**
 * How long a host may take to answer, in milliseconds, and how many are notified at once, at each NATS server and of all others: hosts
 * that are off hold up no others for long.
 */
const ANSWER_MS = 10_000;
const SLOTS = 64;

/** How long the generation is taken for what the file says, in milliseconds: a person may reinstate this desk. */
const READ_MS = 1_000;

/** The most hosts of which it is kept that they know, and that do not hear and why. */
const MAX_HOSTS = 300_000;
const MAX_COMPLAINTS = 10_000;

/** What servers answer for a route that they do not have, and what those do whose host has joined another desk meanwhile, or none. */
const NO_ROUTE = [404, 405, 501];
const NOT_JOINED = [403, 409];

interface FenceUses {
  readonly files: Pick<OfficeFiles, "deskGeneration">;
  readonly log: Log;
  key(): SigningKey;
  /** Takes note that another machine has taken this desk over. */
  yieldOffice(by: { readonly name: string; readonly generation: number }): Promise<unknown>;
  /** Whether it is known that another machine has taken this desk over, and not on disk yet. */
  isYielding?(): boolean;
}

/** A host that has joined this desk. */
type Member = Pick<Target, "label" | "server" | "host_id">;

/** For whom a host is asked, and until when. */
interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  readonly client?: string | null;
}

/** A host of the address book. */
export interface BookHost {
  readonly label: string;
  readonly base_url: string;
  readonly member?: { readonly host_id: string; readonly nonce: string } | undefined;
}

export interface Fence {
  /**
   * Which desk jobs for this host say that they are of, after the host has heard; undefined where they say nothing.
   *
   * @throws a {@link RemoteError}, as one before anything was sent.
   */
  officeFor(host: Member, asking: AskOptions): Promise<Office | undefined>;
  /**
   * Whether that host proves that another machine has taken this desk over. Then that is noted.
   *
   * @throws a {@link RemoteError} where it does not say.
   */
  isOver(host: Member, asking: AskOptions): Promise<boolean>;
  /** Has the host hear again before its next job: it has not understood which desk that is of. */
  forget(host: Pick<Member, "host_id">): void;
  /** Which desk this is. */
  office(): Office;
  /**
   * Notifies the hosts that have not heard in this process, also where it is plain which desk this is.
   *
   * @returns how many of them have not answered: they are notified at the next call.
   */
  tellAll<H extends BookHost>(
    hosts: readonly H[],
    reach: (host: H) => RemoteServer,
    signal?: AbortSignal,
  ): Promise<number>;
  /** Whether that host has heard in this process, or cannot since its svc is an earlier one; undefined where it has not answered. */
  hasHeard(host: BookHost): boolean | undefined;
  /** A host that has heard of a generation which no standby of this desk can have, as the key of this desk has signed it; null where none has. */
  beyond(): Beyond | null;
}

/** What a host has heard from somebody who has the key of this desk. */
export interface Beyond {
  readonly host: string;
  readonly generation: number;
}

export function createFence(uses: FenceUses): Fence {
  const { files, log, key, isYielding = () => false } = uses;
  const proofs = createProofs(uses);
  /** Of a host that has heard, by its id: whether it takes it, and for which membership. */
  const known = new RecentMap<{ readonly takes: boolean; readonly nonce?: string | undefined }>(MAX_HOSTS);
  /** What was logged last of a host that does not hear. */
  const complaints = new RecentMap<string>(MAX_COMPLAINTS);
  const officeNow = createOfficeReader(files, () => {
    known.clear();
    proofs.forget();
  });
  const requireSending = () => {
    if (isYielding())
      throw new RemoteError("unreachable", "this desk was taken over, which cannot be written yet", false);
  };

  const tell = async (host: Member, hostId: string, asking: AskOptions, nonce?: string) => {
    const own = officeNow();
    const signature = key().sign(officeMessage(hostId, own));
    const { signal, client } = asking;
    const input = { line: own.line, generation: own.generation, signature };
    // A person may have reinstated this desk meanwhile: then it has not heard of that.
    const note = (takes: boolean) => {
      const { line, generation } = officeNow();
      if (line === own.line && generation === own.generation) known.set(hostId, { takes, nonce });
    };
    try {
      const heard = await callRemote(host.server, generationEndpoint, input, ANSWER_MS, signal, client);
      note(true);
      return proofs.heed(host, hostId, own, heard);
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      // Without a route, it takes jobs of every generation. Else it may know one: a job that does not say its own would be refused.
      if (!NO_ROUTE.includes(error.refusal?.status ?? 0))
        throw new RemoteError(
          error.fault,
          `it does not hear which desk this is: ${error.message}`,
          false,
          error.refusal,
        );
      note(false);
      return false;
    }
  };

  const hasHeard = ({ member }: BookHost): boolean | undefined => {
    const before = known.get(member?.host_id ?? "");
    return before?.nonce === member?.nonce ? before?.takes : undefined;
  };

  return {
    async officeFor(host, asking) {
      const { host_id } = host;
      requireSending();
      if (host_id === null || isFirst(officeNow())) return undefined;
      for (let times = 0; times < 2 && !known.get(host_id); times++) await tell(host, host_id, asking);
      const now = known.get(host_id);
      if (!now) throw new RemoteError("unreachable", "this desk has just been reinstated", false);
      return now.takes ? officeNow() : undefined;
    },
    async isOver(host, asking) {
      requireSending();
      if (host.host_id === null) return false;
      try {
        return await tell(host, host.host_id, asking);
      } catch (error) {
        if (error instanceof RemoteError && NOT_JOINED.includes(error.refusal?.status ?? 0)) return false;
        throw error;
      }
    },
    forget({ host_id }) {
      if (host_id !== null) known.delete(host_id);
    },
    office: officeNow,
    hasHeard,
    beyond: proofs.beyond,
    async tellAll(hosts, reach, signal) {
      if (isYielding()) return 0;
      // Where a person has reinstated this desk, nobody has heard.
      const first = isFirst(officeNow());
      // A host with an earlier svc refuses this. It may be updated, so it is asked again; not by a first desk, which has no news for it.
      const isSettled = (host: BookHost) => (first ? hasHeard(host) !== undefined : hasHeard(host) === true);
      const waiting = hosts.flatMap((host) => {
        const { host_id = "", nonce } = host.member ?? {};
        return nonce === undefined || isSettled(host) ? [] : [{ host, host_id, nonce }];
      });
      const pool = { slots: SLOTS, serverOf: ({ host }: { host: BookHost }) => serverOfHost(host) };
      const answers = await runPool(waiting, pool, async ({ host, host_id, nonce }) => {
        try {
          const reached = { label: host.label, server: reach(host), host_id };
          await tell(reached, host_id, { signal }, nonce);
          return true;
        } catch (error) {
          const why = messageOf(error);
          const isNews = !(error instanceof RemoteError) || error.refusal !== undefined;
          if (isNews && complaints.get(host_id) !== why) log.warn(`${printable(host.label, 130)}: ${why}`);
          complaints.set(host_id, why);
          return false;
        }
      });
      return answers.filter((hasAnswered) => !hasAnswered).length;
    },
  };
}

/** What hosts say of generations later than that of this desk, which counts where the key of this desk has signed it. */
function createProofs({ log, key, yieldOffice }: Pick<FenceUses, "log" | "key" | "yieldOffice">) {
  let beyond: Beyond | null = null;
  /** @returns whether that host has proved that this desk is over. */
  const heed = ({ label }: Pick<Member, "label">, hostId: string, own: Office, answer: Reply): boolean => {
    const { generation, signature } = answer;
    if (generation <= own.generation) return false;
    if (!isSignedBy(key().publicKey, officeMessage(hostId, { line: own.line, generation }), signature)) {
      log.warn(`${printable(label, 130)} says that this desk was taken over, and has no proof of it`);
      return false;
    }
    if (generation > own.generation + MAX_STEP) {
      if (beyond?.generation !== generation)
        log.warn(
          `${printable(label, 130)} has heard of generation ${generation}, which no standby of this desk can have: somebody has its key`,
        );
      beyond = { host: label, generation };
      return false;
    }
    log.warn(`${printable(label, 130)} has heard that this desk was taken over (generation ${generation})`);
    void yieldOffice({ name: UNNAMED, generation }).catch((error) =>
      log.error(`that this desk was taken over is not noted: ${messageOf(error)}`),
    );
    return true;
  };
  return {
    heed,
    beyond: () => beyond,
    forget() {
      beyond = null;
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
interface Reply {
  readonly generation: number;
  readonly signature: string;
}
