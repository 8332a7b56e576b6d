/**
 * The releases that a desk keeps: what its plans of upgrades have named, where the files are there still. The signature of each stands
 * in the plan.
 */
import { readContent } from "../../../wire/job/content";
import { compareVersions, type ReleasedBinary } from "../../../wire/release/released-binary";
import { INSTALL, releasedIn } from "../../../wire/release/upgrade-messages";
import type { Plans } from "../plans";

/** What looks for them. */
export interface KeptUses {
  /** Null where no plan was ever made. */
  existingPlans(): Promise<Pick<Plans, "ledger"> | null>;
  releases(): Promise<{
    /** Whether the file is there, whole as it was kept. */
    has(file: Pick<ReleasedBinary, "sha256" | "size">): boolean;
  }>;
}

/** A release of which at least one file is there. */
interface KeptRelease {
  readonly version: string;
  /** At most one for each target. */
  readonly files: readonly ReleasedBinary[];
}

/** Those that are there, the newest version first. */
export async function releasesKept(service: KeptUses): Promise<KeptRelease[]> {
  const plans = await service.existingPlans();
  if (!plans) return [];
  const releases = await service.releases();
  const byVersion = new Map<string, Map<string, ReleasedBinary>>();
  for (const { seq, spec } of plans.ledger.plans()) {
    if (!spec.commands.includes(INSTALL)) continue;
    const { actions, scope } = readContent(plans.ledger.content(seq));
    // What a plan of somebody without admin says of files, nobody has verified.
    if (scope !== null) continue;
    for (const file of releasedIn(actions) ?? []) {
      const files = byVersion.get(file.version) ?? new Map<string, ReleasedBinary>();
      byVersion.set(file.version, files);
      if (!files.has(file.target) && releases.has(file)) files.set(file.target, file);
    }
  }
  return [...byVersion]
    .filter(([, files]) => files.size > 0)
    .map(([version, files]) => ({ version, files: [...files.values()] }))
    .sort((a, b) => compareVersions(b.version, a.version));
}
