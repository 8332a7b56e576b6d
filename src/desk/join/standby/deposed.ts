/**
 * What a desk does that was taken over: it takes note, and nothing more of its plans begins.
 */
import type { Publish } from "../../../core/events";
import { conflict, forbidden, rejected } from "../../../lib/errors";
import { isSignedBy, readSigningKey } from "../../../trust/identity";
import { MAX_STEP, type Office } from "../../../wire/join/office";
import { yieldMessage } from "./endpoints";
import { deskTakenOver } from "./events";
import { generationOf, type OfficeFiles, type TakenOver, takenOverBy, writeTakenOver } from "./office";

/** Who has taken this desk over, where that cannot be written: the disk may be full. */
export interface OfficeNote {
  taken?: TakenOver | undefined;
}

/** Who has taken over, where a host alone says so. */
export const UNNAMED = "unnamed";

/** What it uses. */
export interface DeposedUses {
  readonly files: OfficeFiles;
  readonly publish: Publish;
  /** What is known, while it is not on disk: nothing is sent then either. */
  readonly unwritten: OfficeNote;
  /** Pauses the plans of this desk, and ends its broadcasts. */
  yieldPlans(by: string): Promise<void>;
}

/** What a standby says that has taken over. */
interface Word extends Office {
  /** Of its string. */
  readonly id: string;
  readonly signature: string;
}

/** @throws `forbidden` where the key of this desk has not signed that; `conflict` where it is of another desk of the same hosts. */
export function requireWord(files: OfficeFiles, { id, signature, ...office }: Word): void {
  const key = readSigningKey(files.deskKey);
  if (!key || !isSignedBy(key.publicKey, yieldMessage(id, office), signature))
    throw forbidden(
      "the signature is not that of the key of this desk: a standby that has taken over has it",
    );
  if (generationOf(files).line !== office.line) throw conflict("this is another desk of the same hosts");
}

/**
 * Takes note that the standby `name` has taken this desk over, unless this desk has a generation as high: a person has reinstated it.
 *
 * @param announce is called before anything changes on disk; from before then on, this desk sends nothing, also where it fails.
 * @throws `rejected` for a generation that no standby of this desk can have.
 */
export async function yieldTo(
  { files, publish, unwritten, yieldPlans }: DeposedUses,
  { name, generation }: { readonly name: string; readonly generation: number },
  announce: (subject: string) => Promise<void>,
): Promise<{ readonly yielded: boolean; readonly generation: number }> {
  const known = () => {
    const before = takenOverBy(files);
    if (before && before.generation >= generation) return { yielded: true, generation: before.generation };
    const own = generationOf(files).generation;
    return own >= generation ? { yielded: false, generation: own } : undefined;
  };
  nameIt(files, name, generation);
  const before = known();
  if (before) return before;
  const own = generationOf(files).generation;
  if (generation > own + MAX_STEP)
    throw rejected(`generation: expected at most ${own + MAX_STEP} but found ${generation}`);
  const taken: TakenOver = { generation, since: new Date().toISOString(), by: name };
  if ((unwritten.taken?.generation ?? 0) < generation) unwritten.taken = taken;
  await announce(`standby.yield standby=${JSON.stringify(name)} generation=${generation}`);
  // Another word may have come meanwhile.
  const meanwhile = known();
  if (!meanwhile) writeTakenOver(files, taken);
  if ((unwritten.taken?.generation ?? 0) <= generation) unwritten.taken = undefined;
  if (meanwhile) return meanwhile;
  publish(deskTakenOver, { name, generation });
  await yieldPlans(name);
  return { yielded: true, generation };
}

/** A host says that this desk was taken over, and not by whom; the standby says that. */
function nameIt(files: OfficeFiles, name: string, generation: number): void {
  const before = takenOverBy(files);
  if (before?.generation === generation && before.by === UNNAMED && name !== UNNAMED)
    writeTakenOver(files, { ...before, by: name });
}

/** Writes what could not be written. @throws why it cannot be yet. */
export async function writeUnwritten(
  uses: DeposedUses,
  announce: (subject: string) => Promise<void>,
): Promise<void> {
  const { taken } = uses.unwritten;
  if (!taken) return;
  await yieldTo(uses, { name: taken.by, generation: taken.generation }, announce);
  // A person has reinstated this desk meanwhile, or it is on disk.
  if (uses.unwritten.taken === taken) uses.unwritten.taken = undefined;
}
