/**
 * The way of a file to a host before the job that upgrades it: in pieces, until the host has it whole.
 *
 * Promises. What a host has of a file is never sent again. No piece is sent while the plan does not run. Some hosts at a time get their
 * file; the others wait, and hold up no other plan. A host has its place only while pieces come to it, and not for ever, whatever it
 * answers.
 */
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { RemoteError } from "../../../client/carrier";
import { jitter } from "../../../lib/backoff";
import { sleep } from "../../../lib/deadline";
import { messageOf, systemCode } from "../../../lib/errors";
import { serverOver } from "../../../lib/per-server";
import type { SigningKey } from "../../../trust/identity";
import { seal } from "../../../wire/job/envelope";
import type { DeliverOptions, Job, JobResult, JobState, Target } from "../../../wire/job/job";
import type { Office } from "../../../wire/join/office";
import { binaryFor, isNoNews, type ReleasedBinary } from "../../../wire/release/released-binary";
import { PIECE_BYTES } from "../../../wire/release/upgrade-messages";
import { type DeskFence, heeds, isOfFormerDesk, NO_FENCE, ofThisDesk } from "../desk-fence";
import { BusyError, isOffline, TooOldError, type UpgradeRequests } from "./ask";
import { createUploadPlaces } from "./upload-places";

/** How many hosts get their file at a time: each takes some megabytes of memory, and its share of the network. */
const AT_ONCE = 16;

/** The pauses after the first, second … request in a row that was lost or answered wrongly, in milliseconds. */
const AGAIN_MS = [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000];

/** How long a host that wants to be asked later keeps its place, and how long it is waited for at most, in milliseconds. */
const SOON_MS = 5_000;
const LATER_MS = 60_000;

/** How long a host that has to do with another file, or another upgrade, is waited for, in milliseconds. */
const OCCUPIED_MS = 240_000;

/** How long a host keeps its place where others wait, and how long it may take in all places together, in milliseconds. */
const PLACE_MS = 10 * 60_000;
const TRANSFER_MS = 2 * 3_600_000;

export interface UploadParts {
  /** The desk's key for jobs. */
  key(): SigningKey;
  /** Where the files are, each under its SHA-256. */
  readonly folder: string;
  /** What hosts know of this desk (default: nothing). */
  readonly fence?: DeskFence;
  /** How many hosts get their file at a time, and the pauses, for tests. */
  readonly atOnce?: number;
  readonly againMs?: readonly number[];
  readonly occupiedMs?: number;
  readonly placeMs?: number;
  readonly transferMs?: number;
}

interface UploadRequest {
  readonly target: Target;
  readonly job: Job;
  readonly files: readonly ReleasedBinary[];
  readonly options: DeliverOptions;
  readonly asking: UpgradeRequests;
  end(state: JobState, delivered: boolean, error?: string): JobResult;
}

/** @returns a function that sends the file until the host has it: why it does not get it; undefined once it has. */
export function createUpload({
  key,
  folder,
  fence = NO_FENCE,
  atOnce = AT_ONCE,
  againMs = AGAIN_MS,
  occupiedMs = OCCUPIED_MS,
  placeMs = PLACE_MS,
  transferMs = TRANSFER_MS,
}: UploadParts) {
  const placeOf = createUploadPlaces(atOnce);
  return async ({
    target,
    job,
    files,
    options,
    asking,
    end,
  }: UploadRequest): Promise<JobResult | undefined> => {
    const { signal, idle, maySend = () => true } = options;
    const aboutBy = aboutOf(target, job, key);
    const place = placeOf(serverOver(target.server.url));
    let handle: FileHandle | undefined;
    let file: ReleasedBinary | undefined;
    /** How far the host says that the file has come; below 0 where it has to be asked. */
    let received = -1;
    let furthest = 0;
    let faults = 0;
    let busyUntil = 0;
    try {
      for (;;) {
        if (signal.aborted) return end("offline", false, "cancelled");
        if (!maySend()) return end("unseen", false, "not sent");
        if (Date.now() >= Date.parse(job.expires)) return end("expired", false, `expired at ${job.expires}`);
        if (place.totalMs() > transferMs)
          return end("offline", false, `its file has not come within ${transferMs / 60_000} min`);
        const isHeard = file !== undefined;
        try {
          if (!file || received < 0) {
            place.leave();
            const { version, target: has, refusal, incoming, last: known } = await asking.status();
            // It takes time from here on.
            idle?.();
            file = binaryFor(files, has);
            if (!file)
              return end("refused", false, `the plan has no file for ${has}, the target of this host`);
            // It may have been upgraded by the job whose answer was lost, or by hand.
            if (known?.id === job.id) return undefined;
            if (isNoNews(file, version)) return end("ok", false);
            if (refusal !== null) return end("refused", false, refusal);
            if (known?.ok === null) throw occupied(`an upgrade to ${known.to} is under way on this host`);
            const isSame = incoming?.sha256 === file.sha256;
            if (isSame && incoming.complete) return undefined;
            received = isSame ? incoming.received : 0;
            if (received > file.size) throw oddly();
          }
          if (await place.take(signal)) continue;
          handle ??= await open(join(folder, file.sha256));
          const buffer = Buffer.alloc(Math.min(PIECE_BYTES, file.size - received));
          const { bytesRead } = await handle.read(buffer, 0, buffer.length, received);
          if (bytesRead < buffer.length) throw new Error("it is too short");
          const data = buffer.toString("base64");
          const answer = await ofThisDesk(fence, target, options, (office) =>
            asking.send(`${aboutBy(office)},"offset":${received},"data":"${data}"}`),
          );
          if (answer.complete) return undefined;
          // A host that has all of it says that it is complete.
          if (bytesRead === 0 || answer.received < received + bytesRead || answer.received > file.size)
            throw oddly();
          received = answer.received;
          if (place.heldMs() > placeMs) place.leave();
          if (received > furthest) [furthest, faults, busyUntil] = [received, 0, 0];
        } catch (error) {
          if (error instanceof TooOldError) return end("refused", false, error.message);
          if (!(error instanceof RemoteError)) return end("failed", false, unreadable(error, file));
          await heeds(fence, target, options, error);
          const isOccupied = error.refusal?.status === OCCUPIED && !isOfFormerDesk(error);
          // One that was not heard by the host, nor asked about the job, comes later.
          if (!isOccupied && error.sent && !isOffline(error)) return end("refused", false, error.message);
          // As any other job, it does not wait for a host that is not there.
          if (!isOccupied && (!isHeard || error.fault === "cancelled"))
            return end("offline", false, error.message);
          if (isOccupied) busyUntil ||= performance.now() + occupiedMs;
          const isPatient = isOccupied && performance.now() < busyUntil;
          const ms = againMs[faults++] ?? (isPatient ? againMs.at(-1) : undefined);
          if (ms === undefined) return end(isOccupied ? "refused" : "offline", false, error.message);
          const askedMs = error instanceof BusyError ? Math.min(error.ms, LATER_MS) : 0;
          // One that is only asked less often stays where it is.
          if (askedMs === 0 || askedMs > SOON_MS) {
            place.leave();
            received = -1;
          }
          await sleep(Math.max(askedMs, jitter(ms)), signal).catch(() => {});
        }
      }
    } finally {
      place.leave();
      await handle?.close();
    }
  };
}

/** @returns what says the job as one of that desk, JSON without the brace at its end: the same for each piece. */
function aboutOf({ host_id }: Target, job: Job, key: UploadParts["key"]) {
  const signer = host_id === null ? null : key();
  let last: { readonly about: string; readonly by: string } | undefined;
  return (office: Office | undefined) => {
    const by = JSON.stringify(office ?? null);
    if (last?.by !== by) {
      const sealed = seal(job, "execute", host_id, signer, office);
      last = { about: JSON.stringify({ ...sealed, content: job.content }).slice(0, -1), by };
    }
    return last.about;
  };
}

/** What a host answers that takes no file now, since it has to do with another one. */
const OCCUPIED = 409;

const occupied = (error: string) => new RemoteError("answer", error, true, { status: OCCUPIED, error });

const oddly = () => new RemoteError("answer", "it does not say how far its file has come", true);

/** Why no piece of the file was read. A desk that has taken over the plan of another one has none of its files. */
function unreadable(error: unknown, file: ReleasedBinary | undefined): string {
  if (file && systemCode(error) === "ENOENT")
    return `svc ${file.version} for ${file.target} is not on this desk: copy releases/${file.sha256} from the configuration folder of the desk that made the plan and repeat it, or make a new plan`;
  return `the file cannot be read on this desk (${systemCode(error) ?? messageOf(error)})`;
}
