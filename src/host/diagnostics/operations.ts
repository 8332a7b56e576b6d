import * as v from "valibot";
import { field } from "../../core/fields";
import { operation } from "../../core/operation";
import { beyond } from "../../core/rights";
import { badInput, conflict, forbidden } from "../../lib/errors";
import { ABOUT_HOSTS, CHECK_NAMES } from "./checks";
import { REPORT } from "./diagnostics";
import type { DiagnosticsUses } from "./own-checks";
import { skippedHere } from "./skipped-checks";

const NAMES = v.pipe(v.array(v.picklist(CHECK_NAMES)), v.minLength(1), v.maxLength(100));

const ALL_SKIPPED =
  "the setting diagnose.skip leaves no check to run: `svc config set diagnose.skip` without values runs all of them again";

export const diagnose = operation({
  name: "diagnostics.run",
  summary: "Check this host and advise on problems",
  scope: "read",
  subcommand: "diagnose",
  command: "AC_diagnose",
  http: { method: "GET", path: "/diagnose", long: "AC_diagnose" },
  input: v.strictObject({
    only: field(v.optional(NAMES), "Run only these checks"),
    skip: field(v.optional(NAMES), "Leave out these, besides diagnose.skip"),
  }),
  output: v.object({
    ...REPORT.entries,
    /** The checks that the host leaves out: its setting diagnose.skip. */
    skipped: v.optional(v.array(v.string()), []),
  }),
  async run(service: DiagnosticsUses, { only, skip = [] }, caller) {
    // Who names a check wants it.
    const skipped = only ? [] : await skippedHere(service);
    const leftOut: readonly string[] = [...skip, ...skipped];
    const names = (only ?? CHECK_NAMES).filter((name) => !leftOut.includes(name));
    if (names.length === 0 && skip.length > 0) throw badInput("skip: leaves no check to run");
    // From a bundle, or by another program's hand.
    if (names.length === 0) throw conflict(ALL_SKIPPED);
    const own = caller.grant.on === undefined ? names : names.filter((name) => !ABOUT_HOSTS.has(name));
    const withheld = names.filter((name) => !own.includes(name));
    if (own.length === 0) throw forbidden(beyond(caller.grant, `${withheld.join(", ")} names other hosts`));
    const report = await (await service.diagnostics()).run(own, caller);
    return { ...report, skipped: [...skipped, ...withheld] };
  },
});

export { CHECK_NAMES };

export const operations = [diagnose];
