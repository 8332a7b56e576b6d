import * as v from "valibot";
import { field } from "../core/fields";
import { operation } from "../core/operation";
import { badInput } from "../lib/errors";
import { CHECK_NAMES } from "./checks";
import { type Diagnostics, REPORT } from "./diagnostics";

interface Uses {
  diagnostics(): Promise<Diagnostics>;
}

const NAMES = v.pipe(v.array(v.picklist(CHECK_NAMES)), v.minLength(1), v.maxLength(100));

export const diagnose = operation({
  name: "diagnostics.run",
  summary: "Check this host and advise on problems",
  scope: "read",
  subcommand: "diagnose",
  command: "AC_diagnose",
  http: { method: "GET", path: "/diagnose" },
  input: v.strictObject({
    only: field(v.optional(NAMES), "Run these checks and no others"),
    skip: field(v.optional(NAMES), "Leave out these checks"),
  }),
  output: REPORT,
  async run(service: Uses, { only = CHECK_NAMES, skip = [] }, caller) {
    const names = CHECK_NAMES.filter((name) => only.includes(name) && !skip.includes(name));
    if (names.length === 0) throw badInput("skip: leaves no check to run");
    return (await service.diagnostics()).run(names, caller);
  },
});

export { CHECK_NAMES };

export const operations = [diagnose];
