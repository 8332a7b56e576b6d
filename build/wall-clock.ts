/**
 * `bun build/wall-clock.ts`: checks that nothing measures a duration by the time, which somebody may set. Exits with 1 and a line for
 * each file that asks for the time and is not listed here with a reason.
 *
 * A duration, a limit or a pause is measured by `performance.now()`; one that has to survive a restart by `steadyClock` of
 * `lib/clock.ts`, and is bounded by the longest pause when it is read. `new Date().toISOString()`, which says when something was, needs no reason.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./targets";

/** How often each file asks for the time, by the last two parts of its path. Where a file has several reasons, the first that fits. */
const ALLOWED: ReadonlyArray<{ readonly why: string; readonly uses: Readonly<Record<string, number>> }> = [
  {
    why: "it begins a clock that nobody sets",
    uses: { "lib/clock.ts": 1 },
  },
  {
    why: "a time that is shown, sent or written, and decides nothing",
    uses: {
      "approvals/approvals.ts": 1,
      "audit/adopt.ts": 1,
      "audit/commits.ts": 1,
      "audit/prune.ts": 1,
      "config/import.ts": 1,
      "config/operations.ts": 1,
      "events/bus.ts": 1,
      "http/server.ts": 1,
      "join/become-desk.ts": 1,
      "lib/units.ts": 1,
      "link/dial.ts": 7,
      "link/hub.ts": 1,
      "link/link.ts": 2,
      "nats/kept-connection.ts": 5,
      "nats/operator.ts": 1,
      "nats/presence.ts": 1,
      "runs/spans.ts": 1,
      "operations/server.ts": 3,
      "peers/inbox.ts": 1,
      "runs/runner.ts": 1,
      "service/robot.ts": 1,
      "ledger/ledger.ts": 1,
      "plans/move.ts": 1,
      "plans/writer.ts": 1,
      "release/store.ts": 1,
      "screen/control.ts": 1,
      "screen/tickets.ts": 1,
      "usb/watcher.ts": 1,
      "webhooks/webhooks.ts": 1,
      "commands/token.ts": 1,
      "dashboard/format.js": 1,
      "hosts/host-rows.js": 1,
    },
  },
  {
    why: "until when a token, a key, a certificate or a join string is good: that is a time which was promised to others",
    uses: {
      "checks/tls-certificate.ts": 1,
      "checks/tokens.ts": 1,
      "dashboard/main.js": 1,
      "fleet/renewal.ts": 1,
      "http/tls.ts": 1,
      "http/token-use.ts": 1,
      "join/join-strings.ts": 3,
      "metrics/host-readings.ts": 1,
      "metrics/readings.ts": 1,
      "nats/probe.ts": 1,
      "nats/tokens.ts": 1,
      "join/operations.ts": 1,
      "oidc/sessions.ts": 2,
      "oidc/sign-in.ts": 2,
      "passkeys/questions.ts": 1,
      "trust/named-tokens.ts": 3,
      "trust/announcement.ts": 1,
      "trust/own-rotation.ts": 1,
      "trust/rotation.ts": 2,
      "trust/signed-out.ts": 2,
      "trust/tls.ts": 3,
      "trust/tokens-in-force.ts": 2,
      "turn/operations.ts": 1,
    },
  },
  {
    why: "when a job or a plan begins and expires is signed by the desk as a time, which each host reads by its own clock",
    uses: {
      "jobs/accept.ts": 1,
      "jobs/seen.ts": 1,
      "ledger/decisions.ts": 1,
      "plans/scheduler.ts": 1,
      "plans/deliver.ts": 1,
      "plans/plans.ts": 2,
      "plans/making.ts": 1,
      "plans/changes.ts": 2,
      "plans/runner.ts": 1,
      "plans/look.ts": 1,
      "plans/dispatch.ts": 1,
      "upgrade/upload.ts": 1,
    },
  },
  {
    why: "the times of two machines, or of two messages, are compared",
    uses: {
      "checks/clock.ts": 1,
      "desk/witnessed.js": 1,
      "join/enter.ts": 1,
      "join/signed-time.ts": 1,
      "nats/plan-announcements.ts": 2,
      "operations/find.ts": 1,
      "hosts/hosts.js": 1,
      "hosts/host-words.js": 1,
      "desk/needs.js": 1,
      "dashboard/nav-counts.js": 1,
      "nats/seal.ts": 2,
      "oidc/access.ts": 4,
      "webhooks/send.ts": 2,
      "witness/peer-cosignature.ts": 1,
      "witness/acceptance.ts": 1,
      "witness/findings.ts": 1,
      "witness/witness.ts": 1,
    },
  },
  {
    why: "a job is due at a time of the calendar; the scheduler looks again where that was set",
    uses: { "scheduler/scheduler.ts": 1, "trust/token-use.ts": 1 },
  },
  {
    why: "read once from a file of this or another process, and bounded, also where it lies in the future",
    uses: {
      "client/refusals.ts": 3,
      "events/take-over.ts": 1,
      "peers/inbox-index.ts": 2,
      "plans/foreign-plans.ts": 1,
      "plans/wave-pause.ts": 1,
      "plans/entry.ts": 1,
      "plans/waves.ts": 2,
      "release/by-root.ts": 2,
      "release/files.ts": 1,
      "lib/age.ts": 1,
      "release/incoming-binary.ts": 1,
      "release/order.ts": 1,
      "release/watch.ts": 1,
      "runs/history.ts": 1,
      "witness/checkpointer.ts": 2,
    },
  },
  {
    why: "how old a file is, by the time that the system gave it: what is too old is removed",
    uses: { "black-box/retention.ts": 1, "black-box/writer.ts": 1 },
  },
  {
    why: "hours to weeks, counted over processes in a file: a time that was set makes it shorter or longer once, which harms nothing",
    uses: {
      "lib/addon.ts": 1,
      "mcp/budget.ts": 1,
      "witness/states.ts": 2,
    },
  },
  {
    why: "another process says since when there is no link: a time that was set makes a warning an error, or an error a warning",
    uses: { "checks/link.ts": 1, "checks/nats.ts": 1 },
  },
  {
    why: "a page that slept asks anew, which performance.now() does not show in every browser; a time that was set costs one request",
    uses: { "dashboard/events.js": 5, "dashboard/shared-answers.js": 2, "dashboard/view.js": 3 },
  },
];

const ASKS = /\bDate\.now\b|\bnew Date\(\s*\)(?!\s*\.toISOString\(\))|(?<!new )\bDate\(\s*\)/g;

/** How often the `text` of a program asks for the time, but for what it only writes down as a text. */
export const asksIn = (text: string): number => [...text.matchAll(ASKS)].length;

/** What is wrong with how often each file asks for the time; nothing where all is listed. */
export function faultsOf(files: ReadonlyMap<string, number>): string[] {
  const allowed = new Map(ALLOWED.flatMap(({ uses }) => Object.entries(uses)));
  const found = new Map<string, number>();
  for (const [path, count] of files) {
    const key = path.split("/").slice(-2).join("/");
    if (count > 0) found.set(key, (found.get(key) ?? 0) + count);
  }
  const more = [...found].flatMap(([key, count]) => {
    const most = allowed.get(key) ?? 0;
    return count > most
      ? [
          `${key} asks ${count} times for the time, of ${most} with a reason: measure a duration by performance.now()`,
        ]
      : [];
  });
  const less = [...allowed].flatMap(([key, most]) => {
    const count = found.get(key) ?? 0;
    return count < most ? [`${key} asks ${count} times for the time, and is listed with ${most}`] : [];
  });
  return [...more, ...less].map((line) => `${line} (build/wall-clock.ts)`);
}

if (import.meta.main) {
  const paths = new Bun.Glob("{src,commands,dashboard,explorer}/**/*.{ts,js}").scanSync(ROOT);
  const files = new Map([...paths].map((path) => [path, asksIn(readFileSync(join(ROOT, path), "utf8"))]));
  const faults = faultsOf(files);
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
