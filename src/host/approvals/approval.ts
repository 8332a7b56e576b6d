/** An approval as it is shown. */
import * as v from "valibot";

export const APPROVAL = v.object({
  id: v.string(),
  /** In a few words: `look at the screen`. */
  what: v.string(),
  /** Its effects, in words. What may be secret, such as text to be typed, is shown in the list alone, to who may decide. */
  detail: v.string(),
  /** Of what exactly is allowed; null where the words are all of it. */
  digest: v.nullable(v.string()),
  /** The token that asked; null for the host's own. */
  asked_by: v.nullable(v.string()),
  /** Its address; null where it was a process of this host. */
  client: v.nullable(v.string()),
  /** What a token must allow to decide. */
  needs: v.picklist(["operate", "admin"]),
  /** `withdrawn`: who asked has gone. */
  state: v.picklist(["waiting", "allowed", "denied", "expired", "withdrawn"]),
  asked_at: v.string(),
  expires_at: v.string(),
  /** Who decided, and when; null where nobody has, and `decided_by` for the host's own token. */
  decided_by: v.nullable(v.string()),
  decided_at: v.nullable(v.string()),
});

export type Approval = v.InferOutput<typeof APPROVAL>;
