/**
 * Secrets that a person gives to a command: from a file, standard input, the environment or a prompt. Never from the
 * command line, which every user of the machine can read.
 */
import { readFileSync } from "node:fs";
import { badInput, cancelled, systemCode } from "./errors";

/** The first line of the file at `path`; of standard input for `-`. */
function firstLine(path: string, flag: string): string {
  try {
    const text = readFileSync(path === "-" ? 0 : path, "utf8");
    return text.split(/\r?\n/, 1)[0] ?? "";
  } catch (error) {
    throw badInput(`${flag}: cannot be read (${systemCode(error) ?? "unknown error"})`);
  }
}

export interface SecretSources {
  /** What it is called when it is asked for. */
  readonly name: string;
  /** Path of a file whose first line it is, `-` for standard input; and the flag that gave it. */
  readonly file?: string | undefined;
  readonly flag: string;
  /** The environment variable that may hold it. */
  readonly variable: string;
  /** Ask twice, since a new one that is mistyped cannot be found out later. */
  readonly confirm?: boolean;
}

/**
 * The secret, from its file, else its environment variable, else a prompt that shows nothing of it.
 *
 * @throws a `bad_input` failure when it is empty, or nobody is there to be asked; `cancelled` on Ctrl-C.
 */
export async function readSecret(
  sources: SecretSources,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const { name, file, flag, variable } = sources;
  const given = file !== undefined ? firstLine(file, flag) : env[variable];
  const secret = given ?? (await ask(sources));
  if (secret === "") throw badInput(`${name}: expected one that is not empty`);
  return secret;
}

async function ask({ name, flag, variable, confirm }: SecretSources): Promise<string> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw badInput(`${name}: expected ${flag}, ${variable}, or a terminal to ask on`);
  }
  const { default: password } = await import("@inquirer/password");
  const context = { output: process.stderr };
  try {
    const secret = await password({ message: name, mask: false }, context);
    if (!confirm) return secret;
    if ((await password({ message: `${name}, again`, mask: false }, context)) === secret) return secret;
  } catch (error) {
    if (error instanceof Error && error.name === "ExitPromptError") throw cancelled("cancelled");
    throw error;
  }
  throw badInput(`${name}: the two are not the same`);
}
