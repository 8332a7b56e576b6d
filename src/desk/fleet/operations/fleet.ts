/**
 * Many hosts at once: poll them, and run action lists on them.
 */
import * as v from "valibot";
import type { Caller } from "../../../core/caller";
import { between, field, orLabels, seconds, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { beyond, type Grant, isAdminHere, type Limit, limitsOf, shareOf } from "../../../core/rights";
import { withTrace } from "../../../core/trace-context";
import { forbidden } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { LINES_CONTENT_TYPE, streamLines } from "../../../lib/ndjson";
import type { Passkeys } from "../../../trust/passkeys/passkeys";
import { DELIVERY, DELIVERY_STATUS, type Delivery } from "../../../wire/job/delivery";
import type { JobState } from "../../../wire/job/job";
import {
  type HostVariables,
  unknownLabels,
  variablesFor,
  withoutVariables,
} from "../../../wire/job/variables";
import type { AddressBook } from "../address-book";
import type { Host } from "../host";
import type { Poller } from "../poll";
import { createKeptResults, isBusy, openResultFile, POLL_RESULT, withoutResult } from "../results";
import type { CommandNeed, RefusalsOf } from "../rights";
import {
  ASK_AGAIN,
  BROADCAST,
  type Broadcast,
  countOf,
  DEFAULT_CONCURRENCY,
  hostsOf,
  LABELS,
  labelsOf,
  namedHosts,
  SELECTION,
  WHICH,
} from "./broadcast-input";

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "hosts" | "select" | "reach" | "askAgain">>;
}

interface PollUses extends Uses {
  poller(): Promise<Poller>;
}

export interface BroadcastUses extends Uses {
  readonly log: Log;
  passkeys(): Promise<Pick<Passkeys, "demands">>;
  /** The hosts that will refuse one of these commands as they are now; the caller is warned of them. */
  refusals: RefusalsOf;
  /**
   * Runs a broadcast, as a plan that ends with this process.
   *
   * @returns when each host has its result.
   * @throws why there can be no plan: then nothing was sent.
   */
  runBroadcast(about: {
    readonly input: Pick<
      Broadcast,
      "actions" | "canary" | "delivery_timeout_s" | "timeout_s" | "stop_on_error" | "desktop"
    >;
    readonly before: HostVariables;
    readonly on: string;
    readonly hosts: readonly Host[];
    readonly commands: readonly string[];
    /** What the runs are limited to; null for all that the tokens of the hosts allow. */
    readonly scope: readonly Limit[] | null;
    readonly maxFailures: number;
    readonly maxParallel: number;
    /** Whether that is for the hosts at each NATS server by itself (default: it is not). */
    readonly limitsEachServer?: boolean;
    /** Whether it is a part of a script of several hosts. */
    readonly isPart?: boolean;
    readonly grant: Grant;
    /** The caller stops waiting: hosts are asked to end what they run. */
    readonly signal: AbortSignal;
    /** Takes each result when it is complete. @returns what resolves once it has been handed over; nothing where it has been. */
    done(result: Delivery, state: JobState | undefined): Promise<unknown> | undefined;
  }): Promise<void>;
  executor(): Promise<{
    /** @throws a `bad_input` failure that lists everything wrong with the actions. */
    check(actions: unknown): Promise<{
      readonly commands: readonly string[];
      readonly secrets: readonly string[];
      readonly described: string;
    }>;
    /** @throws a `forbidden` failure when the caller may not use all of the commands. */
    permit(commands: readonly string[], grant: Grant, secrets?: readonly string[]): void;
    /** What these commands and secrets need of the host on which they run. */
    needsOf(commands: readonly string[], secrets: readonly string[]): CommandNeed[];
    /** The same for what those commands run, as it was written. */
    permitElsewhere(actions: unknown, grant: Grant): Promise<void>;
  }>;
}

/** The most of what hosts returned that is kept for an answer, a run or a terminal, in bytes: a run reports no more. */
const MAX_KEPT_BYTES = 32 * 1_048_576;

export const poll = operation({
  name: "admin.poll",
  onHosts: true,
  summary: "Ask hosts of the address book for their state",
  scope: "operate",
  command: "AC_admin_poll",
  http: { method: "GET", path: "/admin/poll", long: "AC_admin_poll" },
  example: { on: "tag:lab", timeout_s: 1 },
  input: v.strictObject({
    on: field(v.optional(orLabels(SELECTION)), `${WHICH} (default: all)`),
    concurrency: field(
      v.optional(whole(1, 1_000), DEFAULT_CONCURRENCY),
      "Hosts to ask at once, at each NATS server; slow hosts stop counting",
    ),
    timeout_s: field(v.optional(seconds(between(0.01, 300)), 3), "Time limit for each host, in seconds"),
    labels: LABELS,
    ask_again: ASK_AGAIN,
  }),
  output: v.array(POLL_RESULT),
  async run(service: PollUses, { concurrency, timeout_s, ask_again, ...which }, { signal, progress, grant }) {
    const book = await service.addressBook();
    const hosts = (await namedHosts(book, which)) ?? book.hosts();
    const poller = await service.poller();
    let done = 0;
    const polled = (item: unknown) =>
      void progress?.({ what: "hosts polled", done: ++done, total: hosts.length, item });
    const limits = { concurrency, timeoutMs: timeout_s * 1_000, signal, client: shareOf(grant) };
    const options = { ...limits, ...(progress && { polled }) };
    return poller.poll(book, hosts, options, ask_again);
  },
});

export const broadcastExecute = operation({
  name: "admin.broadcast_execute",
  subcommand: "admin broadcast",
  summary: "Run a list of actions on hosts of the address book",
  answeredBy: "server or here",
  serverInRuns: true,
  attended: true,
  scope: "operate",
  changes: "announces",
  leftOut: { http: "admin.broadcast_live answers there, with each result as soon as it is known" },
  command: "AC_admin_broadcast_execute",
  example: { actions: [["AC_screen_size"]], on: "tag:lab,!tag:old", canary: 1 },
  input: BROADCAST,
  output: v.array(DELIVERY),
  run: broadcastTo,
  brief: (results) => results.map(withoutResult),
});

const broadcastLive = operation({
  name: "admin.broadcast_live",
  onHosts: true,
  summary:
    "Run a list of actions on hosts of the address book; one line of JSON for each result, as soon as it is known",
  scope: "operate",
  changes: "announces",
  leftOut: {
    cli: "`svc admin broadcast` shows each result as soon as it is known",
    script: "AC_admin_broadcast_execute returns all results",
  },
  http: {
    method: "POST",
    path: "/admin/broadcast",
    content: LINES_CONTENT_TYPE,
    line: DELIVERY,
    long: "AC_admin_broadcast_execute",
  },
  input: BROADCAST,
  output: v.instance(Response),
  async run(service: BroadcastUses, input, caller) {
    const begun = Promise.withResolvers<void>();
    const announce = async (subject: string) => {
      await caller.announce(subject);
      begun.resolve();
    };
    return streamLines((send, gone) => {
      const signal = AbortSignal.any([caller.signal, gone]);
      const progress: Caller["progress"] = ({ item }) => send(item);
      const all = broadcastTo(service, input, { ...caller, signal, announce, progress }, withoutResult);
      return { begun: Promise.race([begun.promise, all]), ended: all };
    });
  },
});

/**
 * Sends `actions` to the hosts, once that is on record.
 *
 * @throws a `bad_input` failure that lists everything wrong with the actions, `forbidden` when the caller may not use all
 *   of them, or `unavailable` when there can be no audit row or no file: then nothing was sent. `unavailable` with the `results` when they could not be written to the file.
 */
async function broadcastTo(
  service: BroadcastUses,
  input: Broadcast,
  caller: Caller,
  keep = (result: Delivery) => result,
) {
  const { actions, retry, output } = input;
  const { signal, grant } = caller;
  if ((retry ?? output) !== undefined && !isAdminHere(grant)) {
    throw forbidden(beyond(grant, "retry and output, files on this host, need admin"));
  }
  const book = await service.addressBook();
  const hosts = await hostsOf(service, book, input);
  if ((await service.passkeys()).demands({ plan: hosts.length }))
    throw forbidden(
      `${hosts.length} hosts at once need a passkey here, which a broadcast does not take: make a plan, and apply it`,
    );
  const on = input.on ?? input.labels?.join(",") ?? "all";
  const before = variablesFor(labelsOf(hosts), input);
  const executor = await service.executor();
  const checked = await executor.check(actions);
  const { described, secrets } = checked;
  const isSet = before.common.length + before.names.length > 0;
  const commands = isSet ? [...checked.commands, "AC_set_var"] : checked.commands;
  executor.permit(commands, grant, secrets);
  await executor.permitElsewhere(actions, grant);
  if (input.ask_again) await book.askAgain(hosts);
  await service.refusals(hosts, executor.needsOf(commands, secrets), caller);
  const unknown = unknownLabels(input, labelsOf(book.hosts()));
  if (unknown) caller.warn?.(unknown);
  const which = `on=${JSON.stringify(on)}${retry === undefined ? "" : ` retry=${JSON.stringify(retry)}`}`;
  await caller.announce(`admin.broadcast_execute ${which} hosts=${hosts.length} ${described}`);
  const file = output === undefined ? undefined : openResultFile(output);
  const places = new Map(hosts.map(({ label }, n) => [label, n]));
  const results = createKeptResults(MAX_KEPT_BYTES);
  let finished = 0;
  let others = 0;
  const done = (delivery: Delivery) => {
    const place = places.get(delivery.label);
    // What of a host that is none of these is a variable is not known. It takes the place of none of them.
    const item =
      place === undefined ? withoutResult(delivery) : withoutVariables(delivery, before.count(place));
    file?.add(item);
    // The error of a file that cannot be written has the results.
    results.put(place ?? hosts.length + others++, file ? item : keep(item));
    const taken = caller.progress?.({ what: "hosts", done: ++finished, total: hosts.length, item });
    return taken instanceof Promise ? taken : undefined;
  };
  const limits = {
    maxParallel: Math.max(1, countOf(input.max_parallel ?? DEFAULT_CONCURRENCY, hosts.length)),
    // A limit that somebody gives is strict.
    limitsEachServer: input.max_parallel === undefined,
    maxFailures: countOf(input.max_failures, hosts.length),
  };
  // The token of a host may allow more than that of the caller.
  const scope = limitsOf(grant, secrets.length > 0);
  try {
    const about = { input, before, on, hosts, commands, scope, ...limits, grant, signal, done };
    if (hosts.length > 0) await withTrace(caller.trace, () => service.runBroadcast(about));
  } finally {
    file?.close(results.all);
  }
  return results.all;
}

/**
 * A broadcast whose files this process reads and writes, whichever process runs it: that may see other files under their paths.
 *
 * @param run runs it; `done` takes each result when it is complete.
 * @throws as {@link broadcastExecute} does.
 */
export async function withFilesHere(
  service: BroadcastUses,
  input: v.InferInput<typeof BROADCAST>,
  run: (input: v.InferInput<typeof BROADCAST>, done: (result: Delivery) => void) => Promise<Delivery[]>,
): Promise<Delivery[]> {
  const { retry, only, output, ...rest } = input;
  if (retry === undefined && output === undefined) return run(input, () => {});
  const hosts = await hostsOf(service, await service.addressBook(), input);
  const executor = await service.executor();
  // What is refused touches no file.
  await executor.check(input.actions);
  variablesFor(labelsOf(hosts), input);
  const file = output === undefined ? undefined : openResultFile(output);
  const results = createKeptResults(MAX_KEPT_BYTES);
  let finished = 0;
  const done = (result: Delivery) => {
    file?.add(result);
    results.put(finished++, result);
  };
  const labels = hosts.map(({ label }) => label);
  try {
    if (hosts.length === 0) return [];
    return await run(retry === undefined ? rest : { ...rest, on: undefined, labels }, done);
  } finally {
    file?.close(results.all);
  }
}

export const operations = [poll, broadcastExecute, broadcastLive];
export { DELIVERY_STATUS, type Delivery, isBusy };
