/** `black_box`: what is kept of the screen, so that whoever sits there can know. */
import { timeText } from "../../../lib/time-text";
import { durationText } from "../../../lib/units";
import type { BoxStatus } from "../../desktop/screen/black-box/operations";
import { check, type Finding, fine, warning } from "../check";

interface Uses {
  blackBoxStatus(): Promise<Omit<BoxStatus, "no_texts" | "oldest" | "newest">>;
}

const ADVICE = ["svc black-box status", "svc help black-box"];

export const blackBox = check({
  name: "black_box",
  summary: "Whether the black box keeps what the screen shows",
  advice: ADVICE,
  async run(service: Uses): Promise<Finding> {
    const { state, problem, span_s, bytes, excluded, until, not_told, ...has } =
      await service.blackBoxStatus();
    const extra = { state, bytes, span_s, excluded, until, not_told };
    const kept = bytes < 1_048_576 ? "less than 1 MiB" : `${Math.round(bytes / 1_048_576)} MiB`;
    if (state === "off") {
      if (until === null) return fine("what the screen shows is not kept", extra);
      const left = `what the screen shows is not kept; ${kept} of before stays until ${timeText(until)}`;
      // A flag that was forgotten at the last start shows here, while there is time.
      return has.segments > has.kept
        ? warning(`${left}: svc was started without --black-box`, ADVICE, extra)
        : fine(`${left}, for runs that failed`, extra);
    }
    if (state === "paused") return fine(`the black box is paused; it has ${kept}`, extra);
    if (problem !== null) return warning(`the black box does not see the screen: ${problem}`, ADVICE, extra);
    const span = durationText(span_s ?? 0);
    const told = not_told === null ? "" : `; nothing on the screen says so: ${not_told}`;
    return fine(
      `what the screen shows is kept for ${span} (svc serve --black-box); it has ${kept}${told}`,
      extra,
    );
  },
});
