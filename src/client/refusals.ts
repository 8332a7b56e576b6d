/**
 * The tokens that other servers have refused. Each is not sent again for {@link REMEMBERED_MS}: eight wrong tokens in a minute
 * lock this machine out of a host.
 *
 * The promise: all processes on one `{config_dir}` know the same refusals, by a hash of address and token. Where two of them write in the
 * same moment, or the file cannot be written, a process knows its own: others send such a token once more. The file holds no token.
 */
import { createHash } from "node:crypto";
import { dirname } from "node:path";
import * as v from "valibot";
import { ensurePrivateFolder, fileStamp, writeFileAtomic } from "../lib/files";
import { jsonFileToChange } from "../lib/json-file";
import { orElse } from "../lib/or-else";
import type { RemoteServer } from "./carrier";

/** How long a refusal counts, in milliseconds. */
const REMEMBERED_MS = 10 * 60_000;

/** The most refusals in the file; the newest stay. */
const MAX_REMEMBERED = 10_000;

/** How long refusals are collected before they are written, in milliseconds: those of a poll come at once. */
const COLLECT_MS = 10;

/** The tokens that servers have refused lately. */
export interface Refusals {
  /** Whether `server` refused this token lately. */
  has(server: Endpoint): boolean;
  /** Remembers that `server` refused its token. Never throws. */
  add(server: Endpoint): Promise<void>;
  /** Lets the tokens of `servers` be sent again. Never throws. */
  forget(servers: readonly Endpoint[]): Promise<void>;
}

/** Where a token is sent, and the token. */
type Endpoint = Pick<RemoteServer, "url" | "token">;

/** The time of each refusal, by its key. */
const FILE = v.record(v.string(), v.number());

/** Nothing is made before the first refusal. */
export function createRefusals(file: string): Refusals {
  let known = { stamp: "", times: new Map<string, number>() };
  /** What is not in the file yet: the time of a refusal, or undefined for one to forget. */
  const changes = new Map<string, number | undefined>();
  let writing: Promise<void> | undefined;

  const read = () => {
    const stamp = fileStamp(file);
    if (stamp !== known.stamp) known = { stamp, times: timesIn(file) };
    return known.times;
  };
  const timeOf = (key: string) =>
    changes.has(key) ? changes.get(key) : orElse(() => read().get(key), undefined);
  const write = () => {
    writing = undefined;
    const all = new Map([...read(), ...changes]);
    const kept = [...all].filter(([, time = 0]) => isRecent(time)).sort(([, a = 0], [, b = 0]) => a - b);
    ensurePrivateFolder(dirname(file));
    writeFileAtomic(file, `${JSON.stringify(Object.fromEntries(kept.slice(-MAX_REMEMBERED)))}\n`);
    changes.clear();
  };
  const save = async () => {
    await new Promise((resolve) => setTimeout(resolve, COLLECT_MS));
    try {
      write();
    } catch {
      // The disk is full, the folder read-only, or the file cannot be read now: what it has must stay in it.
    }
  };

  return {
    has(server) {
      const time = timeOf(keyOf(server));
      return time !== undefined && isRecent(time);
    },
    add(server) {
      changes.set(keyOf(server), Date.now());
      writing ??= save();
      return writing;
    },
    async forget(servers) {
      const keys = servers.map(keyOf).filter((key) => timeOf(key) !== undefined);
      for (const key of keys) changes.set(key, undefined);
      if (keys.length === 0) return;
      writing ??= save();
      await writing;
    },
  };
}

const keyOf = ({ url, token = "" }: Endpoint) =>
  createHash("sha256").update(`${url}\0${token}`).digest("base64url");

/** A time to come is that of a clock that was set back. */
const isRecent = (time: number) => time <= Date.now() && Date.now() - time < REMEMBERED_MS;

/** None where the file is lost: then a token is sent once more. @throws the system error where it cannot be read. */
const timesIn = (file: string): Map<string, number> =>
  new Map(Object.entries(jsonFileToChange(file, FILE) ?? {}));
