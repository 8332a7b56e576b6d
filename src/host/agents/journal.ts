/**
 * Remembers what agents do, call by call, so that a script can be made of it.
 *
 * Promise: what cannot be remembered fails no call, and no text of a secret field reaches the store.
 */
import type { ActedOn } from "../../core/acted";
import type { Caller } from "../../core/caller";
import type { Operation } from "../../core/operation";
import { messageOf } from "../../lib/errors";
import { innerValues } from "../../lib/inner-values";
import type { Log } from "../../lib/log";
import { actsOf, isRemembered } from "./acts";
import type { Act, AgentStore } from "./store";

/** How many texts of secret fields are known, so that nothing that shows one is kept. */
const MAX_SECRETS = 200;

type Perform = (operation: Operation, input: unknown, caller: Caller) => unknown;

interface Call {
  readonly operation: Operation;
  readonly input: unknown;
  readonly caller: Caller;
  readonly hidden: readonly string[];
}

/** What agents do, as it happens. */
export interface Journal {
  /**
   * Does the call by `perform`, and remembers what it did.
   *
   * @param input as the agent wrote it. @param hidden values that were filled into it, of which nothing is kept.
   * @throws what `perform` throws.
   */
  remember(
    operation: Operation,
    input: unknown,
    caller: Caller,
    perform: Perform,
    hidden?: readonly string[],
  ): Promise<unknown>;
}

/** @param operations the table. */
export function createJournal(
  store: () => Promise<AgentStore>,
  operations: readonly Operation[],
  log: Log,
): Journal {
  const secrets = new Set<string>();
  const keep = async (
    { operation, input: given, caller, hidden }: Call,
    answer: unknown,
    told: readonly ActedOn[],
  ) => {
    const { agent, grant } = caller;
    if (!agent) return;
    try {
      const input = Object(given);
      for (const text of [...secretsIn(input, told), ...hidden]) secrets.add(text);
      for (const old of [...secrets].slice(0, -MAX_SECRETS)) secrets.delete(old);
      const acts = actsOf({ operations, operation, input, answer, told }).map((act) => without(act, secrets));
      const { name: token, since } = grant;
      await (await store()).add({ key: agent.key, agent: agent.name, token, since }, acts);
    } catch (error) {
      log.warn(`what an agent did is not remembered: ${messageOf(error)}`);
    }
  };
  return {
    async remember(operation, input, caller, perform, hidden = []) {
      if (!caller.agent || !isRemembered(operation)) return perform(operation, input, caller);
      const told: ActedOn[] = [];
      const asked = { ...caller, acted: (act: ActedOn) => void told.push(act) };
      let answer: unknown;
      try {
        answer = await perform(operation, input, asked);
        return answer;
      } finally {
        await keep({ operation, input, caller, hidden }, answer, told);
      }
    },
  };
}

/** The texts of a call of which one went into a secret field: which one is not known. */
function secretsIn(input: unknown, told: readonly ActedOn[]): string[] {
  if (!told.some(({ targets }) => targets.some(({ secret }) => secret))) return [];
  const { steps } = Object(input);
  if (Array.isArray(steps)) {
    const targets = told.flatMap((one) => one.targets);
    return steps.flatMap(({ text }, at) => (targets[at]?.secret && typeof text === "string" ? [text] : []));
  }
  const texts: string[] = [];
  const look = (value: unknown, name: string): void => {
    if (typeof value === "string" && /^(?:text|write_string|value|keycode)$/.test(name)) texts.push(value);
    else if (Array.isArray(value)) for (const one of value) look(one, name === "actions" ? "value" : name);
    else if (typeof value === "object" && value !== null)
      for (const [key, one] of Object.entries(value)) look(one, key);
  };
  look(input, "");
  return texts.filter((text) => text.length > 3 && !text.includes("${"));
}

/** The act without checks that show a secret; one that shows it itself has no place by name. */
function without(act: Act, secrets: ReadonlySet<string>): Act {
  const shows = (value: unknown): boolean =>
    typeof value === "string"
      ? [...secrets].some((secret) => value.includes(secret))
      : typeof value === "object" && value !== null && innerValues(value).some(shows);
  return { ...act, checks: act.checks.filter((check) => !shows(check)) };
}
