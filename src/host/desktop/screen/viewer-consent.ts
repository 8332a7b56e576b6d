/** Asks a person whether a viewer may look, or control (`svc serve --screen-approval`). */
import type { Grant } from "../../../core/rights";
import { CLOSE } from "../../../wire/screen/viewer";
import type { Question } from "../../approvals/approvals";
import { refused, type Viewer } from "./viewer";

/** A question that waits for a person. */
interface PendingApproval {
  readonly approval: { readonly id: string };
  readonly ended: Promise<"allowed" | "denied" | "expired" | "withdrawn">;
}

export interface ConsentParts {
  /** Whether viewers that are not trusted need an approval. */
  readonly asksFirst: boolean;
  isTrusted(grant: Grant): boolean;
  approvals(): Promise<{
    begin(question: Pick<Question, "what" | "detail" | "caller">): Promise<PendingApproval>;
    withdraw(id: string): void;
  }>;
  /** Called when a viewer begins to wait. */
  waits(viewer: Viewer): void;
}

/** @returns what waits for the yes of a person, where one is needed, and throws a `Failure` for anything else. */
export function createConsent({ asksFirst, isTrusted, approvals, waits }: ConsentParts) {
  return async (viewer: Viewer, wantsControl: boolean): Promise<void> => {
    const { record: about, grant, ending } = viewer;
    if (!asksFirst || isTrusted(grant)) {
      viewer.mayControl = true;
      return;
    }
    const made = await approvals();
    const { approval, ended } = await made.begin({
      what: wantsControl ? "control the screen" : "look at the screen",
      detail: wantsControl
        ? `${about.name} would see the screen live, and use pointer, keyboard and clipboard`
        : `${about.name} would see the screen live, and could change nothing`,
      caller: { grant, client: about.client },
    });
    about.approval_id = approval.id;
    waits(viewer);
    const withdraw = () => made.withdraw(approval.id);
    ending.signal.addEventListener("abort", withdraw);
    if (ending.signal.aborted) withdraw();
    try {
      const state = await ended;
      ending.signal.throwIfAborted();
      if (state === "withdrawn") throw refused("cancelled", CLOSE.ended, "the wish was withdrawn");
      if (state === "denied") throw refused("forbidden", CLOSE.denied, "a person has denied it");
      if (state !== "allowed") throw refused("timeout", CLOSE.expired, "nobody has allowed it in time");
      if (wantsControl) viewer.mayControl = true;
    } finally {
      about.approval_id = null;
      ending.signal.removeEventListener("abort", withdraw);
    }
  };
}
