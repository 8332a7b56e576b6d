/** What a desk has to say to its standbys, and of itself once one of them has taken over. */
import { existsSync, rmSync } from "node:fs";
import * as v from "valibot";
import type { Caller } from "../../../../core/caller";
import { field, NO_INPUT, secret } from "../../../../core/fields";
import { operation } from "../../../../core/operation";
import { NAME_TEXT } from "../../../../core/rights";
import { conflict } from "../../../../lib/errors";
import { isLoopback } from "../../../../lib/loopback";
import { configFiles } from "../../../../lib/paths";
import { isSignedBy, openSigningKey, readSigningKey } from "../../../../trust/identity";
import { status as tlsStatus } from "../../../../trust/operations/tls";
import { formatStandbyString } from "../../../../wire/join/join-string";
import { addressOfDesk, type LocalServer } from "../../../../wire/join/reach";
import type { DeskBundle } from "../../desk-bundle";
import type { DeposedUses } from "../deposed";
import { haveMessage, pullEndpoint, unproved, yieldEndpoint } from "../endpoints";
import { requireFollowsNone, requireNoneCutOff } from "../following";
import { requireInOffice } from "../in-office";
import { generationOf, nextGeneration, takenOverBy, writeGeneration } from "../office";
import type { Standbys } from "../standbys";
import { BY_A_PERSON } from "./left-out";

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
}

/** As of `svc desk export`: an administrator elsewhere can use the keys of a desk, and does not have them. */
const KEYS_FOR_STANDBY = "who may take the keys of a desk is decided by a person on that machine";

const BY_STANDBY = {
  cli: "`svc serve` on the standby sends it",
  script: "a standby sends it with its string",
};

/** How much of a snapshot one answer has, in bytes: some milliseconds on both sides. */
const PIECE_BYTES = 1_048_576;

const NAME = field(NAME_TEXT, "Name of the standby, as `svc standby show` lists it");

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
    const { requireRecipient } = await import("../snapshot");
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
    if (caller.client !== null) standbys.origins.came(standby, caller.client, isProved);
    requireInOffice(files);
    const pins = await pinsOf(service, caller);
    if (piece_of !== null) return { stamp: piece_of, pins, ...pieceOf(standbys, as, piece_of, offset) };
    const { sealSnapshot, stampOf } = await import("../snapshot");
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
    const { requireWord, yieldTo } = await import("../deposed");
    requireWord(service.yieldUses().files, { id, line, generation, signature });
    return yieldTo(service.yieldUses(), { name, generation }, caller.announce);
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

export const operations = [allow, remove, pull, yieldOffice, reinstate];
