/**
 * Script files: an action list, or `{"auto_control": [ … ]}` around it, in a regular `.json` file.
 */
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { badInput, Failure, messageOf, systemCode } from "../lib/errors";

/** The largest script that is read, in bytes: much more than 1,000 actions need. */
const MAX_SCRIPT_BYTES = 4 * 1024 * 1024;

/**
 * The unchecked action list in the script at `path`.
 *
 * @throws a `bad_input` failure when there is no such file, it is not a regular `.json` file (also behind a symbolic
 *   link), it is too large, or it is not JSON in UTF-8. No message quotes the content.
 */
export async function readScript(path: string): Promise<unknown> {
  return parseScript(await readRegularJson(path), "path: the file is not JSON in UTF-8");
}

/**
 * The unchecked action list in `script`. Bytes may begin with a byte order mark.
 *
 * @throws a `bad_input` failure with the message `otherwise` when it is not JSON in UTF-8.
 */
export function parseScript(script: string | Uint8Array, otherwise: string): unknown {
  const content = parse(script, otherwise);
  const wrapped = typeof content === "object" && content !== null && !Array.isArray(content);
  return wrapped && "auto_control" in content ? content.auto_control : content;
}

async function readRegularJson(path: string): Promise<Uint8Array> {
  try {
    const real = await realpath(path);
    if (!path.endsWith(".json") || !real.endsWith(".json")) throw badInput("path: expected a .json file");
    // Without O_NONBLOCK, opening a FIFO waits for a writer (open(2)).
    const file = await open(real, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const found = await file.stat();
      if (!found.isFile()) throw badInput("path: expected a regular file");
      if (found.size > MAX_SCRIPT_BYTES) throw badInput(`path: expected at most ${MAX_SCRIPT_BYTES} bytes`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") throw badInput("path: no such file");
    if (code === "EACCES" || code === "EPERM") throw badInput("path: not readable");
    if (/^(ELOOP|ENAMETOOLONG|EINVAL|ERR_INVALID_ARG_VALUE)$/.test(code ?? "")) {
      throw badInput("path: not a usable path");
    }
    throw badInput(`path: cannot be read (${code ?? messageOf(error)})`);
  }
}

function parse(script: string | Uint8Array, otherwise: string): unknown {
  try {
    // Not lenient: a replacement character would be typed on the keyboard.
    const decoded =
      typeof script === "string" ? script : new TextDecoder("utf-8", { fatal: true }).decode(script);
    return JSON.parse(decoded);
  } catch {
    throw badInput(otherwise);
  }
}
