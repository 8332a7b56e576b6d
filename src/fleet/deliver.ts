/**
 * Sending an action list to one host: asks for the host's commands, sends the list, waits for the run.
 */
import * as v from "valibot";
import { typed } from "../client/call";
import { type Carrier, type Deadline, deadlineIn, RemoteError } from "../client/carrier";
import { carrierTo } from "../client/connection";
import { printable } from "../lib/sanitize";
import { type Host, serverOf } from "./host";
import type { Delivered, DeliveryStatus } from "./results";

/** The largest answers: of `/commands`, and of a run. */
const MAX_COMMANDS_BYTES = 1_048_576;
const MAX_REPORT_BYTES = 8 * 1_048_576;

/** The host ends a run that takes too long; how long its report is waited for after that, milliseconds. */
const GRACE_MS = 1_000;

/** A list that passed the check against the local table. */
export interface Delivery {
  readonly actions: readonly unknown[];
  /** The names of its commands, nested ones included. */
  readonly commands: readonly string[];
  readonly stopOnError: boolean;
  /** How long sending the list may take, milliseconds. */
  readonly deliveryMs: number;
  /** How long the run may take after that, milliseconds. */
  readonly executionMs: number;
  readonly signal?: AbortSignal | undefined;
}

const COMMANDS = v.object({ commands: v.array(v.string()) });

/** The answer to `/execute`; hosts other than svc send only `result`. */
const REPORT = v.object({
  result: v.record(v.string(), v.unknown()),
  ok: v.exactOptional(v.boolean()),
  status: v.exactOptional(v.string()),
  error_text: v.exactOptional(v.nullable(v.string())),
  run_id: v.exactOptional(v.string()),
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
export async function deliver(host: Host, delivery: Delivery): Promise<Delivered> {
  const started = performance.now();
  using carrier = carrierTo(serverOf(host), delivery.signal);
  const result = (status: DeliveryStatus, delivered: boolean, more: Reported): Delivered => {
    const duration_ms = Math.round(performance.now() - started);
    return { label: host.label, ok: status === "ok", status, delivered, duration_ms, ...more };
  };
  let sending = false;
  try {
    const deadline = deadlineIn(delivery.deliveryMs);
    const offered = new Set(await offeredBy(carrier, deadline));
    const missing = delivery.commands.filter((name) => !offered.has(name));
    if (missing.length > 0)
      return result("failed", false, { error: `the host has no ${missing.join(", ")}` });
    sending = true;
    const report = await run(carrier, delivery, deadline);
    const error = errorOf(report);
    const status = error === undefined ? "ok" : report.status === "timeout" ? "timeout" : "failed";
    return result(status, true, { ...reported(report), ...(error !== undefined && { error }) });
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    // A host that refuses the token has run nothing.
    const delivered = sending && error.sent && error.fault !== "unauthorized";
    return result(statusOf(error, delivered), delivered, { error: messageFor(error, delivered, delivery) });
  }
}

type Reported = Pick<Delivered, "run_id" | "result" | "outcomes" | "error">;

async function offeredBy(carrier: Carrier, deadline: Deadline): Promise<string[]> {
  const answer = await carrier.ask(
    { method: "GET", path: "/commands" },
    { deadline, maxBytes: MAX_COMMANDS_BYTES },
  );
  return typed(COMMANDS, answer).commands;
}

async function run(carrier: Carrier, delivery: Delivery, deadline: Deadline): Promise<Report> {
  const { actions, stopOnError, executionMs } = delivery;
  const body = JSON.stringify({
    actions,
    ...(stopOnError && { stop_on_error: true }),
    // After this time, the host ends the run by itself.
    timeout_seconds: executionMs / 1_000,
  });
  const limits = { deadline, answerWithinMs: executionMs + GRACE_MS, maxBytes: MAX_REPORT_BYTES };
  const answer = await carrier.ask({ method: "POST", path: "/execute", body }, limits);
  if (answer.status === 429) throw new RemoteError("unreachable", "HTTP 429", false);
  return typed(REPORT, answer);
}

/** Why the run is not ok; undefined when it is. */
function errorOf({ ok, error_text, outcomes, result }: Report): string | undefined {
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

function reported({ run_id, result, outcomes }: Report): Reported {
  return {
    ...(run_id !== undefined && { run_id: printable(run_id, 64) }),
    result,
    ...(outcomes && { outcomes }),
  };
}

function statusOf({ fault }: RemoteError, delivered: boolean): DeliveryStatus {
  if (fault === "unauthorized" || fault === "cancelled") return fault;
  if (!delivered) return "unreachable";
  return fault === "timeout" ? "timeout" : "failed";
}

function messageFor({ fault, message }: RemoteError, delivered: boolean, { executionMs }: Delivery): string {
  if (!delivered || fault === "answer") return message;
  if (fault === "timeout") return `timeout after ${executionMs / 1_000} s: it may still run`;
  return fault === "cancelled" ? `${message}: it may still run` : `${message}: it may have run`;
}
