/**
 * A keyword for each action of the table: `AC_press_element` is `Press Element`.
 */
import type * as v from "valibot";
import type { Operation } from "../../core/operation";
import { isOptional, metadataOf } from "../../core/schema";
import { type Keyword, parameterOf } from "./keyword";

type Command = Operation & { readonly command: `AC_${string}` };

/** The operations that are keywords: not those of the flow of a script, as Robot has its own. */
export const actionsIn = (operations: readonly Operation[]): Command[] =>
  operations.filter((one): one is Command => one.command !== undefined && !isFlow(one));

/** Whether it is of the flow of a script, or has a list of actions. A keyword named `Sleep` would take the place of Robot's own. */
const isFlow = ({ name, command, input }: Operation): boolean =>
  (name.startsWith("flow.") && command !== "AC_run_script") ||
  Object.values(input.entries).some((entry) => metadataOf(entry as v.GenericSchema).actions === true);

/** `AC_press_element` as `Press Element`. */
const nameOf = (command: string): string =>
  command
    .replace(/^AC_/, "")
    .split("_")
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join(" ");

/** Its feature and its scope. */
export const tagsOf = ({ name, scope }: Operation): string[] => [name.split(".")[0] ?? "", `scope:${scope}`];

/** The keyword of an action. What names an element comes first, then what must be given; what else a locator has is given by name. */
export function keywordOf(operation: Command): Keyword {
  const { command, summary, input } = operation;
  const names = Object.keys(input.entries);
  const isNeeded = (name: string) => !isOptional(input.entries[name] as v.GenericSchema);
  const takesElement = names.includes("element") && !(names.includes("image") && isNeeded("image"));
  const first = takesElement ? ["element"] : [];
  const needed = names.filter((name) => !first.includes(name) && isNeeded(name));
  const left = names.filter((name) => !first.includes(name) && !needed.includes(name));
  return {
    name: nameOf(command),
    summary,
    tags: tagsOf(operation),
    parameters: [
      ...first.map((name) => parameterOf(operation, name, false, true)),
      ...needed.map((name) => parameterOf(operation, name, false)),
      ...left.map((name) => parameterOf(operation, name, takesElement)),
    ],
    run: (hands, given) => hands.action(command, given),
  };
}
