/** `black_box`: what is kept of the screen, so that whoever sits there can know. */
import { durationText } from "../../../lib/units";
import { check, type Finding, fine, warning } from "../check";

interface Uses {
  blackBoxStatus(): Promise<{
    readonly state: "off" | "on" | "paused" | "waiting";
    readonly problem: string | null;
    readonly span_s: number | null;
    readonly max_bytes: number | null;
    readonly bytes: number;
    readonly excluded: number;
  }>;
}

const ADVICE = ["svc black-box status", "svc help black-box"];

export const blackBox = check({
  name: "black_box",
  summary: "Whether the black box keeps what the screen shows",
  advice: ADVICE,
  async run(service: Uses): Promise<Finding> {
    const { state, problem, span_s, bytes, excluded } = await service.blackBoxStatus();
    const extra = { state, bytes, span_s, excluded };
    if (state === "off") return fine("what the screen shows is not kept", extra);
    const kept = `${Math.round(bytes / 1_048_576)} MiB`;
    if (state === "paused") return fine(`the black box is paused; it has ${kept}`, extra);
    if (problem !== null) return warning(`the black box does not see the screen: ${problem}`, ADVICE, extra);
    const span = durationText(span_s ?? 0);
    return fine(`what the screen shows is kept for ${span} (svc serve --black-box); it has ${kept}`, extra);
  },
});
