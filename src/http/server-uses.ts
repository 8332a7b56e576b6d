/**
 * What the REST server needs of the service that it belongs to.
 */
import type { Operation } from "../core/operation";
import type { Grant, Permission } from "../core/rights";
import type { Release } from "../lib/lock";
import type { Log } from "../lib/log";
import type { SessionKeeper } from "../trust/oidc/sign-in";
import type { ConnectionLimit } from "./connections";
import type { RequestMetrics } from "./measure";
import type { RunOne } from "./operation-handler";
import type { AuditLog } from "./request-audit";

/** What the server needs of the service that it belongs to. */
export interface ServerUses {
  readonly configDir: string;
  readonly log: Log;
  /** Gives the folder the format of this svc, and claims it; undefined where another server has it. */
  claimFolder(): Promise<Release | undefined>;
  /** What its scripts may do, decided when the service is made. */
  permits(need: Permission): boolean;
  operations(): Promise<readonly Operation[]>;
  executor(): Promise<{ readonly runOne: RunOne }>;
  /** The entry of the documentation that quotes a message (`T42`); undefined where none does. */
  entryOf(message: string): Promise<string | undefined>;
  /** Aborted once the token of that name is revoked. */
  untilRevoked(token: string): AbortSignal;
  /** Whether a person allows each look of a grant at the screen first; undefined where that is never so. */
  asksPerson(): Promise<((grant: Grant) => boolean) | undefined>;
  /** The sessions of people; null where nobody can sign in. @throws `bad_input` for unusable flags, `unavailable` for a file that cannot be read. */
  signIn(): Promise<SessionKeeper | null>;
  /** Answers the other processes of the folder, once it is claimed. @throws an `unavailable` failure where that cannot be. */
  answerAsOwner(): Promise<{ stop(): Promise<void> }>;
  audit(): Promise<
    | (AuditLog & {
        limitRows(max: number): void;
        keepCheckpoints(): Promise<void>;
        problem(): Promise<string | null>;
      })
    | null
  >;
  metrics(): Promise<
    RequestMetrics & { countAuditFailure(): void; countRefusedConnection(limit: ConnectionLimit): void }
  >;
}
