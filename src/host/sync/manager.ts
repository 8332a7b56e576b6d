/**
 * The syncs of this process: each has an engine, an index, and sessions to one host of the address book.
 */
import { createHash, randomUUID } from "node:crypto";
import { opendirSync, realpathSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { type Publish, unheard } from "../../core/events";
import { allows, type Grant } from "../../core/rights";
import { atMost } from "../../lib/at-most";
import {
  badInput,
  busy,
  conflict,
  forbidden,
  messageOf,
  notFound,
  systemCode,
  unavailable,
} from "../../lib/errors";
import { ensurePrivateFolder } from "../../lib/files";
import { inboxFault, namesInside } from "../../lib/inside";
import { tryLock } from "../../lib/lock";
import type { Log } from "../../lib/log";
import { once } from "../../lib/once";
import { foreignOwner } from "../../lib/owner";
import { shortage } from "../../lib/quota";
import { FolderSyncEngine } from "./engine";
import { SYNC_STATE, syncChanged, syncEnded, syncStarted } from "./events";
import { openSentIndex } from "./index-db";
import type { SyncEvent, SyncInfo, SyncRequest } from "./operations";
import { createPeerSender, type Link } from "./sender";

/** How many looks at the folder `once` takes: each file is tried as often, unless it changes meanwhile. */
const ONCE_LOOKS = 4;

/** How many syncs run at once; each has a few files open. Those of a named token leave some to others. */
const RUNNING = { what: "syncs", most: 256, times: 1 };

/** How often the state of a sync is published at most, milliseconds. */
const CHANGES_MS = 500;

/** How long `once` tries to connect, milliseconds. */
const ONCE_GIVE_UP_MS = 30_000;

/** Who wants a sync, and how it reports. */
interface SyncOptions {
  /** The name of the token that started it, and with which it ends; null for the owner of the host. */
  readonly token?: string | null;
  /** In whose share it counts (default: that of the token). */
  readonly share?: string | null;
  /** Reports how many files were sent, with a {@link SyncEvent} as the item. */
  readonly report?: Caller["progress"];
}

interface OpenOptions extends SyncOptions {
  /** How long it tries to connect, milliseconds (default: forever). */
  readonly giveUpMs?: number;
}

interface SyncsOptions {
  readonly configDir: string;
  readonly folder: string;
  /** The inbox, whose files may be sent on. */
  readonly inbox: string;
  readonly log: Log;
  /** How long `once` tries to connect, milliseconds (default {@link ONCE_GIVE_UP_MS}). */
  readonly giveUpMs?: number;
  /** Says what begins, changes and ends (default: to nobody). */
  readonly publish?: Publish;
  /** @throws a `not_found` failure when no host has that label. */
  readonly requireHost: (label: string) => void;
  /** Opens a session that may send what is in the folder. @param client who wants it, and in whose share it counts. */
  readonly connect: (
    label: string,
    folder: string,
    client: { readonly token: string | null; readonly share: string | null },
    signal: AbortSignal,
  ) => Promise<Link & { readonly record: { /** The id of the other host. */ readonly peer: string } }>;
}

/** The syncs of this process. */
export interface Syncs {
  /** Watches the folder until `stop`. @throws as {@link SyncsOptions} says of hosts; `bad_input`, `conflict`, `unavailable`. */
  start(request: SyncRequest, options?: SyncOptions): Promise<SyncInfo>;
  /**
   * Sends what that host does not have; tries each file a few times.
   *
   * @throws as {@link start}; `unavailable` when nothing is new and the host cannot be reached.
   */
  once(request: SyncRequest, options?: SyncOptions, signal?: AbortSignal): Promise<SyncInfo>;
  /** The state with the `files` that `once` would send, as far as the host can be reached. @throws as {@link start}. */
  preview(request: SyncRequest, options?: SyncOptions, signal?: AbortSignal): Promise<SyncInfo>;
  list(): SyncInfo[];
  /** @returns its last state. @throws `not_found`; `forbidden` when another token started it and `by` has no `admin`. */
  stop(id: string, by: Grant): Promise<SyncInfo>;
  /** Stops the syncs of tokens that have ended. @param howEnded `was revoked`; null for a token in force. */
  endRevoked(howEnded: (token: string) => string | null): Promise<void>;
  stopAll(): Promise<void>;
}

export function createSyncs(options: SyncsOptions): Syncs {
  const { log, giveUpMs: onceGivesUpMs = ONCE_GIVE_UP_MS } = options;
  const running: RunningSyncs = new Map();
  const open = (request: SyncRequest, about: OpenOptions) => openSync(options, running, request, about);

  return {
    async start(request, options = {}) {
      const { engine, info, stop, meetHost } = open(request, options);
      try {
        await engine.start({ resume: request.resume });
        if (request.resume) void meetHost();
      } catch (error) {
        await stop();
        throw error;
      }
      return info();
    },
    async once(request, options = {}, signal) {
      const limits = { ...options, giveUpMs: onceGivesUpMs };
      const { engine, info, stop, meetHost, isDone } = open(request, limits);
      signal?.addEventListener("abort", stop, { once: true });
      try {
        await engine.prepare({ resume: true });
        const unmet = await meetHost();
        for (let look = 0; look < ONCE_LOOKS && !signal?.aborted; look++) {
          await engine.tick();
          if (isDone()) break;
        }
        const { pending, error } = info();
        if (unmet && pending === 0 && error === null && !signal?.aborted)
          throw unavailable(`whether ${info().to} still has the files is not known: ${messageOf(unmet)}`);
        return info();
      } finally {
        signal?.removeEventListener("abort", stop);
        await stop();
      }
    },
    async preview(request, options = {}, signal) {
      const { engine, info, stop, meetHost } = open(request, { ...options, giveUpMs: 0 });
      signal?.addEventListener("abort", stop, { once: true });
      try {
        await engine.prepare({ resume: true });
        await meetHost();
        const files = Array.from(await engine.changes(), ([name, { size }]) => ({ name, size }));
        return { ...info(), pending: files.length, files };
      } finally {
        signal?.removeEventListener("abort", stop);
        await stop();
      }
    },
    list: () => Array.from(running.values(), (sync) => sync.info()),
    async stop(id, by) {
      const sync = running.get(id);
      if (!sync) throw notFound(`no sync has the id ${JSON.stringify(id)}`);
      // A run for a token of another host starts none: what the token here has started is not its own.
      const isOwn = sync.token === by.name && !by.limited;
      if (!isOwn && !allows(by, "admin")) {
        const starter = sync.token === null ? "the host's own token" : `the token ${sync.token}`;
        throw forbidden(`${starter} started this sync: to stop it, use that one or a token with admin`);
      }
      await sync.stop();
      return sync.info();
    },
    async endRevoked(howEnded) {
      const stopping = [...running.values()].flatMap((sync) => {
        const how = sync.token === null ? null : howEnded(sync.token);
        if (how === null) return [];
        log.warn(`a sync ends: its token ${sync.token} ${how}`);
        return sync.stop();
      });
      await Promise.all(stopping);
    },
    async stopAll() {
      await Promise.all(Array.from(running.values(), (sync) => sync.stop()));
    },
  };
}

type RunningSyncs = Map<
  string,
  { token: string | null; share: string | null; info(): SyncInfo; stop(): Promise<void> }
>;

/**
 * @throws `bad_input` when the folder cannot be read or holds svc's own files; `conflict` when any process syncs it to that
 *   host already; `not_found` for an unknown host; `unavailable` when too many are {@link RUNNING}.
 */
function openSync(
  { configDir, folder, inbox, log, requireHost, connect, publish = unheard }: SyncsOptions,
  running: RunningSyncs,
  request: SyncRequest,
  { token = null, share = token, report, giveUpMs }: OpenOptions,
) {
  const watch_dir = resolveFolder(request, configDir, inbox);
  /** @throws a `conflict` failure once the path leads elsewhere: whoever put a link there decides no more what is sent. */
  const requireSameFolder = () => {
    if (resolveFolder({ ...request, dir: watch_dir }, configDir, inbox) === watch_dir) return;
    throw conflict(`${JSON.stringify(watch_dir)} is a link now, or below one: start the sync again`);
  };
  const { to } = request;
  requireHost(to);
  const { index, release } = claim({ folder, running, share }, request, watch_dir);
  let isAnew = false;
  const sender = createPeerSender({
    async connect(signal) {
      requireSameFolder();
      const link = await connect(to, watch_dir, { token, share }, signal);
      try {
        // Its process reaches what the path led to when it began.
        requireSameFolder();
        const { peer } = link.record;
        if (engine.sendsTo(peer)) {
          isAnew = true;
          log.warn(`${to} is another host than before (${peer}): svc sends it all files`);
        }
      } catch (error) {
        await link.close(messageOf(error));
        throw error;
      }
      return link;
    },
    log,
    changed: () => changes.call(),
    giveUpMs,
  });
  const emit = (item: SyncEvent) => {
    const { sent, pending } = engine.counts();
    report?.({ what: "files sent", done: sent, total: sent + pending, item });
  };
  const engine = new FolderSyncEngine({
    watch_dir,
    include_subdirs: request.include_subdirs,
    poll_interval_s: request.interval_s,
    index,
    beforeLook: requireSameFolder,
    async sender(path, name) {
      requireSameFolder();
      const { size } = statSync(path);
      await sender.send(path, name, (bytes) => emit({ event: "sending", name, bytes, size }));
    },
    changed: () => changes.call(),
    settled: (name, error) =>
      emit(error === null ? { event: "sent", name } : { event: "failed", name, error }),
  });
  const id = randomUUID();
  const info = (): SyncInfo => ({ id, to, ...sender.status(), ...engine.status() });
  let said = "";
  const changes = atMost(CHANGES_MS, () => {
    const now = v.parse(SYNC_STATE, info());
    const text = JSON.stringify(now);
    if (text !== said) publish(said === "" ? syncStarted : syncChanged, now);
    said = text;
  });
  const stop = once(async () => {
    // Sends end with their connection; the engine waits for them.
    await sender.close();
    await engine.stop();
    index[Symbol.dispose]();
    release();
    running.delete(id);
    changes.end();
    publish(syncEnded, v.parse(SYNC_STATE, info()));
  });
  /**
   * Finds out whether the host is still the one that has what counts as sent: a label may have gone to another.
   *
   * @returns why it cannot be reached; null when it was, or nothing counts as sent.
   */
  const meetHost = async (): Promise<unknown> => {
    if (engine.status().tracked === 0) return null;
    return sender.connect().then(
      () => null,
      (error: unknown) => error,
    );
  };
  /** Whether nothing waits, and the host has not turned out to be another since the last call. */
  const isDone = () => {
    const wasAnew = isAnew;
    isAnew = false;
    return !wasAnew && engine.counts().pending === 0;
  };
  running.set(id, { token, share, info, stop });
  changes.call();
  return { engine, info, stop, meetHost, isDone };
}

/** Takes the place of a sync, and the index of its folder. @throws as {@link openSync}. */
function claim(
  { folder, running, share }: { folder: string; running: RunningSyncs; share: string | null },
  { dir, to }: SyncRequest,
  watch_dir: string,
) {
  const shares = Array.from(running.values(), (sync) => sync.share);
  const full = shortage(RUNNING, shares, share);
  if (full !== undefined) throw busy(full);
  ensurePrivateFolder(folder);
  const key = createHash("sha256").update(`${watch_dir}\n${to}`).digest("hex").slice(0, 24);
  const release = tryLock(join(folder, `${key}.lock`));
  if (!release) throw busy(`${JSON.stringify(dir)} is already being synced to ${to}`, "conflict");
  const index = openIndex(join(folder, `${key}.db`), release);
  return { index, release };
}

/** @throws an `unavailable` failure when it cannot be opened, after calling `release`. */
function openIndex(path: string, release: () => void) {
  try {
    return openSentIndex(path);
  } catch (error) {
    release();
    const why = `sync/${basename(path)}: ${messageOf(error)}`;
    throw unavailable(`the record of sent files cannot be read (${why})`);
  }
}

/** The folder, with links resolved. Syncing must not give away the tokens and bundles in `{config_dir}`. */
function resolveFolder({ dir, include_subdirs }: SyncRequest, configDir: string, inbox: string): string {
  const named = JSON.stringify(dir);
  let folder: string;
  try {
    folder = realpathSync(dir);
    opendirSync(folder).closeSync();
  } catch (error) {
    if (systemCode(error) === "ENOTDIR") throw badInput(`dir: ${named} is not a folder`);
    throw badInput(`dir: ${named} cannot be read (${systemCode(error) ?? messageOf(error)})`);
  }
  const uid = foreignOwner(resolve(dir))?.uid;
  if (uid) throw badInput(`dir: ${named} belongs to uid ${uid}: run svc as that user, not as root`);
  const mayLeave = inboxFault(inbox, configDir) === null && namesInside(folder, inbox) !== null;
  if (namesInside(folder, configDir) !== null && !mayLeave)
    throw badInput(`dir: ${named} holds svc's own files`);
  if (include_subdirs && namesInside(configDir, folder) !== null)
    throw badInput(`dir: svc's own files are below ${named}`);
  return folder;
}
