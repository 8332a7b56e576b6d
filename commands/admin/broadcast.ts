import * as v from "valibot";
import { print } from "../../src/cli/subcommand";
import { view } from "../../src/cli/view";
import { field } from "../../src/core/fields";
import { parseScript, readScript } from "../../src/core/script";
import { broadcastExecute, DELIVERY_STATUS, type Delivered } from "../../src/fleet/operations/fleet";
import { printable } from "../../src/lib/sanitize";

const LIST = v.array(v.unknown());

export const broadcast = view(broadcastExecute, {
  hidden: ["actions"],
  extra: { script: field(v.string(), "Actions as JSON, a .json file, or - for stdin") },
  positionals: ["script"],
  cancellable: true,
  complete: async (input, { script }) => ({ ...input, actions: v.parse(LIST, await actionsOf(script)) }),
  async run({ globals, input, call }) {
    const results: Delivered[] = [];
    const progress = ({ item }: { readonly item?: unknown }) => {
      const result = item as Delivered;
      results.push(result);
      if (!globals.json) print(globals, result, () => resultLine(result));
    };
    try {
      const all = await call(input, { progress });
      if (globals.json) print(globals, all, String);
    } finally {
      // Also when they could not be written to `--output`.
      if (!globals.json && results.length > 0) print(globals, results, () => summary(results));
    }
    return results.every(({ ok }) => ok) ? 0 : 1;
  },
  examples: [
    [`$0 admin broadcast '[["AC_screen_size"]]' --on tag:lab`, "One action, some hosts"],
    ["$0 admin broadcast nightly.json --on all --canary 1", "One host first"],
    ["$0 admin broadcast nightly.json --retry results.jsonl", "Repeat on the hosts that failed"],
  ],
});

async function actionsOf(given: string): Promise<unknown> {
  const text = given === "-" ? await Bun.stdin.text() : given;
  const otherwise = "script: expected JSON, or the path of a .json file";
  return /^\s*[[{]/.test(text) || given === "-" ? parseScript(text, otherwise) : readScript(text);
}

function resultLine({ label, status, duration_ms, error, result }: Delivered): string {
  const returned = error ?? JSON.stringify(Object.values(result ?? {})).slice(1, -1);
  const seconds = `${(duration_ms / 1_000).toFixed(2)} s`.padStart(8);
  return `${status.padEnd(12)}  ${seconds}  ${printable(label, 130)}  ${printable(returned, 120)}`.trimEnd();
}

function summary(results: readonly Delivered[]): string {
  const counts = DELIVERY_STATUS.map((status) => [
    results.filter((one) => one.status === status).length,
    status,
  ]);
  const shown = counts.filter(([count]) => count !== 0).map((count) => count.join(" "));
  return `${results.length} ${results.length === 1 ? "host" : "hosts"}: ${shown.join(", ")}`;
}
