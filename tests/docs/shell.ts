/** Command lines of `svc` in a shell script, as far as the pages go in writing some. */

/** The words after `svc` of every such command line in `code`, those for other shells (`ssh`, `$(…)`) included. */
export function svcLines(code: string): string[][] {
  const plain = code
    .replaceAll(/\\\n/g, " ")
    .replaceAll(/<<(\w+)$.*?^\1$/gms, "")
    .replaceAll(/(^|\s)#.*$/gm, "$1");
  const inner = [...plain.matchAll(/[$<]\(([^()]*)\)/g)].flatMap(([, inside = ""]) => svcLines(inside));
  const outer = simpleCommands(plain.replaceAll(/[$<]\([^()]*\)/g, "X")).flatMap((words) => {
    const [program = "", ...rest] = words.filter((word, at) => at > 0 || !/^(sudo|exec|\w+=.*)$/.test(word));
    if (/^(\.\/|dist\/)?svc$/.test(program)) return [rest];
    // What follows its flags and the host is a script.
    return program === "ssh"
      ? svcLines(rest.slice(rest.findIndex((word) => !word.startsWith("-")) + 1).join(" "))
      : [];
  });
  return [...inner, ...outer];
}

/** The words of each command between line ends, pipes and the like, without quotes and redirections. */
function simpleCommands(code: string): string[][] {
  const commands: string[][] = [];
  for (const line of code.split("\n")) {
    let words: string[] = [];
    for (const [word] of line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"|;&])+|[|;&]+/g)) {
      if (/^[|;&]+$/.test(word)) {
        commands.push(words);
        words = [];
      } else words.push(word);
    }
    commands.push(words);
  }
  return commands.map(withoutRedirections);
}

function withoutRedirections(words: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (/^\d?[<>]+$/.test(word)) at++;
    else if (!/^\d?[<>]/.test(word)) kept.push(word.replaceAll(/['"]/g, ""));
  }
  return kept;
}
