import * as v from "valibot";
import { field } from "../core/fields";
import { operation } from "../core/operation";
import { badInput } from "../lib/errors";
import type { Service } from "../service";
import { CHECK_NAMES } from "./check";

const NAMES = v.pipe(v.array(v.picklist(CHECK_NAMES)), v.minLength(1), v.maxLength(100));

export const diagnose = operation({
  name: "diagnostics.run",
  summary: "Check whether this host is fit for its work, and say what to do where it is not",
  scope: "read",
  command: "AC_diagnose",
  http: { method: "GET", path: "/diagnose" },
  input: v.strictObject({
    only: field(v.optional(NAMES), "Run these checks and no others"),
    skip: field(v.optional(NAMES), "Leave out these checks"),
  }),
  output: v.object({
    ok: v.boolean(),
    checks: v.array(
      v.object({
        name: v.string(),
        ok: v.boolean(),
        severity: v.picklist(["info", "warn", "error"]),
        detail: v.string(),
        advice: v.optional(v.array(v.string()), []),
        extra: v.record(v.string(), v.unknown()),
        /** Null of hosts that do not tell. */
        duration_ms: v.nullable(v.number()),
      }),
    ),
    count: v.number(),
    failed: v.number(),
  }),
  async run(service: Service, { only = CHECK_NAMES, skip = [] }) {
    const names = CHECK_NAMES.filter((name) => only.includes(name) && !skip.includes(name));
    if (names.length === 0) throw badInput("skip: expected to leave a check to run");
    const { ok, checks, count, failed } = await (await service.diagnostics()).run(names);
    return { ok, checks: checks.map((check) => ({ ...check, advice: [...check.advice] })), count, failed };
  },
});

export const operations = [diagnose];
