/** A host to which states are applied. */
import { localCaller } from "../../../src/core/caller";
import { type Grant, OWNER, type Scope } from "../../../src/core/rights";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { addToken, tokenStore } from "../../../src/trust/named-tokens";
import { wantedIn, writeWanted } from "../../../src/wire/state/wanted";
import { testService } from "../../support";

export const SLEEP = [["AC_sleep", { seconds: 0 }]];

/** A list that calls a stored script. */
export const calling = (name: string) => [["AC_run_script", { path: `script:${name}` }]];

/** `count` things with names that begin so. */
export const many = <T>(count: number, prefix: string, thing: T): Record<string, T> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${prefix}-${n}`, thing]));

/** A state as a desk sends it. */
export function sentOf(state: object) {
  const wanted = wantedIn(state);
  return { name: wanted.name, ...writeWanted(wanted) };
}

export function stateHost(options: Parameters<typeof testService>[0] = {}) {
  const made = testService(options);
  const { service } = made;
  const files = configFiles(made.configDir);
  const store = tokenStore(files, silentLog);
  return {
    ...{ service, files, configDir: made.configDir },
    /** A token of the host, as a grant. */
    async token(name: string, ...scopes: Scope[]): Promise<Grant> {
      await addToken(store, { name, scope: scopes });
      return { name, scopes };
    },
    revoke: (name: string) => store.change((list) => list.remove(name)),
    async apply(state: object, grant: Grant = OWNER) {
      return (await service.hostState()).apply(sentOf(state), localCaller(service, "api", { grant }));
    },
    async compare(state: object, grant: Grant = OWNER) {
      return (await service.hostState()).compare(sentOf(state).state, grant);
    },
    async drift(state: object, grant: Grant = OWNER) {
      const { name, sha256 } = sentOf(state);
      return (await service.hostState()).drift(name, sha256, grant);
    },
    /** The names of what is here. */
    async names() {
      const scripts = (await service.storedScripts()).list().map(({ name }) => name);
      const jobs = (await (await service.scheduler()).jobs()).map(({ job_id }) => job_id);
      return { scripts, jobs };
    },
    states: async () => (await service.hostState()).list(),
    [Symbol.asyncDispose]: () => made[Symbol.asyncDispose](),
  };
}
