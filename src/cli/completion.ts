/**
 * Completing a command line: what may come next. The shells ask through the hidden `svc complete`, so that what they
 * offer follows from the subcommands themselves and is never out of date.
 */
import bash from "./completions/svc.bash" with { type: "text" };
import fish from "./completions/svc.fish" with { type: "text" };
import powershell from "./completions/svc.ps1" with { type: "text" };
import zsh from "./completions/svc.zsh" with { type: "text" };
import { CONFIG_DIR, type Flag } from "./flags";
import { GLOBAL_FLAGS } from "./parser";
import type { Registry } from "./registry";
import { findSubcommand } from "./run";
import type { Described, Subcommand } from "./subcommand";

/** The flags of every subcommand. */
const GLOBAL: readonly Described[] = [...listed(GLOBAL_FLAGS), ["--help", "Show help"]];

/**
 * @param words what stands after `svc`, the last of them still being typed (empty: nothing of it yet).
 * @returns what begins with the last word; nothing where anything goes, such as a path.
 */
export async function complete(registry: Registry, words: readonly string[]): Promise<Described[]> {
  const typed = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const offered = await following(registry, before, typed.startsWith("-"));
  return offered.filter(([text]) => text.startsWith(typed));
}

async function following(
  registry: Registry,
  before: readonly string[],
  flags: boolean,
): Promise<readonly Described[]> {
  if (before.at(-1) === CONFIG_DIR) return [];
  const found = await findSubcommand(registry, before);
  if ("one" in found) return own(found.one, found.rest, flags, found.verbs);
  if (!found.isKnown) return [];
  if (flags) return found.called === "svc" ? [...GLOBAL, ["--version", "Show the version"]] : GLOBAL;
  return found.help;
}

/** The flags of a subcommand, or the choices of the flag that is open or of its next argument. */
function own(
  one: Subcommand,
  after: readonly string[],
  flags: boolean,
  verbs: readonly Described[],
): readonly Described[] {
  const valued = (word: string | undefined) =>
    [...one.flags, ...GLOBAL_FLAGS].find(({ name, kind }) => kind !== "boolean" && word === `--${name}`);
  const open = valued(after.at(-1));
  if (open) return choices(open);
  if (flags) return [...listed(one.flags), ...GLOBAL];
  const isPlace = (word: string, at: number) => !word.startsWith("-") && !valued(after[at - 1]);
  const places = after.filter(isPlace).length;
  const place = one.positionals[places];
  return [...(places === 0 ? verbs : []), ...(place ? choices(place) : [])];
}

function listed(flags: readonly Flag[]): Described[] {
  return flags.map(({ name, describe }) => [`--${name}`, describe]);
}

const choices = (flag: Flag): Described[] => (flag.choices ?? []).map((choice) => [choice, ""]);

/** The hidden `svc complete`: a candidate a line, its description after a tab. */
export async function printCandidates(registry: Registry, words: readonly string[]): Promise<void> {
  // Some shells cannot pass an empty word; a blank one is the same.
  const candidates = await complete(
    registry,
    words.map((word) => word.trim()),
  );
  for (const [text, description] of candidates) console.log(description ? `${text}\t${description}` : text);
}

/** The completion script of each shell. */
export const scripts = { bash, zsh, fish, powershell } as const;
