/**
 * Whether this machine is still the desk: its generation, and that a standby has taken it over from here.
 *
 * The promise: who takes a desk over has a higher generation than it, two that take over the same desk have two, and a word of a lower one,
 * such as that of a take-over which a person has taken back, changes nothing. A file that is broken counts as a desk that was taken over.
 */
import * as v from "valibot";
import { writeFileAtomic } from "../../../lib/files";
import { readTrustFile, unusable } from "../../../lib/trust-files";
import { valueIn } from "../../../lib/value-in";
import { newId } from "../../../wire/join/join-string";
import { MAX_STEP, OFFICE } from "../../../wire/join/office";

const { generation: GENERATION } = OFFICE;

const DESK_GENERATION = v.object({
  generation: GENERATION,
  /** When it began, ISO 8601. */
  since: v.string(),
  /** The id of the standby string with which this machine took over; null where a person has reinstated it. */
  by: v.nullable(v.string()),
  /** Which of several desks of the same hosts this is; empty for the first. */
  line: v.optional(OFFICE.line, ""),
});

export type DeskGeneration = v.InferOutput<typeof DESK_GENERATION>;

const TAKEN_OVER = v.object({
  generation: GENERATION,
  since: v.string(),
  /** The name of the standby that has taken over. */
  by: v.string(),
});

export type TakenOver = v.InferOutput<typeof TAKEN_OVER>;

/** The files of both, and the key with which the desk signs which it is. */
export interface OfficeFiles {
  readonly deskKey: string;
  readonly deskGeneration: string;
  readonly takenOver: string;
}

/** By how much a take-over raises the generation, at most: of two standbys that take over the same desk, one in a million has that of the other. */
const STEP = MAX_STEP / 1_000;

/** The generation that follows another: some higher number, which no other machine comes to by itself. */
export const nextGeneration = (before: number): number => before + 1 + Math.floor(Math.random() * STEP);

/** A desk that nobody has taken over yet. */
const FIRST: DeskGeneration = { generation: 0, since: "", by: null, line: "" };

/** The generation of this desk. @throws `unavailable` where the file is broken. */
export const generationOf = ({ deskGeneration }: Pick<OfficeFiles, "deskGeneration">): DeskGeneration =>
  read(deskGeneration, DESK_GENERATION) ?? FIRST;

/** The generation in the text of the file of a bundle; undefined where that is none. */
export const generationIn = (text: string | undefined): DeskGeneration | undefined =>
  text === undefined ? FIRST : valueIn(DESK_GENERATION, text);

/** The faults of the file in a bundle. */
export const generationFaults = (content: unknown): string[] =>
  v.is(DESK_GENERATION, content) ? [] : ["expected the generation of a desk"];

/** The text of the file on a machine that becomes a further desk of the same hosts: its line is its own, and stays. */
export function furtherDeskText(files: Pick<OfficeFiles, "deskGeneration">): string {
  const before = generationOf(files);
  if (before.line !== "") return generationText(before);
  return generationText({ ...FIRST, since: new Date().toISOString(), line: newId() });
}

/** The text of the file. */
export const generationText = (office: DeskGeneration): string => `${JSON.stringify(office)}\n`;

export const writeGeneration = ({ deskGeneration }: OfficeFiles, office: DeskGeneration): void =>
  writeFileAtomic(deskGeneration, generationText(office));

/** Who has taken this desk over; undefined while it is the desk. @throws `unavailable` where a file is broken. */
export function takenOverBy(files: OfficeFiles): TakenOver | undefined {
  const taken = read(files.takenOver, TAKEN_OVER);
  // One that was cut off while it was reinstated, or took over in its turn, may have the word that is over still.
  return taken && taken.generation >= generationOf(files).generation ? taken : undefined;
}

export const writeTakenOver = ({ takenOver }: OfficeFiles, taken: TakenOver): void =>
  writeFileAtomic(takenOver, `${JSON.stringify(taken)}\n`);

function read<S extends v.GenericSchema>(path: string, schema: S): v.InferOutput<S> | undefined {
  const text = readTrustFile(path);
  if (text === undefined) return undefined;
  const found = valueIn(schema, text.toString());
  if (found !== undefined) return found;
  throw unusable(path, "does not say who is the desk");
}
