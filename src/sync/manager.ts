/**
 * The folder syncs of this process: an engine each, over sessions to a host of the address book.
 */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, opendirSync, realpathSync, statSync } from "node:fs";
import { basename, join, sep } from "node:path";
import { badInput, conflict, messageOf, notFound, systemCode, unavailable } from "../lib/errors";
import { ensurePrivateFolder } from "../lib/files";
import { tryLock } from "../lib/lock";
import type { Log } from "../lib/log";
import { FolderSyncEngine, type SyncStatus } from "./engine";
import { openSentIndex } from "./index-db";
import { createPeerSender, type Link } from "./sender";

/** How often the folder is looked at when it is sent once: with the back-off, a file is tried three times in four. */
const ONCE_LOOKS = 4;

/** How long a connection is tried for when the folder is sent once, milliseconds. */
const ONCE_GIVE_UP_MS = 30_000;

export interface SyncRequest {
  readonly dir: string;
  /** The label of a host of the address book. */
  readonly to: string;
  readonly include_subdirs: boolean;
  readonly poll_interval_s: number;
  /** Send what changed since the last sync of this folder to this host; else only what changes from now on. */
  readonly resume: boolean;
}

/** What becomes of the files, as it happens. */
export interface SyncEvents {
  /** Called once the sync is under way, with what tells how it stands. */
  readonly started?: (info: () => SyncInfo) => void;
  /** @param bytes how many of the file's `size` have been sent. */
  readonly progress?: (name: string, bytes: number, size: number) => void;
  readonly sent?: (name: string) => void;
  readonly failed?: (name: string, error: string) => void;
}

export interface SyncInfo extends SyncStatus {
  readonly id: string;
  readonly to: string;
  readonly connected: boolean;
  /** Why there is no connection, when there should be one. */
  readonly connection_error: string | null;
}

export interface Sync {
  info(): SyncInfo;
  stop(): Promise<void>;
}

export interface Syncs {
  /**
   * Watches the folder until it is stopped.
   *
   * @throws `bad_input` when the folder cannot be read or holds svc's own files; `conflict` when it is being synced to
   *   that host already, in whatever process; `not_found` for an unknown host.
   */
  start(request: SyncRequest, events?: SyncEvents): Promise<Sync>;
  /** Sends what changed since the last sync; each file is tried a few times. @throws as {@link start}. */
  once(request: SyncRequest, events?: SyncEvents): Promise<SyncInfo>;
  /** The names and sizes that {@link once} would send. @throws as {@link start}. */
  changes(request: SyncRequest): Promise<Array<{ name: string; size: number }>>;
  list(): SyncInfo[];
  /** @throws a `not_found` failure. */
  stop(id: string): Promise<SyncInfo>;
  stopAll(): Promise<void>;
}

export interface SyncsOptions {
  readonly configDir: string;
  /** Where the indexes are kept. */
  readonly folder: string;
  /** Whose files may be sent on. */
  readonly inbox: string;
  readonly log: Log;
  /** @throws a `not_found` failure when no host has that label. */
  readonly requireHost: (label: string) => Promise<void>;
  readonly connect: (label: string, signal: AbortSignal) => Promise<Link>;
}

export function createSyncs({ configDir, folder, inbox, log, requireHost, connect }: SyncsOptions): Syncs {
  const running = new Map<string, Sync>();

  const open = async (request: SyncRequest, events: SyncEvents, giveUpMs = Number.POSITIVE_INFINITY) => {
    const watch_dir = resolveFolder(request, { configDir, inbox });
    await requireHost(request.to);
    ensurePrivateFolder(folder);
    const key = createHash("sha256").update(`${watch_dir}\n${request.to}`).digest("hex").slice(0, 24);
    const release = tryLock(join(folder, `${key}.lock`));
    if (!release) throw conflict(`${JSON.stringify(request.dir)} is being synced to ${request.to} already`);
    const index = openIndex(join(folder, `${key}.db`), release);
    const peer = createPeerSender({ connect: (signal) => connect(request.to, signal), log, giveUpMs });
    const engine = new FolderSyncEngine({
      watch_dir,
      include_subdirs: request.include_subdirs,
      poll_interval_s: request.poll_interval_s,
      index,
      async sender(path, name) {
        try {
          const { size } = statSync(path);
          await peer.send(path, name, (bytes) => events.progress?.(name, bytes, size));
          events.sent?.(name);
        } catch (error) {
          events.failed?.(name, messageOf(error));
          throw error;
        }
      },
    });
    const id = randomUUID();
    const info = (): SyncInfo => ({
      id,
      to: request.to,
      connected: peer.connected,
      connection_error: peer.error,
      ...engine.status(),
    });
    const stop = async () => {
      // Sends end with their connection; the engine waits for them.
      await peer.close();
      await engine.stop();
      index[Symbol.dispose]();
      release();
      running.delete(id);
    };
    running.set(id, { info, stop });
    events.started?.(info);
    return { engine, info, stop };
  };

  return {
    async start(request, events = {}) {
      const sync = await open(request, events);
      try {
        await sync.engine.start({ resume: request.resume });
      } catch (error) {
        await sync.stop();
        throw error;
      }
      return sync;
    },
    async once(request, events = {}) {
      const { engine, info, stop } = await open(request, events, ONCE_GIVE_UP_MS);
      try {
        await engine.prepare({ resume: true });
        for (let look = 0; look < ONCE_LOOKS; look++) {
          await engine.tick();
          if (engine.status().pending === 0) break;
        }
        return info();
      } finally {
        await stop();
      }
    },
    async changes(request) {
      const { engine, stop } = await open(request, {});
      try {
        await engine.prepare({ resume: true });
        return Array.from(await engine.changes(), ([name, { size }]) => ({ name, size }));
      } finally {
        await stop();
      }
    },
    list: () => Array.from(running.values(), (sync) => sync.info()),
    async stop(id) {
      const sync = running.get(id);
      if (!sync) throw notFound(`no sync has the id ${JSON.stringify(id)}`);
      await sync.stop();
      return sync.info();
    },
    async stopAll() {
      await Promise.all(Array.from(running.values(), (sync) => sync.stop()));
    },
  };
}

/** @throws an `unavailable` failure when it cannot be opened; the lock is then `release`d. */
function openIndex(path: string, release: () => void) {
  try {
    return openSentIndex(path);
  } catch (error) {
    release();
    const name = basename(path);
    throw unavailable(`what was sent so far cannot be read (sync/${name}: ${messageOf(error)})`);
  }
}

/** The folder, links resolved. It must not give away what `{config_dir}` holds: tokens, and others' bundles. */
function resolveFolder(
  { dir, include_subdirs }: SyncRequest,
  { configDir, inbox }: { configDir: string; inbox: string },
): string {
  let folder: string;
  try {
    folder = realpathSync(dir);
    opendirSync(folder).closeSync();
  } catch (error) {
    if (systemCode(error) === "ENOTDIR") throw badInput(`dir: ${JSON.stringify(dir)} is no folder`);
    throw badInput(`dir: ${JSON.stringify(dir)} cannot be read (${systemCode(error) ?? messageOf(error)})`);
  }
  const within = (path: string, parent: string) => path === parent || path.startsWith(join(parent, sep));
  const real = (path: string) => (existsSync(path) ? realpathSync(path) : path);
  const [own, received] = [real(configDir), real(inbox)];
  if (within(folder, own) && !within(folder, received))
    throw badInput(`dir: ${JSON.stringify(dir)} holds svc's own files`);
  if (include_subdirs && within(own, folder))
    throw badInput(`dir: svc's own files are below ${JSON.stringify(dir)}`);
  return folder;
}
