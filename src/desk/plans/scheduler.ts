/**
 * Which hosts begin now.
 *
 * Promises. Nothing begins but while its plan runs. A host has one job of a plan at a time, in the order in which plans came to it;
 * a broadcast waits for no plan, and holds up none. Jobs that have waited for their host begin at a limited rate; while they wait, they take no place of another.
 * Hosts at one server (`lib/per-server.ts`) hold up none at another.
 */
import { Failure } from "../../lib/errors";
import { start, write } from "./dispatch";
import type { Entry, Run } from "./run";
import type { RunnerParts } from "./runner-parts";
import { settle } from "./waves";

/** How many hosts begin in one turn of the event loop, which takes some milliseconds: at several servers, thousands may. */
const AT_ONCE = 256;

/** Begins what may begin: one host of each plan after the other, so that none takes all slots. Then each plan goes on. */
export function begin(shared: RunnerParts): void {
  // Of one whose hosts could not be read, nobody knows yet which of them may begin, or whether any is left.
  const order = inOrder(shared).filter(({ isStale }) => !isStale);
  let left = AT_ONCE;
  for (const isUrgent of [true, false]) {
    let able = order.filter(({ policy }) => policy.isUrgent === isUrgent);
    while (able.length > 0 && left > 0) {
      able = able.filter((run) => guarded(run, () => beginOne(run)));
      left -= able.length;
    }
    // The others in the next turn.
    if (able.length > 0) shared.pump();
  }
  for (const run of order) guarded(run, () => settle(run));
}

/**
 * The order in which plans get slots: first those whose caller waits, then those in which no host began for longest. Not those whose
 * hosts are being read. While they are read for the first time, no other plan either: which hosts have jobs already is not known yet, and those
 * come before all others.
 */
export function inOrder({ runs }: RunnerParts): Run[] {
  const all = [...runs.values()];
  const areHeld = all.some(({ loading, policy }) => loading && policy.waits);
  const able = all.filter((run) => !run.loading && !run.isReading && !(areHeld && run.policy.waits));
  return able.sort((a, b) => Number(b.policy.isUrgent) - Number(a.policy.isUrgent) || a.began - b.began);
}

/** What `work` returns; undefined where the plan cannot go on for now, which is logged. */
export function guarded<T>(run: Run, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    // Another process has decided something meanwhile: the next look reads it.
    if (!(error instanceof Failure && error.code === "conflict")) run.shared.complain(run, error);
    return undefined;
  }
}

/** Begins at the next host of the waves so far, if it is its turn there. @returns false where none may begin now. */
function beginOne(run: Run): boolean {
  const { stopping, queues } = run.shared;
  if (stopping.signal.aborted || !mayBegin(run)) return false;
  const entry = run.nextReady();
  if (!entry) return false;
  if (!run.policy.waits) start(entry);
  // It goes on when those before it have ended.
  else if (!queues.take(entry.label, entry)) waitBehind(entry);
  else if (mayCome(entry)) entry.phase = "awaited";
  else start(entry);
  return true;
}

const mayBegin = (run: Run) =>
  !run.shared.writer.isBehind &&
  !run.hasTooManyFailed() &&
  run.plan.state === "running" &&
  run.stopped === undefined &&
  !run.policy.isLeft() &&
  Date.now() < (run.plan.expires ?? 0);

function waitBehind(entry: Entry): void {
  const first = entry.run.shared.queues.first(entry.label);
  if (first?.state !== "waiting") return;
  if (entry.run.plan.spec.queue) void write(entry, "wait");
  // Whether the host is there has to be known now.
  else first.due = 0;
}

/** Whether to wait for the host, since it may yet come; or for the address book, to know that. */
function mayCome({ run, label }: Entry): boolean {
  const { hosts, complain } = run.shared;
  try {
    return hosts.isExpected(label);
  } catch (error) {
    complain(run, error);
    return true;
  }
}

/** Tries hosts that were not there, and asks those whose answer was lost. */
export function tryAgain(run: Run): void {
  const now = performance.now();
  for (const entry of run.entries.values()) {
    if (entry.phase === "asking" || entry.due > now) continue;
    if (entry.state === "planned" && entry.due > 0) {
      entry.due = 0;
      run.again(entry);
    }
    if (entry.state === "sent" || entry.state === "running") {
      if (!run.shared.slotsAt(run.shared.hosts.serverOf(entry)).isFree()) continue;
      run.shared.queues.take(entry.label, entry);
      start(entry);
    } else if ((entry.state === "waiting" || entry.phase === "awaited") && mayBegin(run)) tryHost(entry);
  }
}

/** Begins at a host that was not there, once it is there. */
function tryHost(entry: Entry): void {
  const { run, label } = entry;
  const { queues, hosts, slotsAt, mayStart } = run.shared;
  if (!queues.take(label, entry) || mayCome(entry)) return;
  const server = hosts.serverOf(entry);
  const isFree = slotsAt(server).isFree() && run.hasRoom(server);
  if (!hosts.isOffline(label)) {
    if (isFree && mayStart(server)) start(entry);
  } else if (entry.state === "planned") run.again(entry);
  // What came after it does not wait for ever.
  else if (isFree && queues.behind(label).some(({ state }) => state === "planned")) start(entry);
}
