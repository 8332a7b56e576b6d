/** The flag of `svc serve` that says what a person allows by touching a passkey. */
import * as v from "valibot";
import { field, flag } from "../../core/fields";

const DEMAND = v.pipe(
  v.string(),
  v.regex(
    /^(?:approvals|leases|control|plans(?::\d{1,6})?)$/,
    "approvals, leases, control, plans, or plans: and a number of hosts",
  ),
  v.metadata({ choices: ["approvals", "leases", "control", "plans"] }),
);

export const PASSKEY_FIELDS = {
  passkey_for: field(
    v.optional(v.pipe(v.array(DEMAND), v.maxLength(10)), []),
    "What a person allows with a passkey alone: approvals (leases too), leases, control of the screen, plans, or plans:N for more than N hosts",
  ),
  passkey_invite: flag("Let nobody register a first passkey without a code of `svc passkeys invite`"),
};

/** What needs a passkey here. */
export interface Demands {
  /** Whatever waits for the yes of a person, leases too. */
  readonly approvals: boolean;
  /** The leases of agents. */
  readonly leases: boolean;
  /** Pointer and keyboard of the live screen. */
  readonly control: boolean;
  /** Plans for more hosts than this. */
  readonly plansBeyond: number;
}

/** What `--passkey-for` names. Of several numbers of hosts, the smallest counts. */
export function demandsOf(given: readonly string[]): Demands {
  const limits = given.flatMap((one) => {
    const [what, most = "0"] = one.split(":");
    return what === "plans" ? [Number(most)] : [];
  });
  const approvals = given.includes("approvals");
  return {
    approvals,
    leases: approvals || given.includes("leases"),
    control: given.includes("control"),
    plansBeyond: Math.min(Number.POSITIVE_INFINITY, ...limits),
  };
}
