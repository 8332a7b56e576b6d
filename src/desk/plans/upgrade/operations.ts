/**
 * Upgrading many hosts: a plan that sends each of them the program of its target.
 */
import * as v from "valibot";
import type { performOperation } from "../../../core/call";
import type { Caller } from "../../../core/caller";
import { field, flag, NO_INPUT } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { requireOwnToken } from "../../../core/rights";
import { badInput, conflict, notFound } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import { PUBLIC_KEY, type ReleasedBinary, versionField } from "../../../wire/release/released-binary";
import { INSTALL } from "../../../wire/release/upgrade-messages";
import type { AddressBook } from "../../fleet/address-book";
import type { Host } from "../../fleet/host";
import { specOf } from "../operations/make";
import { identityOf } from "../plan";
import type { Plans } from "../plans";
import { type KeptUses, offerOf, releasesKept } from "./kept";
import { ALONE, BEGIN_S, type KeptFiles, planUpgrade, UPGRADE_LIMITS } from "./plan-upgrade";

/** A signed binary of a release. */
interface ReleaseOffer extends Pick<ReleasedBinary, "version" | "target"> {
  /** Verifies it, and keeps nothing. */
  verify(): Promise<void>;
  /** Keeps a copy that is verified, for the hosts of a plan. */
  keep(): Promise<ReleasedBinary>;
}

/** Files of one version, and the id of the key that has signed them. */
interface Offered {
  readonly keyId: string;
  readonly offered: readonly ReleaseOffer[];
}

/** The binaries that this desk sends to hosts. */
interface Releases extends KeptFiles {
  /** What `paths` mean, of one version, and the id of the key that has signed it. @param publicKey in place of the key of this svc. */
  offered(
    paths: readonly string[],
    publicKey: string | undefined,
  ): Promise<{ readonly keyId: string; readonly files: readonly ReleaseOffer[] }>;
}

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "select" | "reach">>;
  plans(): Promise<Plans>;
  releases(): Promise<Releases>;
  /** As `performOperation`; the owner of the folder does it where that is another process. */
  readonly perform: typeof performOperation;
}

const UPGRADED_HOST = v.object({
  label: v.string(),
  /** What it has; null where it did not answer. */
  version: v.nullable(v.string()),
  target: v.nullable(v.string()),
});

const SKIP = flag("Leave out hosts that cannot be upgraded, in place of making no plan");
const DRY_RUN = flag("Ask the hosts and verify the files; make no plan");

/** What a plan of an upgrade takes besides its files. */
const WHICH_HOSTS = { ...UPGRADE_LIMITS, ...ALONE, skip: SKIP, dry_run: DRY_RUN };

type WhichHosts = v.InferOutput<v.StrictObjectSchema<typeof WHICH_HOSTS, undefined>>;

const UPGRADE_PLAN = v.object({
  /** The plan, and its digest, by which it is applied; null for a dry run, and where there is nothing to do. */
  id: v.nullable(v.string()),
  digest: v.nullable(v.string()),
  version: v.string(),
  /** Those of the plan, in the order in which they begin. */
  hosts: v.array(UPGRADED_HOST),
  /** How many of them have begun with each wave. */
  waves: v.array(v.number()),
  left_out: v.array(v.object({ ...UPGRADED_HOST.entries, why: v.string() })),
});

export const upgradeHosts = operation({
  name: "admin.upgrade",
  summary: "Make a plan that upgrades hosts to a release; nothing is sent before it is applied",
  scope: "admin",
  changes: "announces",
  leftOut: {
    http: "it reads files that its user names, on the machine of its user",
    script: "it reads files that its user names, on the machine of its user",
  },
  input: v.strictObject({
    files: field(
      v.pipe(v.array(v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096))), v.minLength(1), v.maxLength(16)),
      "Binaries of a release, one for each target, with their signatures FILE.minisig beside them; or the folder of the release",
    ),
    ...UPGRADE_LIMITS,
    ...ALONE,
    expect_version: field(v.optional(versionField), "The version of the files: those of another are refused"),
    skip: SKIP,
    public_key: PUBLIC_KEY,
    dry_run: DRY_RUN,
  }),
  output: UPGRADE_PLAN,
  async run(service: Uses, { files, public_key, expect_version, ...which }, caller) {
    requireOwnToken(caller.grant, "a plan");
    const releases = await service.releases();
    const { keyId, files: offered } = await releases.offered(files, public_key);
    const [{ version = "" } = {}] = offered;
    if (expect_version !== undefined && version !== expect_version)
      throw badInput(`files: expected svc ${expect_version} but found ${version}`);
    return planOf(service, { ...which, keyId, offered }, caller);
  },
});

const IN_TERMINAL = "`svc admin upgrade` makes that plan, of files that its user names";

export const keptReleases = operation({
  name: "admin.releases",
  summary: "List the releases that this desk keeps, of plans that have upgraded hosts",
  scope: "read",
  answeredBy: "server or here",
  leftOut: { cli: IN_TERMINAL, script: IN_TERMINAL },
  http: { method: "GET", path: "/admin/releases" },
  input: NO_INPUT,
  output: v.object({
    /** The newest version first. */
    releases: v.array(v.object({ version: v.string(), targets: v.array(v.string()) })),
  }),
  async run(service: KeptUses) {
    const kept = await releasesKept(service);
    return {
      releases: kept.map(({ version, files }) => ({
        version,
        targets: files.map(({ target }) => target).sort(),
      })),
    };
  },
});

export const upgradeToKept = operation({
  name: "admin.upgrade_kept",
  summary:
    "Make a plan that upgrades hosts to a release which this desk keeps; nothing is sent before it is applied",
  scope: "admin",
  changes: "announces",
  leftOut: { cli: IN_TERMINAL, script: IN_TERMINAL },
  http: { method: "POST", path: "/admin/upgrade" },
  example: { version: "0.2.0", on: "tag:lab", waves: ["1", "10%", "100%"] },
  input: v.strictObject({
    version: field(versionField, "The version of the release, as `GET /admin/releases` lists it"),
    ...WHICH_HOSTS,
  }),
  output: UPGRADE_PLAN,
  async run(service: Uses & KeptUses, { version, ...which }, caller) {
    requireOwnToken(caller.grant, "a plan");
    const kept = (await releasesKept(service)).find((one) => one.version === version);
    if (!kept) throw notFound(`this desk keeps no release ${version}`);
    const offered = kept.files.map((file) => offerOf(service, file));
    return planOf(service, { ...which, keyId: kept.keyId, offered }, caller);
  },
});

/** Asks the hosts what they have, and makes a plan for those that get a file of `offered`. @throws `conflict` as {@link refusalOf} says. */
async function planOf(
  service: Uses,
  { skip, dry_run, keyId, offered, alone, ...limits }: WhichHosts & Offered,
  caller: Caller,
): Promise<v.InferInput<typeof UPGRADE_PLAN>> {
  const { grant, signal } = caller;
  const [{ version = "" } = {}] = offered;
  const book = await service.addressBook();
  const { surveyed } = await import("./survey");
  const asked = await surveyed(
    await book.select(limits.on),
    (host: Host) => ({ server: book.reach(host) }),
    offered,
    { timeoutMs: limits.delivery_timeout_s * 1_000, signal, client: grant.name },
  );
  const isIn = ({ state }: (typeof asked)[number]) =>
    state === "upgrade" || (state === "offline" && limits.queue);
  const unfit = asked.filter((one) => !isIn(one) && one.state !== "current");
  if (unfit.length > 0 && !skip) throw conflict(refusalOf(unfit), { hosts: unfit.map(shown) });
  const planned = asked.filter(isIn);
  const spec = specOf(limits, [INSTALL], planned.length, BEGIN_S);
  const answer = {
    version,
    hosts: planned.map(shown),
    waves: [...spec.waves],
    left_out: asked.filter((one) => !isIn(one)).map((one) => ({ ...shown(one), why: one.why ?? "" })),
  };
  // A host that is off may have any target.
  const targets = planned.some(({ target }) => target === null) ? null : planned.map(({ target }) => target);
  const needed = offered.filter(({ target }) => targets === null || targets.includes(target));
  if (dry_run || planned.length === 0) {
    for (const one of needed) await one.verify();
    return { id: null, digest: null, ...answer };
  }
  const released: ReleasedBinary[] = [];
  for (const one of needed) released.push(await one.keep());
  const hosts = planned.map(({ host }) => ({ label: host.label, identity: identityOf(host) }));
  const plan = { ...limits, alone, version, released, hosts, key_id: keyId };
  const { id, digest } = await service.perform(service, planUpgrade, plan, caller);
  return { id, digest, ...answer };
}

const shown = ({
  host,
  version,
  target,
}: {
  readonly host: Host;
  readonly version: string | null;
  readonly target: string | null;
}) => ({ label: host.label, version, target });

/** The most hosts that a message names. */
const MAX_NAMED = 10;

function refusalOf(unfit: ReadonlyArray<{ readonly host: Host; readonly why: string | null }>): string {
  const named = unfit.slice(0, MAX_NAMED).map(({ host, why }) => `${printable(host.label, 130)}: ${why}`);
  const more = unfit.length > MAX_NAMED ? `; and ${unfit.length - MAX_NAMED} more` : "";
  return `no plan was made: ${named.join("; ")}${more} (--skip leaves such hosts out, --queue waits for those that are off)`;
}

export const operations = [upgradeHosts, planUpgrade, keptReleases, upgradeToKept];
