/**
 * What hosts have, before a plan upgrades them: which of them get which file, and why others get none.
 */
import { RemoteError } from "../../../client/carrier";
import { messageOf } from "../../../lib/errors";
import { serverOver } from "../../../lib/per-server";
import { runPool } from "../../../lib/pool";
import { printable } from "../../../lib/sanitize";
import type { Target } from "../../../wire/job/job";
import { isNoNews, type ReleasedBinary } from "../../../wire/release/released-binary";
import { askingOf, isOffline, TooOldError } from "./ask";

/** How many hosts are asked at once, at each NATS server and of all others. */
const SLOTS = 64;

/** A host before an upgrade. */
interface HostSurvey<H> {
  readonly host: H;
  /** Null where it did not answer. */
  readonly version: string | null;
  readonly target: string | null;
  /**
   * `upgrade`: it gets the file of its target; `current`: it has that version, or a newer one; `offline`: it did not answer; `unfit`: it cannot be upgraded.
   */
  readonly state: "upgrade" | "current" | "offline" | "unfit";
  /** Why it is not upgraded; null where it is. */
  readonly why: string | null;
}

/** Asks each host, at most for `timeoutMs`. @param client the named token for which it is; null for the owner. */
export function surveyed<H>(
  hosts: readonly H[],
  targetOf: (host: H) => Pick<Target, "server">,
  offered: ReadonlyArray<Pick<ReleasedBinary, "version" | "target">>,
  { timeoutMs, signal, client }: { timeoutMs: number; signal: AbortSignal; client: string | null },
): Promise<Array<HostSurvey<H>>> {
  const pool = { slots: SLOTS, serverOf: (host: H) => serverOver(targetOf(host).server.url) };
  return runPool(hosts, pool, async (host): Promise<HostSurvey<H>> => {
    const unfit = (why: string, known: { version: string; target: string } | null = null): HostSurvey<H> => ({
      host,
      version: known?.version ?? null,
      target: known?.target ?? null,
      state: "unfit",
      why: printable(why, 300),
    });
    try {
      const asking = askingOf(targetOf(host), { signal, client }, timeoutMs);
      const { version, target, refusal } = await asking.status();
      const file = offered.find((one) => one.target === target);
      const known = { version, target };
      if (!file) return unfit(`no file is for ${target}`, known);
      if (isNoNews(file, version)) return { host, ...known, state: "current", why: `it has ${version}` };
      if (refusal !== null) return unfit(refusal, known);
      return { host, ...known, state: "upgrade", why: null };
    } catch (error) {
      if (!(error instanceof RemoteError || error instanceof TooOldError)) throw error;
      if (error instanceof TooOldError || !isOffline(error)) return unfit(messageOf(error));
      return { host, version: null, target: null, state: "offline", why: printable(error.message, 300) };
    }
  });
}
