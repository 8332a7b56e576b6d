/** A desk and its standby, for tests. */
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import type { Operation } from "../../../src/core/operation";
import { allow } from "../../../src/desk/join/standby/operations/desk";
import { follow, showKey } from "../../../src/desk/join/standby/operations/standby";
import type { Service } from "../../../src/service/service";

export interface Machine {
  readonly service: Service;
  readonly configDir: string;
}

/** `fleet_states.json` of a desk that has applied a state to all of its hosts. */
export const APPLIED_STATE = JSON.stringify({
  states: [
    {
      ...{ name: "lab", planned: [] },
      applied: [{ sha256: "a".repeat(64), on: "all", plan: "one", at: "2026-11-29T00:00:00.000Z", by: null }],
    },
  ],
});

/** What the operation answers to the owner of that machine. */
export const call = async <O>({ service }: Machine, operation: O, input: object = {}) =>
  callOperation(service, operation as Operation, input, localCaller(service, "cli")) as Promise<
    Record<string, unknown>
  >;

/** Lets `next` follow `desk`. @returns the string. */
export async function followed(desk: Machine, next: Machine, name = "second"): Promise<string> {
  const { key } = await call(next, showKey);
  const { standby_string } = await call(desk, allow, { name, key });
  await call(next, follow, { standby_string });
  return String(standby_string);
}
