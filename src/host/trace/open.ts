/**
 * Reading a trace, which anybody may have written: what is read of it is bounded.
 */
import * as v from "valibot";
import { badInput } from "../../lib/errors";
import { valueIn } from "../../lib/value-in";
import { openZip, type Zip } from "../../lib/zip";
import { LIMITS, RUN_FILE, STEP, STEPS_FILE, type Step, TRACED_RUN, type TracedRun } from "./trace";

/** The largest `run.json`, `steps.json` and picture that are read. */
const MAX_RUN = 1024 * 1024;
/** Somewhat more than is recorded: steps that have not ended do not count there. */
const MAX_STEPS = LIMITS.stepBytes + 2 * 1024 * 1024;
/** Also of all pictures together that are asked for: as much as is recorded, or one large picture. */
const MAX_PICTURE = 64 * 1024 * 1024;

/** Counted before any of them is looked at. */
const STEPS = v.pipe(
  v.unknown(),
  v.check((value) => Array.isArray(value) && value.length <= LIMITS.steps),
  v.array(STEP),
);

/** An open trace; dispose of it to close it. */
export interface Trace extends Disposable {
  readonly run: TracedRun;
  /** Read when they are asked for. @throws as {@link openTrace}. */
  steps(): Step[];
  names(): string[];
  /**
   * The bytes of the pictures of these names, one after the other. In an archive, many names may stand for one small place.
   *
   * @throws as {@link openTrace}, also where all together are too large: then before the first.
   */
  pictures(names: readonly string[]): Iterable<readonly [name: string, bytes: Buffer]>;
}

/** Opens the trace at `path`. @throws a `bad_input` failure when it cannot be read or is no trace. */
export function openTrace(path: string): Trace {
  const zip = openZip(path, "trace");
  try {
    return {
      run: parsed(TRACED_RUN, zip, RUN_FILE, MAX_RUN),
      names: () => zip.names(),
      pictures: (names) => picturesIn(zip, names),
      steps: () => parsed(STEPS, zip, STEPS_FILE, MAX_STEPS),
      [Symbol.dispose]: () => zip[Symbol.dispose](),
    };
  } catch (error) {
    zip[Symbol.dispose]();
    throw error;
  }
}

function* picturesIn(zip: Zip, names: readonly string[]): Generator<readonly [string, Buffer]> {
  if (names.reduce((sum, name) => sum + (zip.size(name) ?? 0), 0) > MAX_PICTURE)
    throw badInput(`trace: its pictures have more than ${MAX_PICTURE} bytes`);
  for (const name of names) yield [name, zip.read(name, MAX_PICTURE)];
}

function parsed<S extends v.GenericSchema>(schema: S, zip: Zip, name: string, max: number): v.InferOutput<S> {
  const found = valueIn(schema, zip.read(name, max).toString("utf8"));
  if (found === undefined) throw badInput(`trace: ${name} in it is not of a trace of svc`);
  return found;
}
