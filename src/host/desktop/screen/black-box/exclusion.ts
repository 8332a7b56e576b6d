/** Which windows the black box leaves out: by patterns of their titles and of the names of their programs. */

interface WindowNames {
  readonly title: string;
  /** The name of its program; null where the system does not say. */
  readonly program: string | null;
}

/** Whether a window is left out. */
export type IsExcluded = (window: WindowNames) => boolean;

/**
 * @param patterns a `*` stands for any text, a `?` for one character, in any case; a program is named with or without `.exe`.
 */
export function createExclusion(patterns: readonly string[]): IsExcluded {
  const all = patterns.map(expressionOf);
  return ({ title, program }) => {
    const names = [title, ...(program === null ? [] : [program, program.replace(/\.exe$/i, "")])];
    return all.some((pattern) => names.some((name) => pattern.test(name)));
  };
}

function expressionOf(pattern: string): RegExp {
  const escaped = pattern.replaceAll(/[.+^${}()|[\]\\/]/g, "\\$&");
  return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "isu");
}
