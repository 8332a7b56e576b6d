/** An action of a run in a process beside a server, which that server does where it is about what only the server has. */
import { performOperation } from "../core/call";
import type { Caller } from "../core/caller";
import { OWNER } from "../core/rights";
import type { ServiceParts } from "./parts";

/**
 * @returns what does an action: as `performOperation`, or the server on the folder (`serverInRuns` of the operation), where one runs.
 *   That throws as `askOwner` does.
 */
export function createPerform({ configDir, isBeside }: Pick<ServiceParts, "configDir" | "isBeside">) {
  if (!isBeside) return performOperation;
  const perform: typeof performOperation = (service, operation, input, caller) => {
    const here = () => performOperation(service, operation, input, caller);
    if (!operation.serverInRuns) return here();
    const ask = async () => {
      const { askOwner } = await import("../client/owner");
      const asked = await askOwner(configDir, operation, input, listenerOf(caller));
      return asked ? asked.answer : here();
    };
    return ask();
  };
  return perform;
}

/** The server does no more than the run may do. */
const listenerOf = ({ grant, signal, warn }: Caller) => ({
  ...{ signal, warn },
  ...(grant !== OWNER && { grant }),
});
