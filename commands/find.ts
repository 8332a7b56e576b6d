import { view } from "../src/cli/view";
import { findOnScreen } from "../src/host/desktop/screen/black-box/operations";
import { printable } from "../src/lib/sanitize";
import { timeText } from "../src/lib/time-text";

export default view(findOnScreen, {
  positionals: ["text"],
  columns: ["FROM", "TO", "PROGRAM", "WINDOW", "TEXT"],
  rows: ({ found }) =>
    found.map(({ kind, from, to, program, window, text }) => [
      ...[timeText(from), timeText(to), program ?? "", printable(window, 80)],
      kind === "title" ? "" : printable(text, 200),
    ]),
  none: "nothing of that was on the screen",
  warnings: ({ unread }) =>
    unread === 0 ? [] : [`${unread} parts of the black box cannot be read with the key of this host`],
  examples: [
    ["$0 find 0x80070005 --since 24h", "In titles of windows and texts in them, with the times"],
    ["$0 find 0x80070005 --on all --since 24h", "On all hosts of the address book"],
  ],
});
