/**
 * What a desk requests from a host to upgrade it.
 */
import * as v from "valibot";
import { field, NO_INPUT, whole } from "../../core/fields";
import { operation } from "../../core/operation";
import { beyond } from "../../core/rights";
import { badInput, conflict, forbidden } from "../../lib/errors";
import { MAX_BINARY_BYTES } from "../../wire/release/released-binary";
import {
  HOST_STATUS,
  INSTALL,
  PIECE_BYTES,
  RECEIVE_ANSWER,
  RECEIVE_PATH,
  RELEASED_FILES,
  releasedIn,
  STATUS_PATH,
} from "../../wire/release/upgrade-messages";
import type { FromDesk } from "../release/from-desk";
import type { PlanJobs } from "./accept";
import { SEALED } from "./operations";

interface Uses {
  fromDesk(): Promise<FromDesk>;
}

interface ReceiveUses extends Uses {
  planJobs(): Promise<Pick<PlanJobs, "announced">>;
}

const BY_DESK = {
  cli: "a desk asks for it: `svc version` and `svc upgrade` are for the host itself",
  script: "a desk asks for it",
};

export const showUpgrade = operation({
  name: "upgrade.status",
  summary: "Show what a desk needs to know to upgrade this host, and what became of the newest upgrade",
  scope: "read",
  http: { method: "GET", path: STATUS_PATH },
  leftOut: BY_DESK,
  input: NO_INPUT,
  output: HOST_STATUS,
  run: async (service: Uses) => (await service.fromDesk()).status(),
});

export const receiveUpgrade = operation({
  name: "upgrade.receive",
  summary: "Take a piece of a newer program from a desk, whose plan is about to upgrade this host",
  scope: "operate",
  changes: "announces",
  http: { method: "POST", path: RECEIVE_PATH, repeatable: true, routine: true },
  leftOut: BY_DESK,
  input: v.strictObject({
    ...SEALED,
    content: field(v.string(), "What the job of the plan is to do, which names the file: JSON text"),
    offset: field(whole(0, MAX_BINARY_BYTES), "Where the piece begins in the file, in bytes"),
    data: field(
      v.pipe(v.string(), v.maxLength(Math.ceil(PIECE_BYTES / 3) * 4)),
      "The piece in base64, at most 600,000 bytes",
    ),
  }),
  output: RECEIVE_ANSWER,
  async run(service: ReceiveUses, { offset, data, ...sealed }, caller) {
    const { actions, job } = await (await service.planJobs()).announced(sealed, caller);
    const files = releasedIn(actions);
    if (!files) throw badInput("content: expected that of a plan which upgrades hosts");
    if (!job.isOfAdmin) throw forbidden(beyond(caller.grant, NEEDS_ADMIN));
    const piece = Buffer.from(data, "base64");
    if (piece.toString("base64") !== data) throw badInput("data: expected base64");
    return (await service.fromDesk()).receive(files, offset, piece, (file) =>
      caller.announce(
        `upgrade.receive plan=${job.plan} ${file.version} for ${file.target}, ${file.size} bytes, sha256:${file.sha256}`,
      ),
    );
  },
});

const NEEDS_ADMIN = "an upgrade needs admin, also of whoever made the plan";

export const installUpgrade = operation({
  name: "upgrade.install",
  summary:
    "Upgrade this host to a program that its desk has sent: only as the job of a plan, see `svc admin upgrade`",
  scope: "operate",
  changes: "announces",
  command: INSTALL,
  leftOut: {
    http: "it is the job of a plan, which sends the program first",
    cli: "it is the job of a plan, which sends the program first: `svc upgrade` is for the host itself",
  },
  example: {
    files: [
      {
        target: "linux-x64",
        version: "0.2.0",
        size: 139_192_496,
        sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        signature: "untrusted comment: …",
      },
    ],
  },
  input: v.strictObject({
    files: field(RELEASED_FILES, "The binary of each target: its version, size, SHA-256 and signature"),
  }),
  output: v.object({ from: v.string(), to: v.string() }),
  async run(service: Uses, { files }, caller) {
    const { job, grant, announce } = caller;
    if (!job)
      throw conflict(`${INSTALL} works as the job of a plan only: \`svc admin upgrade\` on a desk makes one`);
    if (!job.isOfAdmin) throw forbidden(beyond(grant, NEEDS_ADMIN, "this plan"));
    return (await service.fromDesk()).begin(files, job.id, announce);
  },
});

export const operations = [showUpgrade, receiveUpgrade, installUpgrade];
