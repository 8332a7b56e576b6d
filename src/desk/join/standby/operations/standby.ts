/** A machine that follows a desk as its standby, and takes its place by hand. */
import { existsSync } from "node:fs";
import * as v from "valibot";
import { field, flag, NO_INPUT, secret } from "../../../../core/fields";
import { operation } from "../../../../core/operation";
import { conflict, notFound } from "../../../../lib/errors";
import { configFiles } from "../../../../lib/paths";
import { parseStandbyString } from "../../../../wire/join/join-string";
import type { LocalServer } from "../../../../wire/join/reach";
import { followingNow, removeFollowing, requireNoneCutOff } from "../following";
import { generationOf, takenOverBy } from "../office";
import type { TakeOverUses } from "../take-over";
import { BY_A_PERSON } from "./left-out";

/** What these operations use of their service. */
interface Uses {
  readonly configDir: string;
  runningServer(): LocalServer | null;
  takeOverUses(): Promise<TakeOverUses>;
}

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
    const { openStandbyKey } = await import("../snapshot");
    return { key: (await openStandbyKey(configFiles(configDir).standbyKey)).recipient };
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
      import("../pull"),
      service.takeOverUses(),
    ]);
    const fresh = { address, pins: [pin], id, secret, since: new Date().toISOString() };
    const none = { stamp: null, snapshot: null, proof: null, begun: null, taken_over: null, notified: null };
    using pulled = await pullNow(uses, { ...fresh, ...none }).catch((error) => {
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
    /** Whether the former desk has been notified; else the server here does that once it answers. */
    notified: v.boolean(),
  }),
  async run(service: Uses, ways, caller) {
    const { takeOver } = await import("../take-over");
    const taken = await takeOver(await service.takeOverUses(), ways, caller.announce);
    return { ...taken, written: [...taken.written], notes: [...taken.notes] };
  },
});

export const operations = [showKey, follow, unfollow, takeOverDesk];
