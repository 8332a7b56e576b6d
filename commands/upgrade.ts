/** `svc upgrade`: replaces this program by a newer one, which it verifies first. */
import { view } from "../src/cli/view";
import { upgradeHere } from "../src/host/release/operations";

export default view(upgradeHere, {
  positionals: ["file"],
  // A daemon of the machine, and a program in /usr/local/bin, are root's matter.
  asRoot: () => true,
  cancellable: true,
  text: ({ from, to, program, previous, restarted, dry_run }) =>
    dry_run
      ? `${program} is ${from}; ${to} is verified and would take its place\n${daemonsText(restarted, "would be started anew")}`
      : `${program} is now ${to}; ${previous} is ${from}\n${daemonsText(restarted, "was started anew, and answers")}`,
  epilogue:
    "Where the daemon does not answer with the new version within 30 s, the old program is put back, and the exit code is 1.",
  examples: [
    ["$0 upgrade ./svc-linux-x64", "Its signature is svc-linux-x64.minisig beside it"],
    ["$0 upgrade ./svc-linux-x64 --dry-run", "Verify it only"],
  ],
});

const daemonsText = (restarted: readonly string[], what: string) =>
  restarted.length > 0
    ? restarted.map((name) => `${name} ${what}`).join("\n")
    : "no daemon that svc installed runs it: what runs already stays the old version until it is started anew";
