/**
 * What agents do: what is remembered of it, and the scripts that are made of it.
 */
import type { Journal } from "../../host/agents/journal";
import type { AgentStore } from "../../host/agents/store";
import type { ServiceParts } from "../parts";

/** What a process remembers of agents. */
export interface AgentFeatures {
  /** What agents did in their sessions, and scripts made of it that wait for a person. */
  agentStore(): Promise<AgentStore>;
  agentJournal(): Promise<Journal>;
  /** The locator that the fields of an action are, in one line; undefined where they are none. */
  locatorLine(fields: unknown): Promise<string | undefined>;
}

export function agentFeatures(shared: ServiceParts): AgentFeatures {
  const { files, log, feature, prepareFor } = shared;
  return {
    agentStore: feature(
      async () => {
        const { createAgentStore } = await import("../../host/agents/store");
        await prepareFor(files.agents);
        return createAgentStore(files.agents);
      },
      (store) => store.close(),
    ),
    agentJournal: feature(async () => {
      const { createJournal } = await import("../../host/agents/journal");
      const store = async () => {
        await shared.service.prepareFolder();
        return shared.service.agentStore();
      };
      return createJournal(store, await shared.service.operations(), log);
    }),
    locatorLine: async (fields) => (await import("../../host/desktop/elements/fields")).locatorLine(fields),
  };
}
