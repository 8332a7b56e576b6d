/**
 * What waits for the yes of a person: a viewer of the screen, or what a program wants to change.
 *
 * The promise: who asked does not decide. That takes another token; the host's own counts as another unless it asked. What nobody
 * decides within {@link LIFETIME_MS} has not been allowed, and the same goes for what waits when the process ends. What may be secret
 * is shown to who may decide, and stands in no event and no row.
 */
import type { Caller } from "../../core/caller";
import { type Publish, unheard } from "../../core/events";
import { ANYBODY, allows, beyond, type Grant, isSameHolder, OWNER_NAME } from "../../core/rights";
import { deadline } from "../../lib/deadline";
import { badInput, cancelled, conflict, forbidden, notFound, tooMany } from "../../lib/errors";
import { type Quota, shortage } from "../../lib/quota";
import { printable } from "../../lib/sanitize";
import type { Terms } from "../../trust/passkeys/yes";
import type { Approval } from "./approval";
import { approvalAllowed, approvalAsked, approvalDenied, approvalExpired } from "./events";

/** How long it waits, in milliseconds. */
export const LIFETIME_MS = 600_000;

/** How many wait at once. */
const WAITING: Quota = { what: "approvals that wait", most: 64, times: 1 };

/** How many of those that are over are kept, to be listed. */
const KEPT = 100;

/** The longest texts, in characters. */
export const MAX_WHAT = 200;
export const MAX_DETAIL = 2_000;
export const MAX_FULL = 10_000;

/** What somebody asks for. */
export interface Question {
  /** In a few words, after "wants to": `look at the screen`. */
  readonly what: string;
  /** Its effects, in words. */
  readonly detail: string;
  /** As `detail`, with what no record may have, such as text to be typed: shown while it waits, to who may decide. */
  readonly full?: string | undefined;
  /** Of what exactly would be allowed. */
  readonly digest?: string | undefined;
  /** What a token must allow to decide (default: operate). */
  readonly needs?: "operate" | "admin" | undefined;
  /** Set for the lease of an agent. */
  readonly lease?: true | undefined;
  readonly caller: Pick<Caller, "grant" | "client">;
}

/** What became of it. */
export type Decision = "allowed" | "denied" | "expired";

interface ApprovalEntry {
  approval: Approval;
  /** While it waits. */
  full: string | undefined;
  readonly isLease: boolean;
  readonly end: (state: ApprovalEnd) => void;
  timer?: Timer;
}

type ApprovalEnd = Decision | "withdrawn";

const EVENTS = {
  allowed: approvalAllowed,
  denied: approvalDenied,
  expired: approvalExpired,
  withdrawn: approvalExpired,
} as const;

/** What waits for the yes of a person. */
export interface Approvals {
  /**
   * Asks. Others see it then, and it is on record.
   *
   * @throws `bad_input` for what is too long to be shown whole: nobody allows what is behind the end; `too_many` while too many wait already; `unavailable` where it cannot be on record.
   */
  begin(question: Question): Promise<{
    approval: Approval;
    ended: Promise<ApprovalEnd>;
  }>;
  /** Nobody waits for it any longer. */
  withdraw(id: string): void;
  /**
   * Asks, and waits for the decision.
   *
   * @param signal withdraws it.
   * @throws as `begin`, and the reason of `signal`.
   */
  ask(question: Question & { readonly signal: AbortSignal }): Promise<Decision>;
  /** Newest first, those that are over too, as this grant sees them. */
  list(grant?: Grant): Array<Approval & { may_decide: boolean }>;
  /** The one that waits. @throws `not_found`, `conflict` where it is over, `forbidden` where this grant does not decide it. */
  decidable(id: string, grant: Grant): Approval;
  /** What exactly is allowed with a yes, for who signs that, and whether it is the lease of an agent. @throws `not_found`. */
  asked(id: string): { readonly terms: Terms; readonly isLease: boolean };
  /** Decides it. @throws as `decidable`. */
  decide(id: string, decision: "allowed" | "denied", grant: Grant): Approval;
}

/** @param record leaves a row in the audit log. @throws `unavailable` when it cannot: then nobody is asked. */
export function createApprovals({
  publish = unheard,
  record = async () => {},
  lifetimeMs = LIFETIME_MS,
}: {
  readonly publish?: Publish;
  readonly record?: (detail: string) => Promise<unknown>;
  readonly lifetimeMs?: number;
}): Approvals {
  /** In the order in which they were asked. */
  const all = new Map<string, ApprovalEntry>();
  const known = () => [...all.values()].map(({ approval }) => approval);

  const end = (id: string, state: ApprovalEnd, by?: Grant): Approval | undefined => {
    const kept = all.get(id);
    if (kept?.approval.state !== "waiting") return undefined;
    clearTimeout(kept.timer);
    const decided = by && { decided_by: by.name, decided_at: new Date().toISOString() };
    kept.approval = { ...kept.approval, state, ...decided };
    kept.full = undefined;
    publish(EVENTS[state], kept.approval);
    kept.end(state);
    const over = known().filter((one) => one.state !== "waiting");
    for (const old of over.slice(0, -KEPT)) all.delete(old.id);
    return kept.approval;
  };
  /** It ends without a decision: there is nobody who could be refused. */
  const lapse = (id: string, state: "expired" | "withdrawn") => {
    if (end(id, state)) void record(`approvals.ask id=${id} -> ${state}`).catch(() => {});
  };

  const approvals = {
    async begin({ what, detail, full, digest, needs = "operate", lease, caller }: Question) {
      const longest = full === undefined ? MAX_DETAIL : MAX_FULL;
      if ((full ?? detail).length > longest)
        throw badInput(`this is too long for a person to judge: expected at most ${longest} characters`);
      const users = known().flatMap(({ state, asked_by }) => (state === "waiting" ? [asked_by] : []));
      const reason = shortage(WAITING, users, caller.grant.name);
      if (reason !== undefined) throw tooMany(reason);
      const now = Date.now();
      const id = newId(all);
      const approval: Approval = {
        ...{ id, what: printable(what, MAX_WHAT), detail: printable(detail, MAX_DETAIL), needs },
        ...{ digest: digest ?? null, asked_by: caller.grant.name, client: caller.client, state: "waiting" },
        asked_at: new Date(now).toISOString(),
        expires_at: new Date(now + lifetimeMs).toISOString(),
        ...{ decided_by: null, decided_at: null },
      };
      const { promise: ended, resolve } = Promise.withResolvers<ApprovalEnd>();
      // Its place is taken before the row is on disk: others may ask meanwhile.
      const kept: ApprovalEntry = {
        ...{ approval, full: full && printable(full, MAX_FULL), isLease: lease === true, end: resolve },
      };
      all.set(id, kept);
      try {
        await record(`approvals.ask ${aboutText(approval)}`);
      } catch (error) {
        all.delete(id);
        throw error;
      }
      kept.timer = setTimeout(lapse, lifetimeMs, id, "expired");
      kept.timer.unref();
      publish(approvalAsked, approval);
      return { approval, ended };
    },
    withdraw: (id: string): void => lapse(id, "withdrawn"),
    async ask({ signal, ...question }: Question & { readonly signal: AbortSignal }): Promise<Decision> {
      signal.throwIfAborted();
      const { approval, ended } = await approvals.begin(question);
      const aborted = (): ApprovalEnd => {
        approvals.withdraw(approval.id);
        return "withdrawn";
      };
      const state = await deadline(ended, { signal, aborted });
      if (state !== "withdrawn") return state;
      signal.throwIfAborted();
      throw cancelled("the approval was withdrawn");
    },
    list: (grant: Grant = ANYBODY) =>
      [...all.values()].reverse().map(({ approval, full }) => {
        const may_decide = mayDecide(approval, grant);
        return { ...approval, ...(may_decide && full !== undefined && { detail: full }), may_decide };
      }),
    decidable(id: string, grant: Grant): Approval {
      const approval = all.get(id)?.approval;
      if (!approval) throw unknownApproval(id);
      if (approval.state !== "waiting") throw conflict(`${id} is ${approval.state} already`);
      if (!allows(grant, approval.needs))
        throw forbidden(beyond(grant, `deciding ${id} needs ${approval.needs}`));
      if (!isAnother(approval, grant))
        throw forbidden(`${id} was asked with this token: another one has to decide it`);
      return approval;
    },
    asked(id: string) {
      const kept = all.get(id);
      if (!kept) throw unknownApproval(id);
      return { terms: termsOf(kept.approval), isLease: kept.isLease };
    },
    decide(id: string, decision: "allowed" | "denied", grant: Grant): Approval {
      const waiting = approvals.decidable(id, grant);
      return end(waiting.id, decision, grant) ?? waiting;
    },
  };
  return approvals;
}

/** Whether this grant may decide it now. */
const mayDecide = (approval: Approval, grant: Grant): boolean =>
  approval.state === "waiting" && allows(grant, approval.needs) && isAnother(approval, grant);

/** Whether it is another person, or the holder of another token: the sessions of a person are one. */
const isAnother = ({ asked_by }: Approval, { name }: Grant) => !isSameHolder(asked_by, name);

const unknownApproval = (id: string) => notFound(`no approval ${printable(id, 40)}: \`svc approvals list\``);

/** All that is shown, but for what no record may have: the digest stands for that. */
const termsOf = ({ id, what, detail, digest, asked_by, client, needs, expires_at }: Approval): Terms => ({
  ...{ id, what, detail, digest, asked_by, client, needs, expires_at },
});

/** How rows of the audit log show it. */
export const aboutText = ({ id, what, digest, asked_by, client }: Approval): string =>
  [
    `id=${id} what=${JSON.stringify(what)}`,
    ...(digest === null ? [] : [`digest=${printable(digest, 100)}`]),
    ...(client === null ? [] : [`client=${printable(client, 100)}`]),
    `asked_by=${asked_by ?? OWNER_NAME}`,
  ].join(" ");

function newId(taken: ReadonlyMap<string, unknown>): string {
  for (;;) {
    const id = crypto.randomUUID().slice(0, 8);
    if (!taken.has(id)) return id;
  }
}
