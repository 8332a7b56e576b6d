/**
 * What a desk does that was taken over: it takes note, and nothing more of its plans begins.
 */
import type { Publish } from "../../../core/events";
import { rejected } from "../../../lib/errors";
import { deskTakenOver } from "./events";
import {
  generationOf,
  MAX_STEP,
  type OfficeFiles,
  type TakenOver,
  takenOverBy,
  writeTakenOver,
} from "./office";

/** What it uses. */
export interface DeposedUses {
  readonly files: OfficeFiles;
  readonly publish: Publish;
  /** Pauses the plans of this desk, and ends its broadcasts. */
  yieldPlans(by: string): Promise<void>;
}

/**
 * Takes note that the standby `name` has taken this desk over, unless this desk has a generation as high: a person has reinstated it.
 *
 * @param announce is called before anything changes.
 * @throws `rejected` for a generation that no standby of this desk can have.
 */
export async function yieldTo(
  { files, publish, yieldPlans }: DeposedUses,
  { name, generation }: { readonly name: string; readonly generation: number },
  announce: (subject: string) => Promise<void>,
): Promise<{ readonly yielded: boolean; readonly generation: number }> {
  const known = () => {
    const before = takenOverBy(files);
    if (before && before.generation >= generation) return { yielded: true, generation: before.generation };
    const own = generationOf(files).generation;
    return own >= generation ? { yielded: false, generation: own } : undefined;
  };
  const before = known();
  if (before) return before;
  const own = generationOf(files).generation;
  if (generation > own + MAX_STEP)
    throw rejected(`generation: expected at most ${own + MAX_STEP} but found ${generation}`);
  await announce(`standby.yield standby=${JSON.stringify(name)} generation=${generation}`);
  // Another word may have come meanwhile.
  const meanwhile = known();
  if (meanwhile) return meanwhile;
  const taken: TakenOver = { generation, since: new Date().toISOString(), by: name };
  writeTakenOver(files, taken);
  publish(deskTakenOver, { name, generation });
  await yieldPlans(name);
  return { yielded: true, generation };
}
