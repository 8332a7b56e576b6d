/**
 * Asking a desk elsewhere, by the route of each operation.
 *
 * The promise: beside `--desk`, nothing of this machine is used in place of the desk. What would is refused before anything is sent.
 */
import type * as v from "valibot";
import { RemoteError } from "../../client/carrier";
import { NOT_PINNED } from "../../client/dial";
import { callRemote, failureIn, type Patience } from "../../client/remote-call";
import { parseInput } from "../../core/input";
import type { InputSchema, Operation, OutputSchema } from "../../core/operation";
import { metadataOf } from "../../core/schema";
import { badInput, cancelled, type Failure, forbidden, timedOut, unavailable } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import type { Service } from "../../service/service";
import { HERE_ONLY } from "../subcommand";
import { type Login, loginsIn, serverOf } from "./logins";

/** How long a desk may take to answer, in milliseconds; and what may run for long, such as a broadcast. */
const SEND_MS = 15_000;
const ANSWER_MS = 30_000;
const LONG_MS = 24 * 3_600_000;

/**
 * The answer of `desk` to `operation`.
 *
 * @throws the failure that it answers with; `bad_input` for what only works on the machine of the desk; `forbidden` where it refuses the
 *   token; `timeout` or `unavailable` where it cannot be reached or is another one.
 */
export async function askDesk<I extends InputSchema, O extends OutputSchema, S extends object>(
  desk: Login,
  operation: Operation<I, O, S>,
  input: v.InferInput<I>,
  signal?: AbortSignal,
): Promise<v.InferOutput<O>> {
  parseInput(operation.input, input);
  requireRoute(operation);
  requireNoPath(operation.input, input);
  const { http, changes } = operation;
  const isLong = http?.long !== undefined || changes !== undefined || !http;
  const patience: Patience = { sendMs: SEND_MS, answerMs: isLong ? LONG_MS : ANSWER_MS };
  try {
    return await callRemote(serverOf(desk), operation, input, patience, signal);
  } catch (error) {
    throw error instanceof RemoteError ? failureAt(desk, error) : error;
  }
}

function requireRoute({ http, command, leftOut }: Pick<Operation, "http" | "command" | "leftOut">): void {
  if (http?.public === "signed" || (!command && (!http || http.content))) {
    const why = leftOut?.http ?? "it has no route that answers with JSON";
    throw badInput(`--desk: this command works on the machine of the desk only: ${why}`);
  }
}

/** A path that was typed is one of this machine, and the desk would take it for one of its own. A stored script has none. */
function requireNoPath({ entries }: InputSchema, input: Readonly<Record<string, unknown>>): void {
  const name = Object.keys(entries).find((field) => {
    const entry = entries[field];
    const isPath = entry && metadataOf(entry).text === "path";
    return isPath && input[field] !== undefined && !`${input[field]}`.startsWith("script:");
  });
  if (name !== undefined) {
    throw badInput(`${name}: expected without --desk: it names a file on the machine of the desk`);
  }
}

/** Why a desk gave no answer, with what to do about it. */
function failureAt({ name, url }: Login, error: RemoteError): Failure {
  const { fault, message, refusal } = error;
  const said = failureIn(error);
  if (said) return said;
  if (fault === "cancelled") return cancelled("cancelled");
  const where = `desk ${name} (${url})`;
  const again = `\`svc login ${url} --name ${name}\``;
  if (fault === "unauthorized" && !refusal) {
    return forbidden(`${where} refuses the token (${printable(message, 300)}): ${again} takes another`);
  }
  if (Object.values(NOT_PINNED).some((text) => text === message)) {
    return unavailable(
      `${where}: ${message}: another server may have answered. Where its key was exchanged on purpose, compare \`svc pin\` there, then ${again} --pin PIN`,
    );
  }
  return (fault === "timeout" ? timedOut : unavailable)(`${where}: ${printable(message, 300)}`);
}

/** Lets `work` use what asks the desk of that name: a service of which all else is refused. */
export function withDesk<T>(
  configDir: string,
  name: string,
  log: Log,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const desk = loginsIn(configDir, log).named(name);
  const own: Partial<Service> = {
    log,
    elsewhere: (operation, input, signal) => askDesk(desk, operation, input, signal),
    ownEvents: async () => () => serverOf(desk),
  };
  const service = new Proxy(own, {
    get(known, key) {
      if (typeof key === "symbol" || Object.hasOwn(known, key)) return Reflect.get(known, key);
      throw badInput(HERE_ONLY);
    },
  });
  return work(service as Service);
}
