/**
 * The recordings of this host's screen: one at a time, each a file of a bounded size.
 *
 * Promise: those in svc's own folder take a bounded amount of the disk; the oldest go first.
 */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import type { Publish } from "../../../core/events";
import { conflict, messageOf, notFound, systemCode } from "../../../lib/errors";
import { ensurePrivateFolder, writeNamedFile } from "../../../lib/files";
import type { Log } from "../../../lib/log";
import { lookThrough } from "../../../lib/look";
import { RECORDED, type Recorded, type RecordingOptions } from "./calls";
import { recordingEnded, recordingStarted } from "./events";

/** How many recordings are kept in svc's own folder. */
const MAX_KEPT = 20;
const NAME = /^screen-[0-9TZ]{16}(?:-\d+)?\.webm$/;

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
export type Recording = v.InferOutput<typeof RECORDING>;

export interface RecordingsParts {
  /** `{config_dir}/recordings`; made by the first one. */
  readonly folder: string;
  desktop(): Promise<{
    screenSize(): Promise<unknown>;
    record(options: RecordingOptions): Promise<Recorded>;
    stopRecording(): Promise<void>;
  }>;
  readonly publish: Publish;
  readonly log: Log;
}

export interface RecordingRequest extends Omit<RecordingOptions, "file"> {
  /** Undefined for one in svc's own folder. */
  readonly file: string | undefined;
  readonly token: string | null;
}

export type Recordings = ReturnType<typeof createRecordings>;

export function createRecordings({ folder, desktop, publish, log }: RecordingsParts) {
  let current: { readonly about: Recording; readonly over: Promise<Recording> } | undefined;
  let isStarting = false;

  const follow = (about: Recording, recording: Promise<Recorded>) =>
    recording
      .catch((error): Recorded => failed(messageOf(error)))
      .then((result) => {
        current = undefined;
        const { file_path, token } = about;
        const { ended, error, seconds, bytes } = result;
        if (error !== null) log.warn(`the recording of the screen to ${file_path} failed: ${error}`);
        publish(recordingEnded, { file_path, token, ended, error, seconds, bytes });
        return { ...about, result };
      });

  const recordings = {
    /** The one that goes on; null while there is none. */
    current: (): Recording | null => current?.about ?? null,
    /**
     * Starts to record.
     *
     * @throws `conflict` while another one goes on; `bad_input` for a file that cannot be written; `unavailable` without a
     *   display.
     */
    async start({ file, token, ...limits }: RecordingRequest): Promise<Recording> {
      if (current || isStarting) {
        throw conflict(
          `the screen is being recorded already${current ? `, to ${current.about.file_path}` : ""}`,
        );
      }
      isStarting = true;
      try {
        const screen = await desktop();
        await screen.screenSize();
        const started_at = new Date().toISOString();
        const name = file === undefined ? makeRoom(folder, started_at) : null;
        const file_path = file ?? join(folder, name ?? "");
        writeNamedFile(file_path, "", "file_path");
        const about: Recording = { name, file_path, started_at, token, result: null };
        current = { about, over: follow(about, screen.record({ ...limits, file: file_path })) };
        publish(recordingStarted, { file_path, token });
        return about;
      } finally {
        isStarting = false;
      }
    },
    /** Ends the one that goes on. @throws `not_found` when there is none. */
    async stop(): Promise<Recording> {
      const ending = current;
      if (!ending) throw notFound("the screen is not being recorded");
      await (await desktop()).stopRecording();
      return ending.over;
    },
    /** Those in svc's own folder, newest first. */
    list: () =>
      namesIn(folder).map((name) => ({
        name,
        file_path: join(folder, name),
        bytes: sizeOf(join(folder, name)),
      })),
    /** The path of one of {@link list}. @throws `not_found`. */
    fileOf(name: string): string {
      if (!namesIn(folder).includes(name)) throw notFound(`no recording ${name} is kept`);
      return join(folder, name);
    },
    /** Ends the one that a token started that is of no use any more. */
    async endRevoked(howEnded: (token: string) => string | null): Promise<void> {
      const token = current?.about.token ?? null;
      if (token !== null && howEnded(token) !== null) await recordings.stop();
    },
    /** Completes the file of the one that goes on. */
    async stopAll(): Promise<void> {
      if (current) await recordings.stop().catch(() => {});
    },
  };
  return recordings;
}

const failed = (error: string): Recorded => ({
  ...{ ended: "failed", error, seconds: 0, pictures: 0, bytes: 0, width: 0, height: 0 },
});

/** Removes the oldest ones. @returns the name of a new one. */
function makeRoom(folder: string, started_at: string): string {
  ensurePrivateFolder(folder);
  for (const name of namesIn(folder).slice(MAX_KEPT - 1)) rmSync(join(folder, name), { force: true });
  const base = `screen-${started_at.replace(/\.\d+/, "").replaceAll(/[-:]/g, "")}`;
  const taken = new Set(namesIn(folder));
  for (let nth = 1; ; nth++) {
    const name = nth === 1 ? `${base}.webm` : `${base}-${nth}.webm`;
    if (!taken.has(name)) return name;
  }
}

/** Newest first: their names begin with their times. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => NAME.test(name))
      .toSorted()
      .toReversed();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

const sizeOf = (path: string): number => lookThrough(path)?.size ?? 0;
