/** How one host of a desk differs from a state. */
import * as v from "valibot";
import { COMPARED } from "../../../wire/state/messages";

export const HOST_COMPARED = v.object({
  label: v.string(),
  /** `refused`: it answered that it does not compare; `unreachable`: it did not answer. */
  state: v.picklist(["same", "drift", "refused", "unreachable"]),
  /** Why there is no answer. */
  why: v.nullable(v.string()),
  differences: COMPARED.entries.differences,
  applied: COMPARED.entries.applied,
});

export type HostCompared = v.InferOutput<typeof HOST_COMPARED>;
