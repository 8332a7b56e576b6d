/**
 * A desk and its standbys: a machine that follows a desk, and takes its place by hand once that is gone.
 */
import { existsSync, rmSync } from "node:fs";
import * as v from "valibot";
import type { Caller } from "../../../core/caller";
import { field, flag, NO_INPUT, secret } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { NAME_TEXT } from "../../../core/rights";
import { conflict, notFound } from "../../../lib/errors";
import { isLoopback } from "../../../lib/loopback";
import { configFiles } from "../../../lib/paths";
import { isSignedBy, openSigningKey, readSigningKey } from "../../../trust/identity";
import { status as tlsStatus } from "../../../trust/operations/tls";
import { formatStandbyString, parseStandbyString } from "../../../wire/join/join-string";
import { addressOfDesk, type LocalServer } from "../../../wire/join/reach";
import type { DeskBundle } from "../desk-bundle";
import type { DeposedUses } from "./deposed";
import { haveMessage, pullEndpoint, unproved, yieldEndpoint } from "./endpoints";
import type { Beyond } from "./fence";
import type { FollowerState } from "./follower";
import { followingNow, removeFollowing, requireFollowsNone, requireNoneCutOff } from "./following";
import { requireInOffice } from "./in-office";
import { generationOf, nextGeneration, takenOverBy, writeGeneration } from "./office";
import type { Standbys } from "./standbys";
import type { TakeOverUses } from "./take-over";
import type { Heard } from "./telling";

/** What these operations use of their service. */
interface Uses {
  readonly configDir: string;
  runningServer(): LocalServer | null;
  ownPin(): Promise<string>;
  standbys(): Promise<Standbys>;
  /** What makes this machine the desk, as it is now, and the stamp of that. @throws `unavailable` where it is none. */
  deskNow(): Promise<{ readonly bundle: DeskBundle; readonly stamp: string }>;
  /** What a desk uses that was taken over. */
  yieldUses(): DeposedUses;
  /** How this machine follows a desk; null where this process does not. */
  followerState(): FollowerState | null;
  /** How many hosts have heard which desk this is, and what one has heard that cannot be. */
  hostsHeard(): { readonly hosts: Heard | null; readonly beyond: Beyond | null };
  takeOverUses(): Promise<TakeOverUses>;
}

const BY_A_PERSON = {
  http: "which machine is the desk is decided by a person on that machine",
  script: "which machine is the desk is decided by a person",
};

/** As of `svc desk export`: an administrator elsewhere can use the keys of a desk, and does not have them. */
const KEYS_FOR_STANDBY = "who may take the keys of a desk is decided by a person on that machine";

const BY_STANDBY = {
  cli: "`svc serve` on the standby sends it",
  script: "a standby sends it with its string",
};

/** How much of a snapshot one answer has, in bytes. */
const PIECE_BYTES = 4_194_304;

const NAME = field(NAME_TEXT, "Name of the standby, as `svc standby show` lists it");

export const showKey = operation({
  name: "standby.key",
  summary: "Print the key to which a desk encrypts what this machine is to keep of it",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut: BY_A_PERSON,
  input: NO_INPUT,
  output: v.object({ key: v.string() }),
  async run({ configDir }: Pick<Uses, "configDir">) {
    const { openStandbyKey } = await import("./snapshot");
    return { key: (await openStandbyKey(configFiles(configDir).standbyKey)).recipient };
  },
});

export const allow = operation({
  name: "standby.allow",
  summary: "Let another machine follow this desk as its standby",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut: { http: KEYS_FOR_STANDBY, script: KEYS_FOR_STANDBY },
  input: v.strictObject({
    name: NAME,
    key: field(
      v.pipe(v.string(), v.trim(), v.regex(/^age1[02-9ac-hj-np-z]{58}$/, "a key that begins with age1")),
      "What `svc standby key` has printed on that machine",
    ),
    advertise: field(
      v.optional(v.pipe(v.string(), v.maxLength(300))),
      "HOST:PORT at which that machine reaches this desk (default: where its server listens)",
    ),
  }),
  output: v.object({
    standby_string: secret(v.string()),
    name: v.string(),
    id: v.string(),
    address: v.string(),
  }),
  async run(service: Uses, { name, key, advertise }, caller) {
    const files = configFiles(service.configDir);
    requireInOffice(files);
    const { requireRecipient } = await import("./snapshot");
    await requireRecipient(key);
    const address = addressOfDesk(service.runningServer(), advertise);
    if (advertise !== undefined && isLoopback(new URL(`https://${address}`).hostname))
      caller.warn?.(`other machines do not reach this desk at ${address}`);
    const pin = await service.ownPin();
    openSigningKey(files.deskKey);
    const { id, secret } = await (await service.standbys()).allow(name, key);
    return { standby_string: formatStandbyString({ address, pin, id, secret }), name, id, address };
  },
});

export const remove = operation({
  name: "standby.remove",
  summary: "Let a standby follow this desk no more",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  http: { method: "POST", path: "/standby/remove" },
  leftOut: { script: "which machine follows a desk is decided by a person" },
  input: v.strictObject({ name: NAME }),
  output: v.object({ removed: v.string() }),
  async run(service: Uses, { name }) {
    await (await service.standbys()).remove(name);
    return { removed: name };
  },
});

const pull = operation({
  ...pullEndpoint,
  summary: "Give a standby what makes this machine the desk, encrypted for its key",
  scope: "any",
  reveals: "announces",
  leftOut: BY_STANDBY,
  async run(service: Uses, { id, secret, have, proof, piece_of, offset }, caller) {
    const files = configFiles(service.configDir);
    const standbys = await service.standbys();
    const standby = standbys.find(id, secret);
    const isProved = have !== null && proof !== null && isProof(files.deskKey, { id, have, proof });
    // Whoever has found the string holds up no standby that has a snapshot, nor makes it look well.
    const as = isProved ? id : unproved(id);
    standbys.refuseBusy(as);
    requireInOffice(files);
    const pins = await pinsOf(service, caller);
    if (piece_of !== null) return { stamp: piece_of, pins, ...pieceOf(standbys, as, piece_of, offset) };
    const { sealSnapshot, stampOf } = await import("./snapshot");
    if (isProved) standbys.heard(standby, have);
    if (isProved && have === stampOf(service.configDir)) return { stamp: have, pins, bytes: 0, piece: "" };
    standbys.refuseOften(as);
    await standbys.onRecord(caller, `standby.pull standby=${JSON.stringify(standby.name)}`);
    const { bundle, stamp } = await service.deskNow();
    const sealed = await sealSnapshot(bundle, standby.key);
    standbys.underway.set(as, { at: performance.now(), stamp, sealed });
    return { stamp, pins, ...pieceOf(standbys, as, stamp, 0) };
  },
});

/** Whether who asks has opened that snapshot. */
function isProof(file: string, { id, have, proof }: { id: string; have: string; proof: string }): boolean {
  const key = readSigningKey(file);
  return key !== undefined && isSignedBy(key.publicKey, haveMessage(id, have), proof);
}

/** @throws `conflict` where the snapshot is not kept any more. */
function pieceOf({ underway }: Standbys, as: string, stamp: string, offset: number) {
  const kept = underway.get(as);
  if (kept?.stamp !== stamp) throw conflict("this snapshot is not kept any more: ask for the newest");
  const { sealed } = kept;
  const piece = Buffer.from(sealed.subarray(offset, offset + PIECE_BYTES)).toString("base64");
  if (offset + PIECE_BYTES >= sealed.length) underway.delete(as);
  return { bytes: sealed.length, piece };
}

/** The pins of the key that this desk has, and of the one that it has announced. */
async function pinsOf(service: Uses, caller: Caller): Promise<string[]> {
  const { next_spki } = await tlsStatus.run(service, {}, caller);
  return [await service.ownPin(), ...(next_spki === null ? [] : [next_spki])];
}

const yieldOffice = operation({
  ...yieldEndpoint,
  summary: "Take note that a standby has taken this desk over: nothing is sent to hosts any more",
  scope: "any",
  changes: "announces",
  leftOut: BY_STANDBY,
  async run(service: Uses, { id, secret, line, generation, signature }, caller) {
    const { name } = (await service.standbys()).find(id, secret);
    const { requireWord, yieldTo } = await import("./deposed");
    requireWord(service.yieldUses().files, { id, line, generation, signature });
    return yieldTo(service.yieldUses(), { name, generation }, caller.announce);
  },
});

export const follow = operation({
  name: "standby.follow",
  summary:
    "Follow a desk as its standby: keep what makes it the desk, encrypted, to take its place once it is gone",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut: BY_A_PERSON,
  input: v.strictObject({
    standby_string: field(
      secret(v.pipe(v.string(), v.maxLength(1_000))),
      "The string that `svc standby allow` has printed on the desk (default: a prompt)",
    ),
  }),
  output: v.object({ desk: v.string(), snapshot: v.string(), served: v.boolean() }),
  async run(service: Uses, { standby_string }) {
    const files = configFiles(service.configDir);
    const { address, pin, id, secret } = parseStandbyString(standby_string);
    requireNoneCutOff(files);
    // It would count as the take-over that has ended.
    if (generationOf(files).by === id)
      throw conflict(
        "this machine has taken over with this string: let `svc standby allow` on the desk make another one",
      );
    if (existsSync(files.deskKey) && !takenOverBy(files))
      throw conflict("this machine is a desk itself: a standby is a machine of its own");
    const [{ keep, pull: pullNow, refusedBy }, uses] = await Promise.all([
      import("./pull"),
      service.takeOverUses(),
    ]);
    const fresh = { address, pins: [pin], id, secret, since: new Date().toISOString() };
    const none = { stamp: null, snapshot: null, proof: null, begun: null, taken_over: null, told: null };
    const pulled = await pullNow(uses, { ...fresh, ...none }).catch((error) => {
      throw refusedBy(address, error);
    });
    keep(uses.files, pulled);
    const { snapshot } = pulled.following;
    return { desk: address, snapshot: snapshot ?? "", served: service.runningServer() !== null };
  },
});

export const unfollow = operation({
  name: "standby.unfollow",
  summary: "Follow the desk no more, and remove what is kept of it",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut: BY_A_PERSON,
  input: NO_INPUT,
  output: v.object({ desk: v.string() }),
  requires({ configDir }: Uses) {
    if (!existsSync(configFiles(configDir).following))
      throw notFound("this machine follows no desk: `svc standby follow`");
  },
  run({ configDir }: Uses) {
    const files = configFiles(configDir);
    requireNoneCutOff(files);
    const desk = followingNow(files)?.address ?? "";
    removeFollowing(files);
    return { desk };
  },
});

const TAKEN_OVER = v.object({ by: v.string(), since: v.string(), generation: v.number() });

const STANDING = v.object({
  /** It rises with each take-over; 0 for a desk that nobody has taken over. */
  generation: v.number(),
  /** Who has taken this desk over; null while it is the desk, or none. */
  taken_over: v.nullable(TAKEN_OVER),
  standbys: v.array(
    v.object({
      name: v.string(),
      id: v.string(),
      created: v.string(),
      /** How long ago it has asked, in seconds; null where it has not since the server started. */
      asked_s: v.nullable(v.number()),
      /** The same, or where it has not, how long ago the server started. */
      silent_s: v.number(),
      /** Whether it has all that this desk is now; null where it has not asked. */
      current: v.nullable(v.boolean()),
    }),
  ),
  /** The desk that this machine follows, or has taken over from. */
  following: v.nullable(
    v.object({
      desk: v.string(),
      since: v.string(),
      /** When the newest snapshot came. */
      snapshot: v.nullable(v.string()),
      /** How long ago the desk has answered, in seconds; null where it has not since the server started. */
      answered_s: v.nullable(v.number()),
      /** The same, or where it has not, how long ago the server began to ask; null without a server. */
      silent_s: v.nullable(v.number()),
      /** Why it does not answer. */
      fault: v.nullable(v.string()),
      /** When a take-over began that has not ended: it was cut off, unless it is under way. */
      begun: v.nullable(v.string()),
      /** When this machine has taken over, and when the former desk was told. */
      taken_over: v.nullable(v.string()),
      told: v.nullable(v.string()),
    }),
  ),
  /** How many hosts have joined, have heard which desk this is, and cannot hear with their svc; null where the server here tells none. */
  hosts: v.nullable(v.object({ hosts: v.number(), heard: v.number(), older: v.number() })),
  /** A host that has heard of a generation which no standby of this desk can have: somebody has the key of this desk. */
  beyond: v.nullable(v.object({ host: v.string(), generation: v.number() })),
});

/** What this machine is as a desk with standbys, and as a standby. */
export type Standing = v.InferOutput<typeof STANDING>;

export const show = operation({
  name: "standby.show",
  summary: "Show the standbys of this desk, the desk that this machine follows, and how far each is behind",
  answeredBy: "server or here",
  scope: "admin",
  http: { method: "GET", path: "/standby" },
  leftOut: { script: "it is for those who decide which machine is the desk" },
  input: NO_INPUT,
  output: STANDING,
  run: (service: Uses) => standingOf(service),
});

/** @throws `unavailable` where a file is broken. */
export async function standingOf({
  configDir,
  standbys,
  followerState,
  hostsHeard,
}: Pick<Uses, "configDir" | "standbys" | "followerState" | "hostsHeard">): Promise<Standing> {
  const files = configFiles(configDir);
  const known = existsSync(files.standbys) ? await standbys() : undefined;
  const stamp = known ? (await import("./snapshot")).stampOf(configDir) : "";
  const following = followingNow(files);
  return {
    generation: generationOf(files).generation,
    taken_over: takenOverBy(files) ?? null,
    standbys: (known?.list() ?? []).map(({ name, id, created }) => {
      const heard = known?.lastHeard(id);
      const asked = heard ? { asked_s: heard.ago_s, current: heard.has === stamp } : NOT_HEARD;
      return { name, id, created, ...asked, silent_s: known?.silentFor(id) ?? 0 };
    }),
    following: following
      ? {
          ...{ desk: following.address, since: following.since, snapshot: following.snapshot },
          ...(followerState() ?? { answered_s: null, silent_s: null, fault: null }),
          begun: following.taken_over === null ? following.begun : null,
          ...{ taken_over: following.taken_over, told: following.told },
        }
      : null,
    ...hostsHeard(),
  };
}

const NOT_HEARD = { asked_s: null, current: null };

export const takeOverDesk = operation({
  name: "standby.take_over",
  summary: "Take the place of the desk that this machine follows",
  answeredBy: "owner",
  scope: "admin",
  changes: "announces",
  leftOut: BY_A_PERSON,
  input: v.strictObject({
    force: flag("Take over also while that desk answers: it stops sending plans once it hears"),
    dry_run: flag("Only look whether this machine could take over"),
  }),
  output: v.object({
    desk: v.string(),
    generation: v.number(),
    /** When the snapshot came that this machine is the desk of from now on. */
    snapshot: v.string(),
    written: v.array(v.string()),
    backups: v.record(v.string(), v.string()),
    /** What the operator should know: plans that are paused, jobs that may have run, logs that are broken. */
    notes: v.array(v.string()),
    /** Whether the former desk knows; else the server here tells it once it answers. */
    told: v.boolean(),
  }),
  async run(service: Uses, ways, caller) {
    const { takeOver } = await import("./take-over");
    const taken = await takeOver(await service.takeOverUses(), ways, caller.announce);
    return { ...taken, written: [...taken.written], notes: [...taken.notes] };
  },
});

export const reinstate = operation({
  name: "standby.reinstate",
  summary: "Make this machine the desk again that a standby has taken over",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut: BY_A_PERSON,
  input: NO_INPUT,
  output: v.object({ generation: v.number() }),
  requires({ configDir }: Uses) {
    if (!existsSync(configFiles(configDir).takenOver))
      throw conflict("nobody has taken this desk over: there is nothing to reinstate");
  },
  run({ configDir }: Uses) {
    const files = configFiles(configDir);
    requireNoneCutOff(files);
    requireFollowsNone(files);
    // A broken file names no generation: it is removed by hand.
    const taken = takenOverBy(files)?.generation ?? 0;
    const before = generationOf(files);
    const generation = nextGeneration(Math.max(taken, before.generation));
    writeGeneration(files, { ...before, generation, since: new Date().toISOString(), by: null });
    rmSync(files.takenOver, { force: true });
    return { generation };
  },
});

export const operations = [
  showKey,
  allow,
  remove,
  pull,
  yieldOffice,
  follow,
  unfollow,
  show,
  takeOverDesk,
  reinstate,
];
