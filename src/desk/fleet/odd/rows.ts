/** What is found of each host whose screen is compared. */
import * as v from "valibot";

/** What was found of a host. */
export const ODD_HOST = v.object({
  label: v.string(),
  /**
   * `odd`: it stands out; `alike`: it does not. `cannot_tell`: fewer than three others with a tag of it answered. `not_asked`: its svc
   * knows no signatures. `failed`: it gave none.
   */
  state: v.picklist(["odd", "alike", "cannot_tell", "not_asked", "failed"]),
  /** How much it differs from the others, 0 to 100: it stands out from 75 on; null where nobody can tell. */
  score: v.nullable(v.number()),
  /** The tag of those that it was compared with, and how many others there were. */
  tag: v.nullable(v.string()),
  others: v.number(),
  /** The largest difference, or why nobody can tell; null where there is none. */
  why: v.nullable(v.string()),
});

export type OddHost = Readonly<v.InferOutput<typeof ODD_HOST>>;
