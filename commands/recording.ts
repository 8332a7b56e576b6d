import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
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
