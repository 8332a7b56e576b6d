/**
 * What plans know of the fence between generations of a desk (`join/standby/fence.ts`): which desk a request is of, and that the host
 * refuses it as one of a desk that was taken over.
 */
import { RemoteError } from "../../client/carrier";
import type { DeliverOptions, Target } from "../../wire/job/job";
import { type Office, TAKEN_OVER } from "../../wire/join/office";

/** For whom a host is asked, and until when. */
type AskOptions = Pick<DeliverOptions, "signal" | "client">;

/** What hosts know of this desk. */
export interface DeskFence {
  /**
   * Which desk jobs for this host say that they are of, after the host has heard; undefined where they say nothing.
   *
   * @throws a {@link RemoteError}, as one before anything was sent.
   */
  officeFor(target: Target, asking: AskOptions): Promise<Office | undefined>;
  /**
   * Whether that host proves that another machine has taken this desk over.
   *
   * @throws a {@link RemoteError} where it does not say.
   */
  isOver(target: Target, asking: AskOptions): Promise<boolean>;
  /** Forgets that the host takes it which desk a job is of. */
  forget(target: Target): void;
}

/** A desk that nobody has taken over, and that has taken over from none. */
export const NO_FENCE: DeskFence = {
  officeFor: async () => undefined,
  isOver: async () => false,
  forget() {},
};

/** Whether the host has refused a job as one of a desk that was taken over. */
export const isOfFormerDesk = ({ refusal }: RemoteError): boolean => refusal?.code === TAKEN_OVER;

/**
 * Makes a request that says which desk it is of; without that once more, where the host has gone back to an earlier svc, which does not
 * understand it.
 *
 * @throws as {@link DeskFence.officeFor}, and what `request` throws.
 */
export async function ofThisDesk<T>(
  fence: DeskFence,
  target: Target,
  asking: AskOptions,
  request: (office: Office | undefined) => Promise<T>,
): Promise<T> {
  const office = await fence.officeFor(target, asking);
  try {
    return await request(office);
  } catch (error) {
    if (office === undefined || !isMisread(error)) throw error;
    fence.forget(target);
    if ((await fence.officeFor(target, asking)) !== undefined) throw error;
    return request(undefined);
  }
}

const isMisread = (error: unknown): boolean =>
  error instanceof RemoteError &&
  error.refusal?.status === 400 &&
  error.refusal.error.startsWith("envelope:");

/** Has this desk take note of a host that refuses a job as one of a desk that was taken over. @returns whether that is proved. */
export async function heeds(
  fence: DeskFence,
  target: Target,
  asking: AskOptions,
  error: RemoteError,
): Promise<boolean> {
  if (!isOfFormerDesk(error)) return false;
  try {
    return await fence.isOver(target, asking);
  } catch (fault) {
    if (fault instanceof RemoteError) return false;
    throw fault;
  }
}
