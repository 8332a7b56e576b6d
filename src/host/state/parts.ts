/**
 * What of this host a state is about, as this feature uses it: the features themselves have it, and the service hands it over.
 */
import type { Caller } from "../../core/caller";
import type { Grant } from "../../core/rights";
import type { WantedJob, WantedScript } from "../../wire/state/wanted";

/** The stored scripts. */
export interface ScriptPart {
  /** The SHA-256 of each, by name. */
  digests(): ReadonlyMap<string, string>;
  /** The one that a script would have here. */
  digestOf(name: string, script: WantedScript): string;
  /** @throws a `bad_input` failure for a list that cannot be stored. */
  check(script: WantedScript): Promise<void>;
  /** Stores it in the place of what has its name, on record. */
  store(name: string, script: WantedScript, caller: Caller): Promise<void>;
  /** Nothing happens where it is gone already. */
  remove(name: string): Promise<void>;
}

/** The scheduled jobs. */
export interface JobPart {
  /** The ids of all. */
  ids(): Promise<readonly string[]>;
  /** The fields in which the job of that id differs; undefined where there is none. @throws `bad_input` for a job that cannot be. */
  differing(id: string, job: WantedJob, grant: Grant): Promise<readonly string[] | undefined>;
  /** Adds it, or puts it in the place of the one with its id, which keeps its count of runs. */
  put(id: string, job: WantedJob, grant: Grant): Promise<void>;
  /** Nothing happens where it is gone already. Its active run goes on. */
  remove(id: string): Promise<void>;
}

/** The settings. */
export interface SettingPart {
  list(): ReadonlyArray<{ readonly name: string; readonly value: readonly string[] }>;
  /** @throws `bad_input` for a name or a value that there is not. */
  check(name: string, value: readonly string[]): void;
  set(name: string, value: readonly string[]): Promise<void>;
}

/** All of it. */
export interface StateParts {
  readonly scripts: ScriptPart;
  readonly jobs: JobPart;
  readonly settings: SettingPart;
  /** The names of the secrets. */
  secrets(): readonly string[];
  /** `off`: the server was started without a black box. */
  readonly blackBox: "on" | "paused" | "off";
  readonly version: string;
}
