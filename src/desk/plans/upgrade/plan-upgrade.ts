/**
 * The plan of an upgrade, as the process makes it that owns the folder: of files that are among the releases of the desk.
 */
import * as v from "valibot";
import { between, field, flag, seconds } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { conflict } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import { writeContent } from "../../../wire/job/content";
import { MAX_RELEASED, RELEASED_BINARY, versionField } from "../../../wire/release/released-binary";
import { INSTALL } from "../../../wire/release/upgrade-messages";
import type { SharingPlan } from "../ledger/queries";
import { A_SHARE, LIMITS, specOf } from "../operations/make";
import type { Plans } from "../plans";

/** The files that this desk keeps. */
export interface KeptFiles {
  /** Removes what is not needed, but for the newest. */
  removeOthers(isNeeded: (sha256: string) => boolean): void;
}

interface Uses {
  plans(): Promise<Plans>;
  releases(): Promise<KeptFiles>;
}

/** The time limit of the job on a host, which only begins the upgrade, in seconds. */
export const BEGIN_S = 60;

/** Within which limits hosts are upgraded. */
export const UPGRADE_LIMITS = {
  on: LIMITS.on,
  waves: LIMITS.waves,
  pause_s: LIMITS.pause_s,
  max_failures: field(
    v.optional(A_SHARE, 0),
    "Pause the plan after more failures than this: a number, or a share such as 1%",
  ),
  queue: LIMITS.queue,
  expires_s: LIMITS.expires_s,
  max_parallel: LIMITS.max_parallel,
  delivery_timeout_s: field(
    v.optional(seconds(between(0.01, 3_600)), 10),
    "Time limit for a host to answer, in seconds",
  ),
};

/** For who makes such a plan again and again, until all hosts are upgraded: a new one would forgive the failures of the one before. */
export const ALONE = {
  alone: flag("Make no plan beside one that is not over and upgrades one of these hosts"),
};

const PLANNED = v.strictObject({ label: v.string(), identity: v.string() });

const BY_UPGRADE = "`svc admin upgrade` asks for it, once it has kept the files";

/** Makes the plan of an upgrade. */
export const planUpgrade = operation({
  name: "admin.plan_upgrade",
  summary: "Make a plan that sends hosts files which are kept here",
  scope: "admin",
  answeredBy: "owner",
  serverInRuns: true,
  changes: "announces",
  leftOut: { http: BY_UPGRADE, cli: BY_UPGRADE, script: BY_UPGRADE },
  input: v.strictObject({
    ...UPGRADE_LIMITS,
    ...ALONE,
    version: field(versionField, "The version of the files"),
    released: field(v.pipe(v.array(RELEASED_BINARY), v.maxLength(MAX_RELEASED)), "The files"),
    hosts: field(v.array(PLANNED), "The hosts, in the order in which they begin"),
    key_id: field(v.string(), "The id of the key that has signed the files"),
  }),
  output: v.object({ id: v.string(), digest: v.string() }),
  async run(service: Uses, { version, released, hosts, key_id, alone, ...limits }, { grant, announce }) {
    const plans = await service.plans();
    const identities = hosts.map(({ identity }) => identity);
    const requireAlone = () => {
      const other = alone ? plans.ledger.sharing(INSTALL, identities) : undefined;
      if (other) throw conflict(inTheWay(other));
    };
    requireAlone();
    const what = released.map(({ target }) => target).join(",");
    await announce(
      `admin.upgrade version=${version} targets=${what} on=${JSON.stringify(limits.on)} hosts=${hosts.length} by the key ${printable(key_id, 100)}`,
    );
    const { content, digest: contentDigest } = writeContent({
      actions: [[INSTALL, { files: released }]],
      commands: [INSTALL],
      stop_on_error: true,
      timeout_s: BEGIN_S,
      scope: null,
    });
    const spec = specOf(limits, [INSTALL], hosts.length, BEGIN_S);
    const by = grant.name;
    const { id, digest } = await plans.create(content, contentDigest, spec, hosts, by, requireAlone);
    const contents = openContents(plans);
    (await service.releases()).removeOthers((sha256) => contents.some((one) => one.includes(sha256)));
    return { id, digest };
  },
});

/** That another plan upgrades a host, and what is to become of it. */
function inTheWay({ id, digest, state, label }: SharingPlan): string {
  const apply = `\`svc plan apply ${id} --digest ${digest}\``;
  const ways: Readonly<Record<string, string>> = {
    new: `was not applied yet: ${apply} applies it`,
    running: `is running: ${apply} waits for it`,
    paused: `is paused: \`svc plan resume ${id}\` goes on with it`,
  };
  return `the plan ${id} upgrades ${printable(label, 130)}, and ${ways[state]}, \`svc plan cancel ${id}\` ends it`;
}

/** What the plans do that upgrade hosts and are not over. */
const openContents = ({ ledger }: Plans) =>
  ledger
    .plans()
    .flatMap(({ seq, ended }) => (ended === null ? [ledger.content(seq)] : []))
    .filter((content) => content.includes(INSTALL));
