/**
 * Completing a command line: what may come next. The shells ask through the hidden `svc complete`, so that what they
 * offer follows from the subcommands themselves and is never out of date.
 */
import type { AnyCommand, CommandGroup } from "./command";
import { commands } from "./registry";

/** What the last word may become, and what that does. */
export type Candidate = readonly [text: string, description: string];

const CONFIG_DIR = "--config-dir";

/** The flags of every subcommand. */
const GLOBAL: readonly Candidate[] = [
  [CONFIG_DIR, "Folder that holds everything svc keeps"],
  ["--json", "Print what the HTTP API would answer"],
  ["--help", "Show help"],
];

/**
 * @param words what stands after `svc`, the last of them still being typed (empty: nothing of it yet).
 * @returns what begins with the last word; nothing where anything goes, such as a path.
 */
export async function complete(words: readonly string[]): Promise<Candidate[]> {
  const typed = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const offered = await following(before, typed.startsWith("-"));
  return offered.filter(([text]) => text.startsWith(typed));
}

async function following(before: readonly string[], flags: boolean): Promise<readonly Candidate[]> {
  if (before.at(-1) === CONFIG_DIR) return [];
  const words = before.filter((word, at) => word !== CONFIG_DIR && before[at - 1] !== CONFIG_DIR);
  const [first, after] = firstWord(words);
  if (first === undefined) {
    return flags ? [...GLOBAL, ["--version", "Show the version"]] : named(commands.map(asCandidate));
  }
  const entry = commands.find(({ usage }) => wordOf(usage) === first);
  if (!entry) return [];
  const module = (await entry.load()).default;
  if (!("group" in module)) return own(module, after, flags);
  const group: CommandGroup["group"] = module.group;
  const [second, rest] = firstWord(after);
  if (second === undefined) {
    return flags ? GLOBAL : named(Object.entries(group).map(([usage, { describe }]) => [usage, describe]));
  }
  const found = Object.entries(group).find(([usage]) => wordOf(usage) === second)?.[1];
  return found ? own(found, rest, flags) : [];
}

/** The first of `words` that is no flag, and what stands after it. */
function firstWord(words: readonly string[]): [string | undefined, readonly string[]] {
  const at = words.findIndex((word) => !word.startsWith("-"));
  return at < 0 ? [undefined, []] : [words[at], words.slice(at + 1)];
}

/** The flags of a subcommand, or the choices of the flag that is open or of its first argument. */
function own(module: AnyCommand, after: readonly string[], flags: boolean): readonly Candidate[] {
  const declared = declarations(module);
  const options = declared.filter(({ kind }) => kind === "option");
  const valued = (flag: string | undefined) =>
    options.find(({ name, boolean }) => !boolean && flag === `--${name}`);
  const open = valued(after.at(-1));
  if (open) return (open.choices ?? []).map((choice) => [choice, ""]);
  if (flags) return [...options.map(({ name, describe }): Candidate => [`--${name}`, describe]), ...GLOBAL];
  if (after.some((word, at) => !word.startsWith("-") && !valued(after[at - 1]))) return [];
  const argument = declared.find(({ kind }) => kind === "positional");
  return (argument?.choices ?? []).map((choice) => [choice, ""]);
}

interface Declaration {
  readonly kind: "option" | "positional";
  readonly name: string;
  readonly describe: string;
  readonly boolean: boolean;
  readonly choices: readonly string[] | undefined;
}

/** What a subcommand declares to the parser; a stand-in for the parser writes it down. */
function declarations(module: AnyCommand): Declaration[] {
  const found: Declaration[] = [];
  const standIn: object = new Proxy(
    {},
    {
      get: (_target, method) => (name: unknown, told: Partial<Record<string, unknown>> | undefined) => {
        if ((method === "option" || method === "positional") && typeof name === "string") {
          found.push({
            kind: method,
            name,
            describe: String(told?.describe ?? ""),
            boolean: told?.type === "boolean",
            choices: Array.isArray(told?.choices) ? told.choices.map(String) : undefined,
          });
        }
        return standIn;
      },
    },
  );
  module.builder(standIn as Parameters<AnyCommand["builder"]>[0]);
  return found;
}

/** `audit` of `audit <action>`. */
const wordOf = (usage: string) => usage.split(" ")[0] ?? usage;
const asCandidate = ({ usage, describe }: { usage: string; describe: string }): Candidate => [
  usage,
  describe,
];
const named = (usages: readonly Candidate[]): Candidate[] =>
  usages.map(([usage, describe]) => [wordOf(usage), describe]);

/** The hidden subcommand: a candidate a line, its description after a tab. */
export default async function (words: readonly string[]): Promise<void> {
  // Some shells cannot hand over an empty word; a blank one is the same.
  const candidates = await complete(words.map((word) => word.trim()));
  for (const [text, description] of candidates) console.log(description ? `${text}\t${description}` : text);
}

/** What the named shell has to be told. */
export const scripts: Readonly<Record<"bash" | "zsh" | "fish" | "powershell", string>> = {
  bash: `_svc() {
  local text
  COMPREPLY=()
  while IFS=$'\\t' read -r text _; do COMPREPLY+=("$text"); done \\
    < <(svc complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _svc svc
`,
  zsh: `#compdef svc
_svc() {
  local -a found
  local text description
  while IFS=$'\\t' read -r text description; do
    found+=("\${text//:/\\\\:}\${description:+:$description}")
  done < <(svc complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( $#found )); then _describe svc found; else _files; fi
}
if [ "$funcstack[1]" = "_svc" ]; then _svc "$@"; else compdef _svc svc; fi
`,
  fish: `function __svc_complete
    set -l found (svc complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c svc -f -a '(__svc_complete)'
`,
  powershell: `Register-ArgumentCompleter -Native -CommandName svc -ScriptBlock {
  param($word, $ast, $position)
  $before = $ast.CommandElements | Where-Object { $_.Extent.StartOffset -lt $position }
  $words = @($before | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($word -eq '') { $words += ' ' }
  svc complete @words 2>$null | ForEach-Object {
    $text, $description = $_ -split "\`t", 2
    if (-not $description) { $description = $text }
    [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $description)
  }
}
`,
};
