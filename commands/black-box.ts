/** `svc black-box`: says what is kept of the screen, and pauses and resumes that. */
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import {
  type BoxStatus,
  boxSpans,
  boxStatus,
  keptOfBox,
  pauseBox,
  resumeBox,
} from "../src/host/desktop/screen/black-box/operations";
import { printable } from "../src/lib/sanitize";
import { timeText } from "../src/lib/time-text";
import { typedDuration } from "../src/lib/units";

const mib = (bytes: number) => `${Math.round(bytes / 1_048_576)}`;

const shown = {
  columns: ["STATE", "SPAN", "SINCE", "MiB", "OF", "KEPT"],
  rows: ({ state, span_s, max_bytes, bytes, kept, oldest }: BoxStatus) => [
    [
      ...[state, span_s === null ? "" : typedDuration(span_s), oldest === null ? "" : timeText(oldest)],
      ...[mib(bytes), max_bytes === null ? "" : mib(max_bytes), `${kept}`],
    ],
  ],
  warnings: ({ problem, no_texts, until, not_told }: BoxStatus) => [
    ...(until === null ? [] : [`nothing more is kept; what was kept before goes at ${timeText(until)}`]),
    ...(not_told === null ? [] : [`nothing on the screen says that it is kept: ${printable(not_told, 300)}`]),
    ...(problem === null ? [] : [`it does not see the screen: ${printable(problem, 300)}`]),
    ...(no_texts === null ? [] : [`it keeps titles, and no texts of programs: ${printable(no_texts, 300)}`]),
  ],
};

export default {
  verbs: {
    status: view(boxStatus, {
      ...shown,
      examples: [["$0 black-box status --on all", "Which hosts keep what their screens show"]],
    }),
    pause: view(pauseBox, {
      ...shown,
      examples: [
        ["$0 black-box pause", "Nothing is kept until `svc black-box resume`, also when svc starts anew"],
      ],
    }),
    resume: view(resumeBox, shown),
    kept: view(keptOfBox, {
      columns: ["RUN", "SOURCE", "FROM", "TO"],
      rows: ({ runs }) =>
        runs.map(({ run_id, source_type, source_id, from, to }) => [
          run_id.slice(0, 8),
          printable(`${source_type} ${source_id}`.trim(), 100),
          ...[timeText(from), timeText(to)],
        ]),
      none: "nothing is kept for a failed run",
      examples: [
        ["$0 black-box kept", "Then `svc screen at` a time of that span, or `svc recording export`"],
      ],
    }),
    spans: view(boxSpans, {
      columns: ["FROM", "TO"],
      rows: ({ spans }) => spans.map(({ from, to }) => [timeText(from), timeText(to)]),
      none: "nothing has been kept",
    }),
  },
} satisfies Group;
