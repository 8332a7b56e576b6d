/** `executor`: action lists are checked and their actions run. No run goes on record. */
import { performOperation } from "../../../core/call";
import type { Operation } from "../../../core/operation";
import { messageOf } from "../../../lib/errors";
import { check, failed, fine } from "../check";

const ADVICE = ["report this, with the log of svc"];

/** Harmless, and goes all the way through the table. */
const PROBE = ["AC_diagnose", { only: ["platform"] }];
const UNKNOWN = ["AC_no_such_command"];

interface Action {
  readonly operation: Operation;
  readonly input: Readonly<Record<string, unknown>>;
}

interface Uses {
  executor(): Promise<{
    /** The commands that a process may run which permits this (default: this process). */
    allowed(permits?: (need: string) => boolean): readonly string[];
    /** Checks an action list. @throws when it is not one. */
    prepare(actions: readonly unknown[]): { readonly actions: readonly Action[] };
  }>;
  runningServer(): { readonly permits?: readonly string[] | undefined } | null;
  runs(): Promise<{ list(): ReadonlyArray<{ readonly status: string }> }>;
}

export const executor = check({
  name: "executor",
  summary: "An action can be checked and run, and an unknown one is refused",
  advice: ADVICE,
  async run(service: Uses, caller) {
    const [executor, runs] = await Promise.all([service.executor(), service.runs()]);
    // Under the server that runs here, if one does: the same figure as that of `/commands` and of the dashboard.
    const { permits } = service.runningServer() ?? {};
    const commands = executor.allowed(permits && ((need) => permits.includes(need))).length;
    const perform = async (action: unknown) => {
      for (const { operation, input } of (await executor.prepare([action])).actions) {
        await performOperation(service, operation, input, caller);
      }
    };
    const wrong = (what: string) => failed(what, ADVICE, { commands });
    const faultOf = (action: unknown) => perform(action).then(() => null, messageOf);
    const fault = await faultOf(PROBE);
    if (fault !== null) return wrong(`${PROBE[0]} failed: ${fault}`);
    if ((await faultOf(UNKNOWN)) === null) return wrong("an unknown command was not refused");
    const active = runs.list().filter(({ status }) => status === "running" || status === "waiting").length;
    return fine(`${commands} commands, ${active} active runs in this process`, { commands, runs: active });
  },
});
