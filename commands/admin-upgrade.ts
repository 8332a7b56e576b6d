/** `svc admin upgrade`: makes a plan that upgrades hosts to a release, or shows what each host has. */
import { resolve } from "node:path";
import { shownTable } from "../src/cli/shown-table";
import { print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { applyText, hostsOf, hostsText } from "../src/desk/plans/operations/text";
import { upgradeHosts } from "../src/desk/plans/upgrade/operations";
import { printable } from "../src/lib/sanitize";

/** The most hosts that are listed for a person. */
const MAX_LISTED = 50;

const COLUMNS = ["HOST", "VERSION", "TARGET", "WAVE"];

/** `svc admin upgrade`. */
export const upgradeVerb = view(upgradeHosts, {
  on: false,
  hidden: ["alone", "expect_version"],
  positionals: ["files"],
  complete: ({ files, ...others }) => ({ ...others, files: files.map((file) => resolve(file)) }),
  async run({ globals, input, call }) {
    const made = await call(input);
    const { id, digest, version, hosts, waves, left_out } = made;
    const waveOf = (nth: number) => waves.findIndex((end) => nth < end) + 1;
    const rows = [
      ...hosts.map((host, nth) => [...about(host), `${waveOf(nth)}`]),
      ...left_out.map((host) => [...about(host), `left out: ${host.why}`]),
    ];
    const more = rows.length - MAX_LISTED;
    const sizes = waves.map((_, at) => hostsOf(waves, at + 1)).join(", ");
    const last =
      id === null
        ? [hosts.length === 0 ? "Nothing to do." : "No plan was made (--dry-run)."]
        : ["Nothing has been sent yet. To upgrade exactly these:", `  ${applyText({ id, digest }, globals)}`];
    print(globals, made, () =>
      [
        shownTable(COLUMNS, rows.slice(0, MAX_LISTED)),
        ...(more > 0 ? [`and ${more} more: --json lists all`] : []),
        "",
        ...(hosts.length > 0
          ? [
              `${hostsText(hosts.length)} to ${version}, in ${waves.length === 1 ? "one wave" : `waves of ${sizes}`}`,
            ]
          : []),
        ...last,
      ].join("\n"),
    );
    return 0;
  },
  epilogue:
    "Each host gets the program over the way that the desk has to it, verifies it with its own key, and goes back where it does not answer within 30 s. A failure pauses the plan, unless --max-failures allows more.",
  examples: [
    ["$0 admin upgrade ./svc-linux-x64 --on tag:lab --waves 1,10%,100%", "One host first"],
    [
      "$0 admin upgrade ./svc-0.2.0 --on all --queue --skip",
      "Each host the file of its target, from the folder of a release",
    ],
    ["$0 admin upgrade ./svc-linux-x64 --on all --dry-run", "Which host has what; no plan"],
  ],
});

const about = ({
  label,
  version,
  target,
}: {
  readonly label: string;
  readonly version: string | null;
  readonly target: string | null;
}) => [printable(label, 130), version ?? "", target ?? "did not answer"];
