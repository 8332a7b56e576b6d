/**
 * Secrets that a person gives to a command: from a file, standard input, the environment or a prompt. Never from the
 * command line, which every user of the machine can read.
 */
import { badInput, cancelled } from "./errors";
import { readTextFile } from "./files";

interface SecretSources {
  readonly name: string;
  /** The path of a file whose first line it is, `-` for standard input, and the flag that named it. */
  readonly file?: string | undefined;
  readonly flag: string;
  /** The environment variable that may hold it. */
  readonly variable: string;
  /** Ask twice: a typing error in a new secret would show only when it is too late. */
  readonly confirm?: boolean;
}

/**
 * The secret from its file, else its environment variable, else a prompt that does not show it.
 *
 * @throws a `bad_input` failure when it is empty, or there is no terminal for a prompt; `cancelled` on Ctrl-C.
 */
export async function readSecret(sources: SecretSources): Promise<string> {
  const { name, file, flag, variable } = sources;
  const given = file === undefined ? process.env[variable] : readTextFile(file, flag).split(/\r?\n/, 1)[0];
  const secret = given ?? (await ask(sources));
  if (secret === "") {
    throw badInput(`${name}: ${file === "-" ? "nothing came on standard input" : "must not be empty"}`);
  }
  return secret;
}

async function ask({ name, flag, variable, confirm }: SecretSources): Promise<string> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    const ways = [flag, variable, "or a terminal"].filter(Boolean);
    throw badInput(`${name}: expected ${ways.join(", ")}`);
  }
  const { default: password } = await import("@inquirer/password");
  // The end of the terminal ends the question.
  process.stderr.on("error", () => {});
  const context = { output: process.stderr };
  try {
    const secret = await password({ message: name, mask: false }, context);
    if (!confirm) return secret;
    if ((await password({ message: `${name}, again`, mask: false }, context)) === secret) return secret;
  } catch (error) {
    if (!(error instanceof Error && error.name === "ExitPromptError")) throw error;
    // The prompt reads Ctrl-C as a key: it stands in for the terminal, which signals the whole process group.
    if (error.message.endsWith("SIGINT")) process.kill(0, "SIGINT");
    throw cancelled("cancelled");
  }
  throw badInput(`${name}: the two entries differ`);
}
