/**
 * Dispatch an action list to one host: asks for the host's commands, sends the list, waits for the run.
 */
import * as v from "valibot";
import {
  type Carrier,
  type Deadline,
  deadlineIn,
  type LabelledServer,
  RemoteError,
} from "../../client/carrier";
import { carrierTo } from "../../client/connection";
import type { AnswerIntake } from "../../client/intake";
import { typed } from "../../client/remote-call";
import { NEEDS, PERMISSIONS, type Scope } from "../../core/rights";
import { printable } from "../../lib/sanitize";
import type { Delivery, DeliveryStatus } from "../../wire/job/delivery";
import type { Broadcast } from "../fleet/operations/broadcast-input";

/** How many requests it takes: which commands there are, and the run. */
const REQUESTS = 2;

/** The largest answers: of `/commands`, and of a run. */
const MAX_COMMANDS_BYTES = 1_048_576;
const MAX_REPORT_BYTES = 8 * 1_048_576;

/** The host ends a run that takes too long; how long its report is waited for after that, milliseconds. */
const GRACE_MS = 1_000;

/** A list that passed the check against the local table, and the limits of its run, as the input of a broadcast has them. */
interface ActionListJob
  extends Pick<Broadcast, "actions" | "stop_on_error" | "desktop" | "delivery_timeout_s" | "timeout_s"> {
  /** The names of its commands, nested ones included. */
  readonly commands: readonly string[];
  /** The scopes of the caller, which the host limits the run to; undefined for all. */
  readonly scope?: readonly Scope[] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The name of the token that broadcasts: its connections count together. */
  readonly client?: string | null;
  /** As of the options of a delivery. */
  readonly room?: AnswerIntake | undefined;
  /** Is awaited before the list is sent: when it throws, it is not. */
  readonly sent?: () => void | Promise<void>;
  /** Takes why there is no report of a run. */
  readonly failed?: (error: RemoteError) => void;
}

/** The id of a run as a host says it, made short and printable: the ledger keeps it for months. A host of svc sends a UUID. */
export function runIdIn(text: string): string {
  return printable(text, 64);
}

const COMMANDS = v.object({ commands: v.array(v.string()) });

/** The answer to `/execute`; hosts other than svc send only `result`. */
const REPORT = v.object({
  result: v.record(v.string(), v.unknown()),
  ok: v.exactOptional(v.boolean()),
  status: v.exactOptional(v.string()),
  error_text: v.exactOptional(v.nullable(v.string())),
  run_id: v.exactOptional(v.pipe(v.string(), v.transform(runIdIn))),
  outcomes: v.exactOptional(
    v.array(
      v.looseObject({
        command: v.exactOptional(v.string()),
        ok: v.boolean(),
        error: v.exactOptional(v.string()),
      }),
    ),
  ),
});
type Report = v.InferOutput<typeof REPORT>;

/** The host's result. An exception is a bug: what a host does wrong is its result. */
export async function deliver({ label, server }: LabelledServer, delivery: ActionListJob): Promise<Delivery> {
  const started = performance.now();
  const result = (status: DeliveryStatus, delivered: boolean, more: Partial<Delivery>): Delivery => {
    const duration_ms = Math.round(performance.now() - started);
    return { label, ok: status === "ok", status, delivered, duration_ms, ...more };
  };
  let sending = false;
  try {
    using carrier = await carrierTo(server, delivery.signal, delivery.client, REQUESTS, delivery.room);
    const deadline = deadlineIn(delivery.delivery_timeout_s * 1_000);
    const offered = new Set(await offeredBy(carrier, deadline));
    const missing = delivery.commands.filter((name) => !offered.has(name));
    if (missing.length > 0) {
      const error = await whyMissing(carrier, missing, deadline);
      return result("failed", false, { error });
    }
    await delivery.sent?.();
    sending = true;
    const report = await run(carrier, delivery, deadline);
    const { ok, status, error_text, ...reported } = report;
    const error = errorOf(report);
    if (error === undefined) return result("ok", true, reported);
    return result(status === "timeout" ? "timeout" : "failed", true, { ...reported, error });
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    delivery.failed?.(error);
    // A host that refuses the token has run nothing.
    const delivered = sending && error.sent && error.fault !== "unauthorized";
    return result(statusOf(error, delivered), delivered, { error: messageFor(error, delivered, delivery) });
  }
}

async function offeredBy(carrier: Carrier, deadline: Deadline): Promise<string[]> {
  const limits = { deadline, maxBytes: MAX_COMMANDS_BYTES };
  const answer = await carrier.ask({ method: "GET", path: "/commands" }, limits);
  return typed(COMMANDS, answer).commands;
}

/** An entry of the reference of a host, as far as it says why a command is not offered; older hosts have none. */
const REFERENCE = v.object({ needs: v.array(v.string()), allowed: v.literal(false) });

/** Why a host does not offer these commands: it has none of that name, or was started without the flag for one. */
async function whyMissing(carrier: Carrier, missing: readonly string[], deadline: Deadline): Promise<string> {
  const lacks = `the host has no ${missing.join(", ")}`;
  const [first = ""] = missing;
  const limits = { deadline, maxBytes: MAX_COMMANDS_BYTES };
  try {
    const { needs } = typed(
      REFERENCE,
      await carrier.ask({ method: "GET", path: `/commands/${first}` }, limits),
    );
    const need = NEEDS.find((one) => needs.includes(one));
    return need ? `${first} ${PERMISSIONS[need]}` : lacks;
  } catch (error) {
    if (error instanceof RemoteError) return lacks;
    throw error;
  }
}

async function run(carrier: Carrier, delivery: ActionListJob, deadline: Deadline): Promise<Report> {
  const { actions, stop_on_error, timeout_s, scope, desktop } = delivery;
  // After `timeout_s`, the host ends the run by itself.
  const limited = {
    actions,
    timeout_s,
    ...(stop_on_error && { stop_on_error }),
    ...(scope && { scope }),
    ...(desktop !== undefined && { desktop }),
  };
  const body = JSON.stringify(limited);
  const limits = { deadline, answerWithinMs: timeout_s * 1_000 + GRACE_MS, maxBytes: MAX_REPORT_BYTES };
  const answer = await carrier.ask({ method: "POST", path: "/execute", body }, limits);
  if (answer.status === 429) throw new RemoteError("unreachable", "HTTP 429", false);
  return typed(REPORT, answer);
}

/** Why the run is not ok; undefined when it is. */
export function errorOf({ ok, error_text, outcomes, result }: Report): string | undefined {
  const failed = outcomes?.find((outcome) => !outcome.ok);
  if (failed) return printable(`${failed.command ?? "an action"}: ${failed.error ?? "failed"}`, 300);
  if (ok === false) return printable(error_text ?? "not every action ran", 300);
  if (ok === true || outcomes) return undefined;
  const entry = Object.entries(result).find(([, returned]) => looksFailed(returned));
  return entry && printable(`${entry[0]}: ${JSON.stringify(entry[1])}`, 300);
}

/** Hosts that report no outcomes return an error as the result: `{"error": …}`, or `ValueError('…')` as text. */
function looksFailed(returned: unknown): boolean {
  if (typeof returned === "string") return /^[A-Z]\w*(Error|Exception)\(/.test(returned);
  return typeof returned === "object" && returned !== null && "error" in returned;
}

export function statusOf({ fault }: RemoteError, delivered: boolean): DeliveryStatus {
  if (fault === "unauthorized" || fault === "cancelled") return fault;
  if (!delivered) return "unreachable";
  return fault === "timeout" ? "timeout" : "failed";
}

function messageFor(
  { fault, message }: RemoteError,
  delivered: boolean,
  { timeout_s }: ActionListJob,
): string {
  if (!delivered || fault === "answer") return message;
  if (fault === "timeout") return `timeout after ${timeout_s} s: it may still run`;
  return fault === "cancelled" ? `${message}: it may still run` : `${message}: it may have run`;
}
