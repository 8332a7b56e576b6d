/**
 * A call of a keyword: does it with the rights of its caller, and says how it ended as Robot Framework wants to know it. Never with a stack.
 */
import { callOperation } from "../../core/call";
import type { Caller } from "../../core/caller";
import type { Operation } from "../../core/operation";
import { missingFor } from "../../core/rights";
import { badInput, type Failure, type FailureCode, failureOf, messageOf, rejected } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import type { Executor } from "../runs/executor";
import { givenOf, type Hands, type Keyword, type KeywordInput } from "./keyword";

/** What keywords are run with. */
export interface RunParts {
  readonly service: object;
  readonly operations: readonly Operation[];
  readonly log: Log;
  executor(): Promise<Pick<Executor, "runOne">>;
  /** Calls an operation (default: in this process). */
  perform?(operation: Operation, input: KeywordInput, caller: Caller): unknown;
}

/** How a keyword ended: the dictionary of the remote library interface. */
interface Ending {
  readonly status: "PASS" | "FAIL";
  /** Lines of the log, each with its level. */
  readonly output: string;
  readonly return?: unknown;
  readonly error?: string;
  /** Set where no other keyword can do anything: Robot ends the whole run. */
  readonly fatal?: true;
}

/** How many characters of what a run logs. */
const MAX_LOGGED = 20_000;

/** The failures that are about the call: the screen says nothing of them. */
const OF_THE_CALL: readonly FailureCode[] = ["bad_input", "forbidden", "too_many", "too_large", "cancelled"];

/** Runs a keyword. Never throws: what goes wrong is how it ended. */
export async function runKeyword(
  parts: RunParts,
  keyword: Keyword,
  args: readonly unknown[],
  named: KeywordInput,
  asking: Caller,
): Promise<Ending> {
  const lines: string[] = [];
  let logged = 0;
  const caller: Caller = {
    ...asking,
    logged(message) {
      logged += message.length;
      if (logged <= MAX_LOGGED) lines.push(`*INFO* ${printable(message)}`);
    },
    warn: (text) => lines.push(`*WARN* ${printable(text)}`),
  };
  const hands = handsOf(parts, caller, lines);
  try {
    const value = await keyword.run(hands, givenOf(keyword.parameters, args, named));
    return { status: "PASS", output: lines.join("\n"), return: value };
  } catch (thrown) {
    const failure = failureOf(thrown);
    if (!failure) parts.log.error(`${keyword.name} failed: ${messageOf(thrown)}`, thrown);
    if (failure && !OF_THE_CALL.includes(failure.code)) await showMoment(parts, hands, caller, lines);
    const error = inPlainWords(failure?.message ?? "internal error");
    const isOver = failure?.code === "no_screen";
    return { status: "FAIL", output: lines.join("\n"), error, ...(isOver && { fatal: true as const }) };
  }
}

/** Robot takes what begins so for a page of its log: what a program shows must not be one. */
const inPlainWords = (message: string): string =>
  message.trimStart().startsWith("*") ? `svc: ${message}` : message;

function handsOf(parts: RunParts, caller: Caller, lines: string[]): Hands {
  const call = async (name: string, input: KeywordInput) => {
    const operation = parts.operations.find((one) => one.name === name);
    if (!operation) throw badInput(`there is no ${name}`);
    return parts.perform
      ? parts.perform(operation, input, caller)
      : callOperation(parts.service, operation, input, caller);
  };
  return {
    caller,
    call,
    async action(command, input) {
      const { outcomes, error_text } = await (await parts.executor()).runOne(command, input, caller);
      const [outcome] = outcomes;
      if (outcome?.ok) return outcome.result ?? null;
      const { error = error_text ?? "it has not run", detail = {} } = outcome ?? {};
      throw outcomeFailure(error, detail);
    },
    async showScreen() {
      const { pictureLine } = await import("./pictures");
      lines.push(await pictureLine(await call("desktop.screenshot", {})));
    },
  };
}

/** The failure of an action, with what a program said on stderr where that is a part of it. */
function outcomeFailure(error: string, detail: KeywordInput): Failure {
  const { stderr } = detail;
  const said = typeof stderr === "string" && stderr.trim() !== "" ? `\n${stderr.trim().slice(-2_000)}` : "";
  return rejected(`${error}${said}`);
}

/** A picture of the screen as it is now, where the caller may see it. */
async function showMoment(parts: RunParts, hands: Hands, caller: Caller, lines: string[]): Promise<void> {
  const screenshot = parts.operations.find(({ name }) => name === "desktop.screenshot");
  if (!screenshot || missingFor(caller.grant, screenshot) !== undefined) return;
  try {
    await hands.showScreen();
  } catch (error) {
    lines.push(`*DEBUG* no picture of the screen: ${printable(messageOf(error), 300)}`);
  }
}
