/** `svc recording`: records the screen to a file, exports what the black box has, and lists recordings. */
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { exportFilm } from "../src/host/desktop/screen/black-box/operations";
import { listRecordings, startRecording, stopRecording } from "../src/host/desktop/screen/record/operations";
import { printable } from "../src/lib/sanitize";

const kib = (bytes: number) => `${Math.ceil(bytes / 1_024)}`;

export default {
  verbs: {
    start: view(startRecording, {
      text: ({ file_path }) => printable(file_path),
      examples: [["$0 recording start --duration 5m", "Into {config_dir}/recordings, five minutes at most"]],
    }),
    stop: view(stopRecording, {
      text: ({ file_path, result }) =>
        result === null
          ? printable(file_path)
          : `${printable(file_path)}  ${result.seconds} s, ${result.pictures === 1 ? "1 picture" : `${result.pictures} pictures`}, ${kib(result.bytes)} KiB`,
      problems: ({ result }) => (result?.error ? [printable(result.error)] : []),
      good: ({ result }) => result?.ended !== "failed",
    }),
    export: view(exportFilm, {
      positionals: ["file_path"],
      text: ({ file_path, seconds, pictures, bytes }) =>
        `${printable(file_path)}  ${seconds} s, ${pictures === 1 ? "1 picture" : `${pictures} pictures`}, ${kib(bytes)} KiB`,
      examples: [
        [
          "$0 recording export night.webm --since 02:10 --until 02:20",
          "From the black box (svc serve --black-box)",
        ],
      ],
    }),
    list: view(listRecordings, {
      columns: ["NAME", "KiB", "TOKEN", "STATE"],
      rows: ({ current, recordings }) =>
        recordings.map(({ name, bytes, token }) => [
          ...[name, kib(bytes), token ?? ""],
          name === current?.name ? "recording" : "",
        ]),
      none: "no recordings: `svc recording start` makes one",
      examples: [["$0 recording list", "The newest first"]],
    }),
  },
} satisfies Group;
