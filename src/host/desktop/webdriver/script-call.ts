/** `svc: run` of WebDriver clients: a list of actions, or a stored script, as the operations of the table run them. */
import { callOperation } from "../../../core/call";
import type { Caller } from "../../../core/caller";
import type { Operation } from "../../../core/operation";
import { jsonLine } from "../../../lib/sanitize";
import { failing } from "../../../wire/webdriver/errors";

interface Uses {
  operations(): Promise<readonly Operation[]>;
}

/**
 * @returns what runs a list of actions, `{"actions": [...], …}` as `POST /execute` takes it, or the stored script of that name (with its
 * `variables`: `{"name": …, "variables": …}`), and answers with its report.
 */
export function createScriptCall(service: Uses) {
  return async (what: unknown, caller: Caller, desktop?: string): Promise<unknown> => {
    const input = { ...(desktop !== undefined && { desktop }), ...inputOf(what) };
    const name = "actions" in input ? "execute.actions" : "scripts.run";
    const operation = (await service.operations()).find((one) => one.name === name);
    if (!operation) throw failing("unsupported operation", `svc: run: there is no ${name} here`);
    const report = await callOperation(service, operation, input, caller);
    const { ok, error_text: error } = Object(report);
    if (ok === false) throw failing("javascript error", `svc: run: ${error ?? jsonLine(report)}`);
    return report;
  };
}

function inputOf(what: unknown): object {
  if (typeof what === "string") return { name: what };
  if (Array.isArray(what)) return { actions: what };
  if (typeof what === "object" && what !== null && ("actions" in what || "name" in what)) return what;
  throw failing("invalid argument", "args: expected a list of actions, or the name of a stored script");
}
