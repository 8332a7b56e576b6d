/**
 * The recordings of this host's screen: one at a time, each a file of a bounded size.
 *
 * Promise: those in svc's own folder are bounded in number, and a new one removes only an older one of the same maker. Who made one is
 * in its name.
 */
import { readdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import type { Publish } from "../../../../core/events";
import type { Origin } from "../../../../core/rights";
import { conflict, forbidden, messageOf, notFound, tooMany, unavailable } from "../../../../lib/errors";
import { ensurePrivateFolder, unlessMissing, writeNamedFile } from "../../../../lib/files";
import type { Log } from "../../../../lib/log";
import { lookThrough } from "../../../../lib/look";
import { shortage } from "../../../../lib/quota";
import { RECORDED, type RecordingCalls, type RecordingOptions, type RecordingResult } from "./calls";
import { recordingEnded, recordingStarted } from "./events";

/** How many recordings are kept in svc's own folder: of the owner of the host, and of all tokens, which leave some to others. */
const KEPT = { what: "kept recordings", most: 20, times: 1 };
/** What those of tokens leave free on the disk, in bytes, as files of peers do: without room, no row of the audit log can be written. */
const MIN_FREE = 1_000_000_000;
/** The smallest size that one may be limited to, in bytes. */
const LEAST_BYTES = 1_048_576;
/** When it began, in UTC, and after `~` the name of the token that made it: no name has a `~`. Without one, it is the owner's. */
const NAME = /^screen-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z(?:-\d+)?(?:~([A-Za-z0-9._-]*))?\.webm$/;
/** The maker of those that the owner has asked for with a scope. No token has this name. */
const WITH_SCOPE = "";

/** A recording that goes on or has ended. */
export const RECORDING = v.object({
  /** In svc's own folder; null where a file was named. */
  name: v.nullable(v.string()),
  file_path: v.string(),
  started_at: v.string(),
  /** The token that started it; null for the host's own. */
  token: v.nullable(v.string()),
  /** Null while it goes on. */
  result: v.nullable(RECORDED),
});
type Recording = v.InferOutput<typeof RECORDING>;

/** What recordings need of the service. */
interface RecordingsParts {
  /** `{config_dir}/recordings`; made by the first one. */
  readonly folder: string;
  desktop(name?: string): Promise<RecordingCalls & { screenSize(): Promise<unknown> }>;
  readonly publish: Publish;
  readonly log: Log;
  /** How many bytes of the disk of a folder are free (default: as the system says). */
  readonly freeBytes?: (folder: string) => number;
}

interface RecordingRequest extends Omit<RecordingOptions, "file"> {
  /** The name of one on demand; undefined for that of the host. */
  readonly desktop?: string | undefined;
  /** Undefined for one in svc's own folder. */
  readonly file: string | undefined;
  readonly token: string | null;
  /** In whose share it counts (`shareOf`). */
  readonly share: string | null;
  /** The run that starts it; null without one. */
  readonly run: string | null;
}

/** Who made a recording, when, and in which run where it still goes on. */
interface RecordingOrigin extends Origin {
  readonly run: string | null;
}

/** Whether somebody may use a recording. */
export type MayUse = (origin: RecordingOrigin) => boolean;

/** A recording that is kept. */
export const KEPT_RECORDING = v.object({
  name: v.string(),
  file_path: v.string(),
  bytes: v.number(),
  /** The token that made it; null for the host's own. */
  token: v.nullable(v.string()),
});

type KeptRecording = Readonly<v.InferOutput<typeof KEPT_RECORDING>>;

/** The recordings of this host. */
export interface Recordings {
  /** The one that goes on; null while there is none that may be used. */
  current(mayUse: MayUse): Recording | null;
  /**
   * Starts to record.
   *
   * @throws `conflict` while another one goes on; `bad_input` for a file that cannot be written; `too_many` where other tokens have
   *   all that are kept; `unavailable` without a display.
   */
  start(request: RecordingRequest, mayUse: MayUse): Promise<Recording>;
  /** Ends the one that goes on. @throws `not_found` when there is none; `forbidden` when it may not be used. */
  stop(mayUse: MayUse): Promise<Recording>;
  /** Those in svc's own folder that may be used, newest first. */
  list(mayUse: MayUse): KeptRecording[];
  /** The path of one of {@link list}. @throws `not_found`. */
  fileOf(name: string, mayUse: MayUse): string;
  /** Ends the one that a token started that is of no use any more. */
  endRevoked(howEnded: (token: string) => string | null): Promise<void>;
  /** Completes the file of the one that goes on. */
  stopAll(): Promise<void>;
}

const freeOn = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
};

export function createRecordings({
  folder,
  desktop,
  publish,
  log,
  freeBytes = freeOn,
}: RecordingsParts): Recordings {
  let current:
    | {
        readonly about: Recording;
        readonly over: Promise<Recording>;
        readonly origin: RecordingOrigin;
        readonly screen: Pick<RecordingCalls, "stopRecording">;
      }
    | undefined;
  let isStarting = false;

  const follow = (about: Recording, recording: Promise<RecordingResult>) =>
    recording
      .catch((error): RecordingResult => failed(messageOf(error)))
      .then((result) => {
        current = undefined;
        const { file_path, token } = about;
        const { ended, error, seconds, bytes } = result;
        if (error !== null) log.warn(`the recording of the screen to ${file_path} failed: ${error}`);
        publish(recordingEnded, { file_path, token, ended, error, seconds, bytes });
        return { ...about, result };
      });

  const end = async (ending: NonNullable<typeof current>): Promise<Recording> => {
    await ending.screen.stopRecording();
    return ending.over;
  };

  return {
    current: (mayUse) => (current && mayUse(current.origin) ? current.about : null),
    async start({ file, token, share, run, desktop: which, ...limits }, mayUse) {
      if (current || isStarting) {
        const where = current && mayUse(current.origin) ? `, to ${current.about.file_path}` : "";
        throw conflict(`the screen is being recorded already${where}`);
      }
      isStarting = true;
      try {
        const screen = await desktop(which);
        await screen.screenSize();
        const started_at = new Date().toISOString();
        const maker = token ?? (share === null ? null : WITH_SCOPE);
        const name = file === undefined ? makeRoom(folder, started_at, maker) : null;
        const maxBytes = share === null ? limits.maxBytes : withinDisk(limits.maxBytes, freeBytes(folder));
        const file_path = file ?? join(folder, name ?? "");
        writeNamedFile(file_path, "", "file_path");
        const about: Recording = { name, file_path, started_at, token, result: null };
        const origin = { maker: share, created: Date.parse(started_at), run };
        const over = follow(about, screen.record({ ...limits, maxBytes, file: file_path }));
        current = { about, origin, over, screen };
        publish(recordingStarted, { file_path, token });
        return about;
      } finally {
        isStarting = false;
      }
    },
    async stop(mayUse) {
      if (!current) throw notFound("the screen is not being recorded");
      if (!mayUse(current.origin)) throw forbidden("the recording of somebody else is ended with operate");
      return end(current);
    },
    list: (mayUse) =>
      namesIn(folder)
        .filter((name) => mayUse(originIn(name)))
        .map((name) => {
          const file_path = join(folder, name);
          return { name, file_path, bytes: sizeOf(file_path), token: originIn(name).maker || null };
        }),
    fileOf(name, mayUse) {
      if (!namesIn(folder).includes(name) || !mayUse(originIn(name)))
        throw notFound(`no recording ${name} is kept`);
      return join(folder, name);
    },
    async endRevoked(howEnded) {
      const token = current?.about.token ?? null;
      if (current && token !== null && howEnded(token) !== null) await end(current);
    },
    async stopAll() {
      if (current) await end(current).catch(() => {});
    },
  };
}

/** How large a recording of a token may be. @throws `unavailable` where the disk has no room for one. */
function withinDisk(maxBytes: number, free: number): number {
  const room = free - MIN_FREE;
  if (room >= Math.min(maxBytes, LEAST_BYTES)) return Math.min(maxBytes, room);
  throw unavailable(`the disk is almost full: recordings of tokens leave ${MIN_FREE / 1e9} GB of it free`);
}

const failed = (error: string): RecordingResult => ({
  ended: "failed",
  error,
  seconds: 0,
  pictures: 0,
  bytes: 0,
  width: 0,
  height: 0,
});

/**
 * Removes the oldest ones of the same maker.
 *
 * @returns the name of a new one.
 * @throws a `too_many` failure where the maker has none, and others have all.
 */
function makeRoom(folder: string, started_at: string, maker: string | null): string {
  ensurePrivateFolder(folder);
  const names = namesIn(folder).filter((name) => (originIn(name).maker === null) === (maker === null));
  const own = names.filter((name) => originIn(name).maker === maker);
  const makers = names.map((name) => originIn(name).maker);
  for (;;) {
    const reason = shortage(
      KEPT,
      makers,
      maker,
      maker === WITH_SCOPE ? "the owner, with a scope," : undefined,
    );
    if (reason === undefined) break;
    const oldest = own.pop();
    if (oldest === undefined) throw tooMany(reason);
    rmSync(join(folder, oldest), { force: true });
    makers.splice(makers.indexOf(maker), 1);
  }
  const base = `screen-${started_at.replace(/\.\d+/, "").replaceAll(/[-:]/g, "")}`;
  const end = maker === null ? "" : `~${maker}`;
  const taken = new Set(namesIn(folder));
  for (let nth = 1; ; nth++) {
    const name = `${base}${nth === 1 ? "" : `-${nth}`}${end}.webm`;
    if (!taken.has(name)) return name;
  }
}

/** Who made the recording with this name, and when: the end of the second that is in the name. */
function originIn(name: string): RecordingOrigin {
  const [, year, month, day, hour, minute, second, maker] = NAME.exec(name) ?? [];
  const created = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.999Z`);
  return { maker: maker ?? null, created, run: null };
}

/** Newest first: their names begin with their times. */
function namesIn(folder: string): string[] {
  const names = unlessMissing(() => readdirSync(folder)) ?? [];
  return names
    .filter((name) => NAME.test(name))
    .toSorted()
    .toReversed();
}

const sizeOf = (path: string): number => lookThrough(path)?.size ?? 0;
