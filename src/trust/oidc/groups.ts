/**
 * What the groups of the provider allow here: `{config_dir}/oidc.json`, which a person writes.
 *
 * The promise: a group that is not in the file allows nothing, and neither does a file that cannot be read.
 */
import { readFileSync } from "node:fs";
import * as v from "valibot";
import type { Scope } from "../../core/rights";
import { messageOf, systemCode, unavailable } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { GIVEN_SCOPE, scopesOf } from "../token-fields";

/** The name that stands for everybody who can sign in at the provider. */
const EVERYBODY = "*";

const RULE = v.strictObject({
  /** As `svc token add --scope` has it. */
  scope: v.pipe(v.array(GIVEN_SCOPE), v.minLength(1), v.maxLength(100)),
  /** The hosts of the address book for which it is, as `--on` has them (default: all, and this host). */
  on: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(1_000))),
});

/** JavaScript puts names that are whole numbers first, wherever they stand in the file. */
const GROUP = v.pipe(
  v.string(),
  v.check(
    (name) => !/^(?:0|[1-9]\d*)$/.test(name),
    "a group whose name is a number has no place in the order: give it another name",
  ),
);

const RULES = v.record(GROUP, RULE);

/** What a group allows. */
export interface GroupRule {
  readonly group: string;
  readonly scopes: readonly Scope[];
  readonly on: string | undefined;
}

/**
 * The rules of the file, in its order.
 *
 * @throws an `unavailable` failure for a file that is missing, or is no list of rules; it says where.
 */
export function readRules(file: string): GroupRule[] {
  const text = textOf(file);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unavailable(`oidc.json is not JSON (${printable(messageOf(error), 200)})`);
  }
  const read = v.safeParse(RULES, value);
  if (read.success) {
    return Object.entries(read.output).map(([group, { scope, on }]) => ({
      group,
      scopes: scopesOf(scope),
      on,
    }));
  }
  const [issue] = read.issues;
  throw unavailable(
    `oidc.json: ${printable(v.getDotPath(issue) ?? "the whole", 200)}: ${printable(issue.message, 300)}`,
  );
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = systemCode(error);
    throw unavailable(
      code === "ENOENT"
        ? "there is no oidc.json in the folder of svc: it says what each group of the provider allows"
        : `oidc.json cannot be read (${code ?? messageOf(error)})`,
    );
  }
}

/** The rule that counts for who is in `groups`: the first in the file of those. Undefined where none does. */
export function ruleFor(rules: readonly GroupRule[], groups: readonly string[]): GroupRule | undefined {
  const own = new Set(groups);
  return rules.find(({ group }) => own.has(group)) ?? rules.find(({ group }) => group === EVERYBODY);
}
