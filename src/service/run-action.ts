/** What a run or a command does in a process beside a server, and that server does in its place (`serverInRuns` of the operation). */
import { resolve } from "node:path";
import { performOperation } from "../core/call";
import type { Caller } from "../core/caller";
import type { Operation } from "../core/operation";
import { OWNER } from "../core/rights";
import { entryOf, metadataOf } from "../core/schema";
import type { ServiceParts } from "./parts";

/**
 * @returns `performOperation`, which the server on the folder does where one runs and the operation says so. A change of the files of the
 *   folder is made by its owner. That throws as `answerOf` does.
 */
export function createPerform(
  shared: Pick<ServiceParts, "configDir" | "isBeside" | "service">,
): typeof performOperation {
  const { configDir, isBeside } = shared;
  if (!isBeside) return performOperation;
  const perform: typeof performOperation = (service, operation, input, caller) => {
    const here = () => performOperation(service, operation, input, caller);
    if (!operation.serverInRuns) return here();
    const ask = async () => {
      const listener = listenerOf(caller);
      const { askOfDesk, fromRun } = await import("./desk-actions");
      if (operation.answeredBy === "owner") {
        const { ownedAnswer } = await import("./answer");
        const owned = withPaths(operation, fromRun(operation, input, caller));
        return ownedAnswer(configDir, service, operation, owned, listener, async () => here());
      }
      const { askOwner } = await import("../client/owner");
      const asked =
        (await askOfDesk(shared.service, operation, input, caller, listener)) ??
        (await askOwner(configDir, operation, input, listener));
      return asked ? asked.answer : here();
    };
    return ask();
  };
  return perform;
}

/** The input with its paths absolute: the server is in another folder. */
function withPaths<T extends object>({ input: schema }: Operation, input: T): T {
  const absolute = Object.entries(input).map(([name, value]) => {
    const entry = entryOf(schema, name);
    const isPath = typeof value === "string" && entry && metadataOf(entry).text === "path";
    return [name, isPath ? resolve(value) : value];
  });
  return { ...input, ...Object.fromEntries(absolute) };
}

/** The server does no more than the run may do. */
const listenerOf = ({ grant, signal, warn }: Caller) => ({ signal, warn, ...(grant !== OWNER && { grant }) });
