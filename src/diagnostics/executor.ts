/** `executor`: that action lists are checked and their actions run, without a run on record. */
import { messageOf } from "../lib/errors";
import { type Check, failed, fine } from "./check";
import type { Subjects } from "./subjects";

const ADVICE = ["report this, with the log of svc"];

/** Harmless, and all the way through the table. */
const PROBE = ["AC_diagnose", { only: ["platform"] }] as const;

const UNKNOWN = ["AC_no_such_command"] as const;

export function executorCheck({ executor }: Pick<Subjects, "executor">): Check {
  return {
    name: "executor",
    advice: ADVICE,
    async run(signal) {
      const { commands, perform, runs } = await executor();
      const wrong = (what: string) => failed(what, ADVICE, { commands });
      try {
        await perform(PROBE, signal);
      } catch (error) {
        return wrong(`${PROBE[0]} failed: ${messageOf(error)}`);
      }
      const refused = await perform(UNKNOWN, signal).then(
        () => false,
        () => true,
      );
      if (!refused) return wrong("an unknown command was not refused");
      return fine(`${commands} commands, ${runs} runs going on in this process`, { commands, runs });
    },
  };
}
