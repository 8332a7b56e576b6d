/** `rest_api`: the server of `{config_dir}` answers. */
import { deadline } from "../../../lib/deadline";
import { messageOf } from "../../../lib/errors";
import { durationText } from "../../../lib/units";
import { check, failed, fine, warning } from "../check";

/** What to do about a server that does not answer. */
export const RESTART = ["read the log of the server, then restart it"];

/** For an answer that costs the server nothing; within the deadline of the check. */
const HEALTH_MS = 4_000;

/** The server that runs on this `{config_dir}`, in this process or another. */
interface Server {
  readonly url: string;
  readonly pid: number;
  health(): Promise<unknown>;
  /** `failures`: audit rows that it could not write. */
  overview(): Promise<{
    readonly server: { readonly version: string; readonly uptime_seconds: number };
    readonly audit: { readonly failures: number } | null;
  }>;
}

export const restApi = check({
  name: "rest_api",
  summary:
    "The server of this configuration folder answers; a warning when it could not write audit rows, or does not answer other processes of its user",
  advice: RESTART,
  async run({ runningServer }: { runningServer(): Server | null }) {
    const running = runningServer();
    if (running === null) return fine("no server runs here (`svc serve` starts one)", { running: false });
    const { url, pid } = running;
    const extra = { running: true, url, pid };
    const silence = await deadline(running.health(), { ms: HEALTH_MS }).then(() => null, messageOf);
    if (silence !== null) {
      return failed(`process ${pid} serves ${url} and does not answer: ${silence}`, RESTART, extra);
    }
    const overview = await running.overview().catch(messageOf);
    if (typeof overview === "string") {
      return warning(`${url} answers, but does not describe itself: ${overview}`, RESTART, extra);
    }
    const { version, uptime_seconds } = overview.server;
    const audit_failures = overview.audit?.failures ?? 0;
    const known = { ...extra, version, uptime_seconds, audit_failures };
    const detail = `${url} answers, up for ${durationText(uptime_seconds)}, svc ${version}`;
    if (audit_failures === 0) return fine(detail, known);
    const advice = ["see `audit_chain` and `disk_space`; restart the server once that is repaired"];
    return warning(`${detail}; ${audit_failures} audit rows could not be written`, advice, known);
  },
});
