/**
 * Runs of another process of this host, such as `svc execute` beside a server: the process runs them, the owner of the folder keeps
 * them and says when they are to end.
 */
import * as v from "valibot";
import { field, flag } from "../../core/fields";
import { operation } from "../../core/operation";
import { OUTCOME } from "../../core/run";
import { badInput, messageOf } from "../../lib/errors";
import type { Runs } from "./runs";
import { LOG_LINE, RUN_VIEW } from "./types";

/** What the process says of its run: how it stands, the outcome of an action, or what the script logs. */
const REPORTED = v.union([
  v.strictObject({ run: RUN_VIEW }),
  v.strictObject({ outcome: OUTCOME }),
  v.strictObject({ log: LOG_LINE }),
]);

export type AttachedReport = v.InferOutput<typeof REPORTED>;

const BY_SVC = "a process of the same user asks so for a run of its own";

/** Answers with one piece once the run is to end, which says why, and ends when the run has. */
export const attachRun = operation({
  name: "runs.attach",
  summary: "Keep a run of another process of this host, and say when it is to end",
  scope: "admin",
  answeredBy: "server",
  leftOut: { http: BY_SVC, cli: BY_SVC, script: BY_SVC },
  input: v.strictObject({
    run: field(RUN_VIEW, "The run as it stands"),
    is_read: flag("Whether it changes nothing"),
  }),
  output: v.instance(Response),
  async run(service: { runs(): Promise<Runs> }, { run, is_read }, { request }) {
    const reports = request?.more?.();
    if (!reports) throw badInput("runs.attach: is for processes of this host alone");
    const attached = (await service.runs()).attach(run, is_read);
    const encoder = new TextEncoder();
    return new Response(
      new ReadableStream<Uint8Array>({
        async start(answer) {
          const cancel = () => answer.enqueue(encoder.encode(messageOf(attached.signal.reason)));
          attached.signal.addEventListener("abort", cancel, { once: true });
          try {
            for await (const one of reports) if (attached.report(v.parse(REPORTED, one)) === "ended") break;
            attached.end();
            answer.close();
          } catch (error) {
            attached.leave();
            answer.error(error);
          } finally {
            attached.signal.removeEventListener("abort", cancel);
          }
        },
      }),
    );
  },
});
