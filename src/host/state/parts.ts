/**
 * What of this host a state is about, as this feature uses it: the features themselves have it, and the service hands it over.
 */
import type { Caller } from "../../core/caller";
import type { Grant } from "../../core/rights";
import type { WantedJob, WantedScript } from "../../wire/state/wanted";

/** What becomes of the things of a kind, by their names: all that a state wants, those of them to put here, and those to take away. */
export interface Change<T> {
  readonly wanted: Readonly<Record<string, T>>;
  readonly put: readonly string[];
  readonly remove: readonly string[];
}

/** A change that can be made. */
export interface PreparedScripts {
  /**
   * Stores the scripts in the places of those that have their names, on record, in one change. Where all together would be too many, those to
   * be removed go with it.
   */
  store(): Promise<void>;
  /** Removes those that are still to be removed. */
  remove(): Promise<void>;
}

/** The stored scripts. */
export interface ScriptPart {
  /** The SHA-256 of each, by name. */
  digests(): ReadonlyMap<string, string>;
  /** The one that a script would have here. */
  digestOf(name: string, script: WantedScript): string;
  /**
   * Checks what is to be stored, with what it calls: as it will be. Where some are removed, all that are wanted are checked.
   *
   * @throws a `bad_input` failure for what cannot be stored, or would call what is not there; `conflict` where there would be too many.
   */
  prepare(change: Change<WantedScript>, caller: Caller): Promise<PreparedScripts>;
}

/** The scheduled jobs, as they were when this was made. */
export interface JobPart {
  ids(): readonly string[];
  /** The fields in which the job of that id differs; undefined where there is none. @throws `bad_input` for a job that cannot be. */
  differing(id: string, job: WantedJob, grant: Grant): Promise<readonly string[] | undefined>;
  /**
   * Checks that there is room.
   *
   * @returns what adds the jobs, or puts each in the place of the one with its id, which keeps its count of runs; and removes the others, whose
   *   active runs go on. One change.
   * @throws `conflict` where there would be too many.
   */
  prepare(change: Change<WantedJob>, grant: Grant): Promise<() => Promise<void>>;
}

/** The settings. */
export interface SettingPart {
  list(): ReadonlyArray<{ readonly name: string; readonly value: readonly string[] }>;
  /** @throws `bad_input` for a name or a value that there is not. */
  check(name: string, value: readonly string[]): void;
  set(name: string, value: readonly string[]): Promise<void>;
}

/** The black box. */
export interface BlackBoxPart {
  /** `off`: the server was started without one, which nobody changes from afar. */
  readonly state: "on" | "paused" | "off";
  /** Whether a state has paused it: a pause of a person is for a person to end. */
  readonly isPausedByState: boolean;
  /**
   * Pauses it, or ends the pause of a state. Does nothing where it is paused already and that is written down, nor about a pause that a person
   * has made meanwhile.
   *
   * @param token who does it; null for the owner of the host.
   * @param state the name of the state that wants it so.
   * @throws `conflict` where it is off; `unavailable`, with the black box paused, where that cannot be written down.
   */
  set(isOn: boolean, token: string | null, state: string): Promise<void>;
}

/** All of it. */
export interface StateParts {
  readonly scripts: ScriptPart;
  readonly jobs: JobPart;
  readonly settings: SettingPart;
  /** The names of the secrets. */
  secrets(): readonly string[];
  /** Whether no token has that name any more. */
  isGone(token: string): boolean;
  readonly blackBox: BlackBoxPart;
  readonly version: string;
}
