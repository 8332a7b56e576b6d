/**
 * What a desk does that was taken over: it takes note, and nothing more of its plans begins.
 */
import type { Publish } from "../../../core/events";
import { rejected } from "../../../lib/errors";
import { deskTakenOver } from "./events";
import { generationOf, type OfficeFiles, type TakenOver, takenOverBy, writeTakenOver } from "./office";

/** By how much a word may raise the generation: with a stolen string, nobody takes it to where it cannot be raised any more. */
const MAX_STEP = 1_000;

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
  const before = takenOverBy(files);
  if (before && before.generation >= generation) return { yielded: true, generation: before.generation };
  const own = generationOf(files).generation;
  if (own >= generation) return { yielded: false, generation: own };
  if (generation > own + MAX_STEP)
    throw rejected(`generation: expected at most ${own + MAX_STEP} but found ${generation}`);
  await announce(`standby.yield standby=${JSON.stringify(name)} generation=${generation}`);
  const taken: TakenOver = { generation, since: new Date().toISOString(), by: name };
  writeTakenOver(files, taken);
  publish(deskTakenOver, { name, generation });
  await yieldPlans(name);
  return { yielded: true, generation };
}
