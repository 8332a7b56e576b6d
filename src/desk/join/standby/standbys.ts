/**
 * The standbys of this desk: `{config_dir}/standbys.json`, digests and public keys alone; and what was heard of each since this
 * process started.
 *
 * The promise: plans that were under way when this desk ended go on once each standby has said that it still follows and the hosts were
 * asked, or after {@link HOLD_MS}: one that has taken over in the meantime says so first, or a host does that has heard of it.
 */
import * as v from "valibot";
import type { Publish } from "../../../core/events";
import { NAME_TEXT } from "../../../core/rights";
import { createThrottledAudit, type ThrottledAudit } from "../../../core/throttled-audit";
import { createBuckets } from "../../../lib/buckets";
import { conflict, forbidden, notFound, tooMany } from "../../../lib/errors";
import { createJsonStore, parseBy } from "../../../lib/json-store";
import type { Log } from "../../../lib/log";
import { newId, newSecret } from "../../../wire/join/join-string";
import { unproved } from "./endpoints";
import { standbyFollows, standbyLate } from "./events";
import { createOrigins, type Origins } from "./origins";
import { RECIPIENT } from "./snapshot";

/** How long plans wait for a word of the standbys and of the hosts after a start, in milliseconds. */
const HOLD_MS = 15_000;

/** A standby that has not asked for so long is late, in milliseconds. */
export const LATE_MS = 60_000;

/** The most standbys of a desk. */
const MAX_STANDBYS = 8;

/** How often a standby may ask for a piece or a look: a gigabyte at once, and two more each minute. And how often for a snapshot. */
const ASKING = { ratePerMinute: 2_400, burst: 1_200 };
const TAKING = { ratePerMinute: 20, burst: 3 };

/** For how long a snapshot is kept that its standby has not taken, in milliseconds. */
const KEPT_MS = 5 * 60_000;

const STANDBY = v.object({
  name: NAME_TEXT,
  /** Of its string. */
  id: v.string(),
  /** The SHA-256 of the secret of its string, hexadecimal. */
  sha256: v.string(),
  /** For whom snapshots are encrypted. */
  key: RECIPIENT,
  created: v.string(),
});

/** A machine that may follow this desk. */
export type Standby = v.InferOutput<typeof STANDBY>;

/** What was heard of one since this process started. */
interface StandbyNews {
  /** When it asked last, by `performance.now()`. */
  readonly at: number;
  /** What it has of this desk, by the stamp of that. */
  readonly has: string | null;
}

/** A snapshot that is on its way to a standby, in pieces. */
interface SnapshotTransfer {
  /** When it was made, by `performance.now()`. */
  readonly at: number;
  readonly stamp: string;
  readonly sealed: Uint8Array;
}

export interface Standbys {
  /** @throws `unavailable` where the file is broken. */
  list(): readonly Standby[];
  /** Lets another machine follow. @returns the id and the secret of its string. @throws `conflict` where one has the name. */
  allow(name: string, key: string): Promise<{ readonly id: string; readonly secret: string }>;
  /** @throws `not_found` where none has the name. */
  remove(name: string): Promise<void>;
  /** The standby with that string. @throws `not_found`, `forbidden` where the secret is another. */
  find(id: string, secret: string): Standby;
  /** @param as who asks: who proves to be the standby, or who has its string. @throws `too_many` where they ask too often. */
  refuseBusy(as: string): void;
  /** The same for those that take a snapshot. */
  refuseOften(as: string): void;
  /** It has asked, and has this of the desk. */
  heard(standby: Standby, has: string | null): void;
  /** How long ago it asked, in seconds, and what it has; undefined where it has not since this process started. */
  lastHeard(id: string): { readonly ago_s: number; readonly has: string | null } | undefined;
  /** How long it has been silent, in seconds: since it asked, or, where it has not, since this process started. */
  silentFor(id: string): number;
  /** A standby asks every few seconds: that it takes what makes a desk is on record once in ten minutes. */
  readonly onRecord: ThrottledAudit;
  /** The snapshots that are on their way, by who takes them: as of {@link Standbys.refuseBusy}. */
  readonly underway: Map<string, SnapshotTransfer>;
  /** From where they came. */
  readonly origins: Origins;
  /** Whether plans of before the start may go on. @param hasAsked whether the hosts were asked which desk they have heard of. */
  mayGoOn(hasAsked: boolean): boolean;
  /** Tells of those that are late. */
  look(): void;
}

export function createStandbys(
  files: { readonly standbys: string; readonly standbysLock: string },
  log: Log,
  publish: Publish,
): Standbys {
  const store = createJsonStore<Standby>(
    {
      file: files.standbys,
      lock: files.standbysLock,
      what: "a list of standbys",
      list: "standbys",
      key: "name",
      parse: parseBy(STANDBY),
    },
    log,
  );
  const began = performance.now();
  const heardOf = new Map<string, StandbyNews>();
  const late = new Set<string>();
  const [spend, take] = [createBuckets(ASKING), createBuckets(TAKING)];
  const refuse = (wait: number) => {
    if (wait > 0) throw tooMany(`this standby asks too often: try again in ${Math.ceil(wait / 1_000)} s`);
  };

  const standbys: Standbys = {
    list: store.entries,
    async allow(name, key) {
      const [id, secret] = [newId(), newSecret()];
      const one = { name, id, sha256: digestOf(secret), key, created: new Date().toISOString() };
      await store.change((entries) => {
        if (entries.names.length >= MAX_STANDBYS)
          throw conflict(`there are already ${MAX_STANDBYS} standbys: remove some`);
        entries.add(one);
      });
      return { id, secret };
    },
    async remove(name) {
      const ids = store.entries().flatMap((one) => (one.name === name ? [one.id] : []));
      await store.change((entries) => {
        if (!entries.remove(name)) throw notFound(`there is no standby ${name}`);
      });
      for (const id of ids) {
        for (const known of [heardOf, late, standbys.underway]) known.delete(id);
        standbys.underway.delete(unproved(id));
        standbys.origins.forget(id);
      }
    },
    find(id, secret) {
      const found = store.entries().find((one) => one.id === id);
      if (!found)
        throw notFound("this desk knows no such standby: it was removed, or another desk made the string");
      if (!isSecretOf(found, secret)) throw forbidden("the secret of this standby string is wrong");
      return found;
    },
    refuseBusy: (as) => refuse(spend(as, performance.now())),
    refuseOften: (as) => refuse(take(as, performance.now())),
    heard({ id, name }, has) {
      if (!heardOf.has(id) || late.delete(id)) publish(standbyFollows, { name });
      heardOf.set(id, { at: performance.now(), has });
    },
    lastHeard(id) {
      const heard = heardOf.get(id);
      return heard && { ago_s: Math.round((performance.now() - heard.at) / 1_000), has: heard.has };
    },
    silentFor: (id) => Math.round((performance.now() - (heardOf.get(id)?.at ?? began)) / 1_000),
    onRecord: createThrottledAudit(),
    underway: new Map(),
    origins: createOrigins(log),
    mayGoOn: (hasAsked) =>
      performance.now() - began > HOLD_MS || (hasAsked && store.entries().every(({ id }) => heardOf.has(id))),
    look() {
      for (const [id, { at }] of standbys.underway)
        if (performance.now() - at > KEPT_MS) standbys.underway.delete(id);
      for (const { id, name } of store.entries()) {
        if (late.has(id) || performance.now() - (heardOf.get(id)?.at ?? began) < LATE_MS) continue;
        late.add(id);
        publish(standbyLate, { name });
        log.warn(`the standby ${name} has not asked this desk for ${LATE_MS / 1_000} s`);
      }
    },
  };
  return standbys;
}

const digestOf = (secret: string) => new Bun.CryptoHasher("sha256").update(secret).digest("hex");

const isSecretOf = ({ sha256 }: Standby, secret: string): boolean => {
  const [own, sent] = [Buffer.from(sha256, "hex"), Buffer.from(digestOf(secret), "hex")];
  return own.length === sent.length && crypto.timingSafeEqual(own, sent);
};
