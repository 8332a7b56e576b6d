/** Robot Framework on this machine: its operations run here, or at the server on the same `{config_dir}`, as the owner calls them. */
import { libdocOf } from "../host/robot/libdoc";
import { createLibrary, keywordsOf } from "../host/robot/library";
import { listenOnLoopback } from "../host/robot/loopback";
import { badInput } from "../lib/errors";
import { writeNamedFile } from "../lib/files";
import { readToken } from "../trust/owner-token";
import { newToken } from "../trust/token";
import { answerFor } from "./answer";
import type { Service } from "./interface";

/** How `svc robot` serves. */
export interface RobotOptions {
  /** 0: a free one. */
  readonly port: number;
  /** The file with the token; without it, one is made. */
  readonly token_file?: string | undefined;
  /** Aborted when it is to end what it does. */
  readonly signal: AbortSignal;
}

/** Robot Framework on loopback. */
export interface RobotServer {
  readonly port: number;
  /** The token that was made; null where the file has it. */
  readonly token: string | null;
  /** Resolves when no call is under way. */
  stop(): Promise<void>;
}

/** @throws `unavailable` where the port is taken; `bad_input` where the file has no token. */
export async function openOnLoopback(
  service: Service,
  { port, token_file, signal }: RobotOptions,
): Promise<RobotServer> {
  const token = token_file === undefined ? newToken() : tokenIn(token_file);
  const library = createLibrary({
    service,
    log: service.log,
    executor: service.executor,
    operations: await service.operations(),
    perform: (operation, input, caller) => answerFor(service, operation, input, caller),
  });
  const server = listenOnLoopback(service, library, { port, token, signal });
  return { ...server, token: token_file === undefined ? token : null };
}

/** @throws a `bad_input` failure where there is none. */
function tokenIn(file: string): string {
  const token = readToken(file);
  if (token === undefined) throw badInput(`token_file: ${file} has no token`);
  return token;
}

/** Writes the documentation of all keywords. @throws a `bad_input` failure where the file cannot be written. */
export async function writeLibdoc(
  service: Service,
  file: string,
): Promise<{ file: string; keywords: number }> {
  const keywords = keywordsOf(await service.operations());
  writeNamedFile(file, `${JSON.stringify(libdocOf(keywords, new Date()), null, 2)}\n`, "libdoc");
  return { file, keywords: keywords.length };
}
