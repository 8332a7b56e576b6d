/** `svc desktops`: lists, shows, starts and stops desktops on demand. */
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import type { DesktopView } from "../src/host/desktops/operations";
import { listDesktops, showDesktop, startDesktop, stopDesktop } from "../src/host/desktops/operations";
import { timeText } from "../src/lib/time-text";
import { sizeText } from "../src/lib/units";

const columns = ["DESKTOP", "KIND", "DISPLAY", "SIZE", "SINCE", "USED BY", "DISK"];
const row = ({ name, kind, display, size, scale, started_at, user, disk }: DesktopView) => [
  ...[name, kind, display, scale === 1 ? size : `${size} at ${scale}`, timeText(started_at), user ?? "-"],
  disk ? `${sizeText(disk.used_bytes)} of ${sizeText(disk.limit_bytes)}` : "-",
];
const one = { positionals: ["name"], columns, rows: (desktop: DesktopView) => [row(desktop)] } as const;

export default {
  verbs: {
    list: view(listDesktops, {
      columns,
      rows: ({ desktops }) => desktops.map(row),
      none: "no desktops but that of the host",
      examples: [["$0 desktops list", "Those of runs, and those that are kept"]],
    }),
    show: view(showDesktop, {
      ...one,
      examples: [["$0 desktops show orders --json", "All that is known of it"]],
    }),
    start: view(startDesktop, {
      ...one,
      text: ({ name, display, size }) =>
        `${name} runs (${display}, ${size}): svc execute job.json --desktop ${name}`,
      examples: [
        ["$0 desktops start orders", "A desktop that is kept until it is stopped"],
        ["$0 desktops start orders --size 1920x1080 --locale de_DE.UTF-8", "In German, and larger"],
      ],
    }),
    stop: view(stopDesktop, {
      ...one,
      text: ({ name }) => `${name} has ended, with whatever was started on it`,
      examples: [["$0 desktops stop orders", "Its programs end too"]],
    }),
  },
} satisfies Group;
