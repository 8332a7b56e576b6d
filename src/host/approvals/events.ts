/** The events of approvals. */
import { eventType } from "../../core/events";
import { APPROVAL } from "./approval";

const event = <const N extends string>(name: N, summary: string) =>
  eventType({ name, summary, scope: "operate", data: APPROVAL });

export const approvalAsked = event("approval.asked", "Something waits for a person with another token");
export const approvalAllowed = event("approval.allowed", "A person has allowed what waited for it");
export const approvalDenied = event("approval.denied", "A person has denied what waited for it");
export const approvalExpired = event(
  "approval.expired",
  "What waited for a person waits no longer: nobody decided in time, or who asked has gone",
);

export const eventTypes = [approvalAsked, approvalAllowed, approvalDenied, approvalExpired];
