import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { field, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import type { Passkeys } from "../../trust/passkeys/passkeys";
import { APPROVAL, type Approval } from "./approval";
import { type Approvals, aboutText, MAX_DETAIL, MAX_FULL, MAX_WHAT } from "./approvals";

interface Uses {
  approvals(): Promise<Approvals>;
}

interface AllowUses extends Uses {
  passkeys(): Promise<Pick<Passkeys, "sign">>;
}

const ID = v.strictObject({
  id: field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(40)), "Id of the approval"),
});

const leftOut = { script: "a person decides, not a script" };

export const listApprovals = operation({
  name: "approvals.list",
  summary: "List what waits for a person with another token, and what was decided lately",
  scope: "operate",
  answeredBy: "server",
  leftOut,
  http: { method: "GET", path: "/approvals" },
  input: NO_INPUT,
  output: v.object({
    approvals: v.array(
      v.object({
        ...APPROVAL.entries,
        /** Whether the token of this request may decide it now. */
        may_decide: v.boolean(),
      }),
    ),
    waiting: v.number(),
  }),
  async run(service: Uses, _input, { grant }) {
    const approvals = (await service.approvals()).list(grant);
    return { approvals, waiting: approvals.filter(({ state }) => state === "waiting").length };
  },
});

const deciding = <const N extends "allow" | "deny", S extends Uses>(
  verb: N,
  decision: "allowed" | "denied",
  summary: string,
  sign: (service: S, approvals: Approvals, approval: Approval, caller: Caller) => Promise<string>,
) =>
  operation({
    name: `approvals.${verb}`,
    summary,
    scope: "operate",
    changes: "announces",
    answeredBy: "server",
    leftOut,
    http: { method: "POST", path: `/approvals/${verb}`, repeatable: true },
    example: { id: "9f1c2e4a" },
    input: ID,
    output: APPROVAL,
    async run(service: S, { id }, caller) {
      const approvals = await service.approvals();
      const approval = approvals.decidable(id, caller.grant);
      const signed = await sign(service, approvals, approval, caller);
      await caller.announce(`approvals.${verb} ${aboutText(approval)}${signed}`);
      return approvals.decide(id, decision, caller.grant);
    },
  });

/** The touch of a passkey, where this server wants one (`--passkey-for`). */
async function signedYes(
  service: AllowUses,
  approvals: Approvals,
  approval: Approval,
  caller: Caller,
): Promise<string> {
  const { id, expires_at: until } = approval;
  const { terms, isLease } = approvals.asked(id);
  const wanted = { what: "approvals.allow", terms, words: `allowing ${id}`, until };
  return (await service.passkeys()).sign(isLease ? "leases" : "approvals", wanted, caller);
}

export const allowApproval = deciding(
  "allow",
  "allowed",
  "Allow what waits for a person with another token",
  signedYes,
);

/** Nobody signs a no. */
const unsigned = async (_service: Uses) => "";

export const denyApproval = deciding(
  "deny",
  "denied",
  "Deny what waits for a person with another token",
  unsigned,
);

const OF_A_PROCESS = "a process of the same user asks so, where a feature of it needs an approval";

export const askApproval = operation({
  name: "approvals.ask",
  summary: "Ask for an approval for another process of this host, and wait for the decision",
  scope: "admin",
  acts: true,
  answeredBy: "server",
  leftOut: { http: OF_A_PROCESS, cli: OF_A_PROCESS, script: OF_A_PROCESS },
  input: v.strictObject({
    what: field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(MAX_WHAT)), "What, in a few words"),
    detail: field(v.pipe(v.string(), v.maxLength(MAX_DETAIL)), "Its effects, in words"),
    full: field(
      v.optional(secret(v.pipe(v.string(), v.maxLength(MAX_FULL)))),
      "Its effects with what no record may have, for who may decide",
    ),
    digest: field(v.optional(v.pipe(v.string(), v.maxLength(100))), "Of what exactly would be allowed"),
    needs: field(v.optional(v.picklist(["operate", "admin"])), "What a token must allow to decide"),
    by: field(v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(64))), "Who asks (default: the owner)"),
  }),
  output: v.object({ decision: v.picklist(["allowed", "denied", "expired"]) }),
  async run(service: Uses, { by = null, ...question }, { grant, client, signal }) {
    const caller = { grant: { ...grant, name: by }, client };
    return { decision: await (await service.approvals()).ask({ ...question, caller, signal }) };
  },
});

export const operations = [listApprovals, allowApproval, denyApproval, askApproval];
