/**
 * Completing a command line: what may come next. The shells ask through the hidden `svc complete`, so that what they
 * offer follows from the subcommands themselves and is never out of date.
 */

import { machineFolder } from "../lib/machine-service";
import { goingOn, kindOf, type NamesOf, namesHere } from "./completed-names";
import bash from "./completions/svc.bash" with { type: "text" };
import fish from "./completions/svc.fish" with { type: "text" };
import powershell from "./completions/svc.ps1" with { type: "text" };
import zsh from "./completions/svc.zsh" with { type: "text" };
import { CONFIG_DIR, DESK, type Flag, VALUED, withLongNames } from "./flags";
import { GLOBAL_FLAGS } from "./parser";
import type { Registry } from "./registry";
import { findSubcommand } from "./run";
import type { Description, Subcommand } from "./subcommand";

const GLOBAL: readonly Description[] = [...listed(GLOBAL_FLAGS), ["--help", "Show help"]];

/**
 * @param words what stands after `svc`, the last of them still being typed (empty: nothing of it yet).
 * @param namesOf the names that are there, such as those of hosts.
 * @returns what begins with the last word; nothing where anything goes, such as a path.
 */
export async function complete(
  registry: Registry,
  words: readonly string[],
  namesOf: NamesOf = async () => [],
): Promise<Description[]> {
  // `--on=lab` is the flag and its value.
  const [, flag, value] = /^(--[a-z-]+)=(.*)$/s.exec(words.at(-1) ?? "") ?? [];
  if (flag !== undefined && value !== undefined) {
    const offered = await complete(registry, [...words.slice(0, -1), flag, value], namesOf);
    return offered.map(([text, description]) => [`${flag}=${text}`, description]);
  }
  const typed = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const offered = await following(registry, before, typed, namesOf);
  return offered.filter(([text]) => text.startsWith(typed));
}

async function following(
  registry: Registry,
  before: readonly string[],
  typed: string,
  namesOf: NamesOf,
): Promise<readonly Description[]> {
  if (before.at(-1) === DESK) return namesOf("desk");
  if (VALUED.includes(before.at(-1))) return [];
  const found = await findSubcommand(registry, before);
  const takesDashes = "one" in found && found.one.dashedWords === true && /^-[^-]/.test(typed);
  const flags = typed.startsWith("-") && !takesDashes;
  if ("one" in found) {
    const { one, rest, verbs, called } = found;
    const { words, taken } = own(one, rest, flags, verbs);
    const kind = taken && kindOf(called, taken);
    return kind ? [...words, ...goingOn(kind, typed, await namesOf(kind))] : words;
  }
  if (!found.isKnown) return [];
  if (flags) return found.called === "svc" ? [...GLOBAL, ["--version", "Show the version"]] : GLOBAL;
  return found.help;
}

/** What may follow, and the flag or the argument whose value it would be. */
interface Candidates {
  readonly words: readonly Description[];
  readonly taken?: Flag | undefined;
}

/** The flags of a subcommand, or the choices of the flag that is open or of its next argument. */
function own(
  one: Subcommand,
  rest: readonly string[],
  flags: boolean,
  verbs: readonly Description[],
): Candidates {
  const all = [...one.flags, ...GLOBAL_FLAGS];
  const after = withLongNames(rest, all);
  const valued = (word: string | undefined) =>
    all.find(({ name, kind }) => kind !== "boolean" && word === `--${name}`);
  const open = valued(after.at(-1));
  if (open) return { words: choices(open), taken: open };
  if (flags) return { words: [...listed(one.flags), ...GLOBAL] };
  const isPlace = (word: string, at: number) => !word.startsWith("-") && !valued(after[at - 1]);
  const places = after.filter(isPlace).length;
  const last = one.positionals.at(-1);
  // The last one may take several values.
  const place = one.positionals[places] ?? (last?.kind === "list" ? last : undefined);
  return { words: [...(places === 0 ? verbs : []), ...(place ? choices(place) : [])], taken: place };
}

function listed(flags: readonly Flag[]): Description[] {
  return flags.map(({ name, describe }) => [`--${name}`, describe]);
}

const choices = (flag: Flag): Description[] => (flag.choices ?? []).map((choice) => [choice, ""]);

/** The hidden `svc complete`: a candidate a line, its description after a tab. */
export async function printCandidates(registry: Registry, words: readonly string[]): Promise<void> {
  // Some shells cannot pass an empty word; a blank one is the same.
  const typed = words.map((word) => word.trim());
  const before = typed.slice(0, -1);
  const isMachine = before.includes("--system");
  const configDir = isMachine ? machineFolder() : valueAfter(CONFIG_DIR, before);
  const desk = valueAfter(DESK, before) ?? (isMachine ? undefined : process.env.SVC_DESK || undefined);
  const candidates = await complete(registry, typed, namesHere(registry, configDir, desk));
  for (const [text, description] of candidates) console.log(description ? `${text}\t${description}` : text);
}

/** The value of a flag that every subcommand takes. */
function valueAfter(flag: string, words: readonly string[]): string | undefined {
  const at = words.indexOf(flag);
  return at < 0
    ? words.findLast((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1)
    : words[at + 1];
}

/** The completion script of each shell. */
export const scripts = { bash, zsh, fish, powershell } as const;
