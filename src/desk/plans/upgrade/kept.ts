/**
 * The releases that a desk keeps: what its plans of upgrades have named, where the files are there still. The signature of each stands
 * in the plan.
 *
 * The promise: what a plan says of a file is believed only as far as its signature says the same, and a file is read again, whole, before
 * another plan names it.
 */
import { orElse } from "../../../lib/or-else";
import { nextSlice } from "../../../lib/turn";
import { readContent } from "../../../wire/job/content";
import { compareVersions, type ReleasedBinary } from "../../../wire/release/released-binary";
import { INSTALL, releasedIn } from "../../../wire/release/upgrade-messages";
import type { Releases } from "../../release/store";
import type { Plans } from "../plans";

/** What looks for them. */
export interface KeptUses {
  /** Null where no plan was ever made. */
  existingPlans(): Promise<Pick<Plans, "ledger"> | null>;
  releases(): Promise<Pick<Releases, "has" | "verifyKept" | "keepOn">>;
}

/** A release of which at least one file is there. */
interface KeptRelease {
  readonly version: string;
  /** The id of the key that has signed its files. */
  readonly keyId: string;
  /** At most one for each target. */
  readonly files: readonly ReleasedBinary[];
}

/** Those that are there, the newest version first. */
export async function releasesKept(service: KeptUses): Promise<KeptRelease[]> {
  const plans = await service.existingPlans();
  if (!plans) return [];
  const [releases, { parseSignature }] = await Promise.all([
    service.releases(),
    import("../../../wire/release/minisign"),
  ]);
  const found = new Map<string, { readonly keyId: string; readonly files: Map<string, ReleasedBinary> }>();
  for (const { seq, spec } of plans.ledger.plans()) {
    // A list that does more is no upgrade.
    if (spec.commands.length !== 1 || spec.commands[0] !== INSTALL) continue;
    const waits = nextSlice();
    if (waits) await waits;
    for (const file of filesIn(plans.ledger.content(seq))) {
      const known = found.get(file.version);
      if (known?.files.has(file.target) || !releases.has(file)) continue;
      const keyId = parseSignature(file.signature).id;
      // The files of a plan have one key.
      if (known && known.keyId !== keyId) continue;
      const release = known ?? { keyId, files: new Map<string, ReleasedBinary>() };
      release.files.set(file.target, file);
      found.set(file.version, release);
    }
  }
  return [...found]
    .map(([version, { keyId, files }]) => ({ version, keyId, files: [...files.values()] }))
    .sort((a, b) => compareVersions(b.version, a.version));
}

/** A file that is kept, as it is offered to hosts. */
export const offerOf = (service: KeptUses, file: ReleasedBinary) => ({
  version: file.version,
  target: file.target,
  verify: async () => (await service.releases()).verifyKept(file),
  async keep() {
    await (await service.releases()).keepOn(file);
    return file;
  },
});

/** No content of an upgrade is longer, in characters: it names 16 files at most. */
const MAX_CONTENT = 65_536;

/** The files of an upgrade that somebody with admin has planned; none for any other content. */
function filesIn(content: string): readonly ReleasedBinary[] {
  if (content.length > MAX_CONTENT) return [];
  // Another svc may have written it, and it may be gone since.
  const read = orElse(() => readContent(content), undefined);
  if (!read || read.scope !== null) return [];
  return releasedIn(read.actions) ?? [];
}
