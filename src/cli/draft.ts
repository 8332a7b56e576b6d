/**
 * A script that waits for a person, on a terminal: what differs from the stored one, a question, and storing it.
 */
import { printable } from "../lib/sanitize";
import type { Service } from "../service/service";
import { canAsk, isConfirmed } from "./confirm";
import { writeErr } from "./output";
import { type GlobalFlags, print } from "./subcommand";

/** A draft, as the operations that make one answer. */
interface MadeDraft {
  readonly draft: string;
  readonly name: string;
  readonly source: string;
  readonly sha256: string;
  readonly replaces: boolean;
  readonly diff: readonly string[];
  readonly warnings: readonly string[];
}

type StoreDraft = (given: {
  readonly draft: string;
  readonly sha256: string;
}) => Promise<{ readonly parameters: readonly string[] }>;

/** A draft as a person reads it: its name, and what differs. */
export const draftText = ({ draft, name, source, replaces, diff }: Omit<MadeDraft, "warnings">): string =>
  [
    `draft ${draft} of ${name}, from ${printable(source, 300)} (${replaces ? "against the stored script" : "a new script"}):`,
    ...(diff.length === 0 ? ["  (nothing differs)"] : diff.map((line) => printable(line, 2_000))),
  ].join("\n");

/** What was stored, and how to run it. */
export const storedText = (name: string, parameters: readonly string[]): string =>
  `${name} is stored: svc scripts run ${name}${parameters.length > 0 ? ` [${parameters.map((one) => `--var ${one}=…`).join(" ")}]` : ""}`;

/** Shows a draft, and stores it on a yes. @param isYes whether it is stored without a question. @returns the exit code. */
export async function showDraft(
  service: Pick<Service, "log">,
  globals: GlobalFlags,
  made: MadeDraft,
  isYes: boolean,
  store: StoreDraft,
): Promise<number> {
  const { draft, sha256, warnings, name } = made;
  for (const warning of warnings) service.log.warn(warning);
  const isToBeStored = isYes || (!globals.json && canAsk() && (await isAllowed(made)));
  if (!isToBeStored) {
    const later = `nothing is stored: svc scripts store ${draft} stores it, svc scripts drop ${draft} forgets it`;
    print(globals, { ...made, stored: false }, () => `${draftText(made)}\n${later}`);
    return 0;
  }
  const stored = await store({ draft, sha256 });
  print(globals, { ...made, stored: true }, () =>
    [...(isYes ? [draftText(made)] : []), storedText(name, stored.parameters)].join("\n"),
  );
  return 0;
}

async function isAllowed(made: MadeDraft): Promise<boolean> {
  writeErr(`${draftText(made)}\n`);
  return isConfirmed(`Store it as ${made.name}?`);
}
