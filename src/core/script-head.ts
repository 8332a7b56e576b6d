/**
 * What a script file says of its own run: the fields beside `actions` in `{…, "actions": [ … ]}`.
 *
 * A run of such a file stops at the first failure unless the file says otherwise. One that is a plain list, or has
 * `auto_control` around it, says nothing and goes on, as it always did.
 */
import * as v from "valibot";
import { badInput } from "../lib/errors";
import { parseDuration } from "../lib/units";
import { type DesktopRequest, ON_DESKTOP } from "./desktop-request";
import { between, field, seconds } from "./fields";
import { checkInput, type Offence } from "./input";
import { MAX_TIMEOUT_S, STOPS, type StopOnError, VARIABLES } from "./run";

/** The fields of a script beside its actions. */
export const HEAD = v.strictObject({
  stop_on_error: field(
    v.optional(STOPS, true),
    "Stop at the first action that fails (default: true); `focus`: that fails to find or focus a window",
  ),
  timeout: field(
    v.optional(seconds(between(0.001, MAX_TIMEOUT_S))),
    "Seconds after which the run is ended, or a text such as `5m`",
  ),
  pace: field(
    v.optional(seconds(between(0, 10))),
    "Seconds that keys wait after the pointer has acted, or a text such as `0.3s`",
  ),
  desktop: ON_DESKTOP,
  variables: field(v.optional(VARIABLES), "Values of variables that nothing else sets, by name"),
  needs: field(
    v.optional(v.pipe(v.array(v.pipe(v.string(), v.nonEmpty(), v.maxLength(64))), v.maxLength(100))),
    "Variables without a value, such as a password: whoever runs the script gives them, else nothing of it runs",
  ),
});

/** What `head` says in the words of a run; empty for a script that says nothing. */
export interface RunDefaults {
  readonly stop_on_error?: StopOnError;
  readonly timeout_s?: number;
  readonly pace?: number;
  readonly desktop?: DesktopRequest;
  readonly variables?: Readonly<Record<string, unknown>>;
  /** Variables that whoever runs it has to give. */
  readonly needs?: readonly string[];
}

/** The fields that a file with `actions` has beside them and those of {@link HEAD}. */
const OTHERS = ["actions", "$schema"];

/** What an object with `actions` says of its run, or what is wrong with it. */
export function readHead(
  script: Readonly<Record<string, unknown>>,
): { readonly defaults: RunDefaults } | { readonly offences: Offence[] } {
  const said = Object.entries(script).flatMap(([name, value]): Array<[string, unknown]> => {
    if (OTHERS.includes(name)) return [];
    const isSpan = (name === "timeout" || name === "pace") && typeof value === "string";
    return [[name, isSpan ? (parseDuration(value) ?? value) : value]];
  });
  const checked = checkInput(HEAD, Object.fromEntries(said), { quote: false });
  if (!checked.ok) return { offences: checked.offences };
  const { stop_on_error, timeout, pace, desktop, variables, needs } = checked.input;
  return {
    defaults: {
      stop_on_error,
      ...(timeout !== undefined && { timeout_s: timeout }),
      ...(pace !== undefined && { pace }),
      ...(desktop !== undefined && { desktop }),
      ...(variables && { variables }),
      ...(needs && needs.length > 0 && { needs }),
    },
  };
}

/**
 * The options of a run: what was `given` for it, else what its script says.
 *
 * @param given no field of it is there and undefined.
 * @throws a `bad_input` failure that names a variable which the script needs and nobody gives.
 */
export function withDefaults<
  O extends { readonly variables?: Readonly<Record<string, unknown>> | undefined },
>({ needs, ...defaults }: RunDefaults, given: O): RunDefaults & O {
  const variables = { ...defaults.variables, ...given.variables };
  requireNeeds(needs, variables);
  return { ...defaults, ...given, ...(Object.keys(variables).length > 0 && { variables }) };
}

/** @throws a `bad_input` failure that names a variable which the script needs and nobody gives. */
export function requireNeeds(
  needs: readonly string[] | undefined,
  variables: Readonly<Record<string, unknown>>,
): void {
  const missing = needs?.find((name) => !Object.hasOwn(variables, name));
  if (missing === undefined) return;
  throw badInput(
    `variables: the script needs ${missing}, which has no value (svc execute --var-file FILE, with {"${missing}": …})`,
  );
}
