/**
 * What a call of an agent has done, as actions of a script: pure functions of the call, its answer and what the operations told.
 *
 * Promise: only what succeeded, and no text that went into a field that is secret, or may be.
 */
import * as v from "valibot";
import type { ActedOn, ActTarget, ScriptAction } from "../../core/acted";
import type { Operation } from "../../core/operation";
import { valueAs } from "../../lib/value-in";
import type { Act } from "./store";

/** How long a script waits for an element, in seconds. */
const PATIENCE_S = 10;
/** The longest action that is kept, as JSON: one may have a picture. */
const MAX_ACTION = 64 * 1024;

const TYPED_FIELDS: Readonly<Record<string, string>> = {
  AC_write: "write_string",
  AC_set_element_text: "text",
  AC_type_in_element: "text",
  AC_set_clipboard: "text",
  AC_set_var: "value",
};

const STROKES: ReadonlySet<string> = new Set(["AC_type_keyboard", "AC_press_keyboard_key", "AC_hotkey"]);
/** What a script does not need: it looks, and nothing later uses the answer. */
const LOOKS =
  /^AC_(?:snapshot|screenshot|windows|monitors|screen_size|mouse_position|get_|read_|locate_(?:text|element)$|locate$|a11y_(?:find|find_all|list|dump)|element_at|commands_|runs_|history_)/;

type Fields = Readonly<Record<string, unknown>>;

/** Whether a call of it may leave something for a script. */
export const isRemembered = ({ name, command }: Operation): boolean =>
  name === "execute.actions" ||
  (command !== undefined && /^(?:desktop|elements)\./.test(name) && !LOOKS.test(command));

interface FinishedCall {
  readonly operations: readonly Operation[];
  readonly operation: Operation;
  readonly input: Fields;
  /** Undefined for a call that failed. */
  readonly answer: unknown;
  readonly told: readonly ActedOn[];
}

/** The acts of a call, in their order. */
export function actsOf({ operations, operation, input, answer, told }: FinishedCall): Act[] {
  const commands = new Map(operations.map((one) => [one.command ?? "", one]));
  const all =
    operation.name === "execute.actions"
      ? actsOfList(commands, input, answer, told)
      : actsOfAction(
          [operation.command ?? "", input],
          told,
          operation.command === "AC_act" || answer !== undefined ? { result: answer } : undefined,
        );
  return all.filter((act) => JSON.stringify(act).length <= MAX_ACTION);
}

const OUTCOMES = v.object({
  outcomes: v.array(v.object({ ok: v.boolean(), result: v.optional(v.unknown()) })),
});

function actsOfList(
  commands: ReadonlyMap<string, Operation>,
  input: Fields,
  answer: unknown,
  told: readonly ActedOn[],
): Act[] {
  const report = valueAs(OUTCOMES, answer);
  if (!report || !Array.isArray(input.actions)) return [];
  const { outcomes } = report;
  // What a variable has may go into any field of the list.
  const isSecret = told.some(({ targets }) => targets.some(({ secret }) => secret));
  const setting = (name: string, given: Fields): Act[] => [
    act(["AC_set_var", given], [{ path: ["value"], label: name, secret: isSecret }]),
  ];
  const set = Object.entries(Object(input.variables)).flatMap(([name, value]) =>
    setting(name, { name, value }),
  );
  const done = input.actions.flatMap((written: unknown, at): Act[] => {
    const action = keyworded(commands, written);
    const outcome = outcomes[at];
    if (!action || !outcome) return [];
    const [command, { as }] = action;
    // One whose answer a later action uses is no mere look.
    if (as === undefined && LOOKS.test(command)) return [];
    const own = told.filter(({ place }) => place === `[${at}]`);
    const inside = told.filter(({ place }) => place?.startsWith(`[${at}].`));
    if (command === "AC_set_var") return outcome.ok ? setting(`${action[1].name}`, action[1]) : [];
    if (inside.length > 0 || hasList(commands, action)) return outcome.ok ? [nested(action, inside)] : [];
    return actsOfAction(action, own, outcome.ok ? { result: outcome.result } : undefined);
  });
  return [...set, ...done];
}

/** An action with its fields by name; undefined for what is none. */
function keyworded(commands: ReadonlyMap<string, Operation>, written: unknown): ScriptAction | undefined {
  if (!Array.isArray(written)) return undefined;
  const [command, given = {}] = written as unknown[];
  if (typeof command !== "string") return undefined;
  if (!Array.isArray(given)) return [command, { ...Object(given) }];
  const names = Object.keys(commands.get(command)?.input.entries ?? {});
  const isList = names.length === 1 && given.some(Array.isArray);
  const values = isList ? [given] : given;
  return [command, Object.fromEntries(values.map((value, at) => [names[at] ?? `${at}`, value]))];
}

const hasList = (commands: ReadonlyMap<string, Operation>, [, input]: ScriptAction): boolean =>
  Object.values(input).some(
    (value) =>
      Array.isArray(value) &&
      value.some((one) => Array.isArray(one) && commands.has(`${(one as unknown[])[0]}`)),
  );

/** An action with lists inside stays as it was written, but for what was typed. */
function nested([command, input]: ScriptAction, told: readonly ActedOn[]): Act {
  const isSecret = told.some(({ targets }) => targets.some(({ secret }) => secret));
  const typed: Act["typed"] = [];
  const look = (value: unknown, path: Array<string | number>) => {
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value) && typeof value[0] === "string" && Object.hasOwn(TYPED_FIELDS, value[0])) {
      const [name, given] = value as [string, unknown];
      const field = Array.isArray(given) ? 0 : `${TYPED_FIELDS[name]}`;
      typed.push({ path: [...path, 1, field], label: "", secret: isSecret });
    }
    for (const [key, item] of Object.entries(value))
      look(item, [...path, Array.isArray(value) ? Number(key) : key]);
  };
  look(input, []);
  return withheld({ action: [command, { ...input }], typed, checks: [] });
}

/** The acts of an action without lists inside. @param done undefined where it failed. */
function actsOfAction(
  [command, input]: ScriptAction,
  told: readonly ActedOn[],
  done: { readonly result?: unknown } | undefined,
): Act[] {
  const [own] = told;
  if (command === "AC_act") return own ? actsOfSteps(input, own) : [];
  if (!done) return [];
  const target: ActTarget = own?.targets[0] ?? {};
  if (command === "AC_click_mouse") return [act(clickOf(input, target))];
  const field = TYPED_FIELDS[command];
  if (field !== undefined) {
    const { label, secret } = fieldOf(command, own ? target : undefined, done.result);
    return [act([command, patient(input)], [{ path: [field], label, secret }])];
  }
  if (STROKES.has(command) && target.secret === true && isCharacter(command, input)) {
    // A key of a secret text: all of them together are one value.
    return [
      act(
        ["AC_write", { write_string: "" }],
        [{ path: ["write_string"], label: target.label ?? "", secret: true }],
      ),
    ];
  }
  return [act([command, patient(input)])];
}

const FIELD = v.object({ name: v.string(), secret: v.boolean() });

/** What is known of a field: by what the operation told, else by its answer; without either it counts as secret. */
function fieldOf(command: string, target: ActTarget | undefined, result: unknown) {
  if (command === "AC_set_clipboard") return { label: "clipboard", secret: false };
  if (command === "AC_write") return { label: target?.label ?? "", secret: target?.secret ?? true };
  const { name: label, secret } = valueAs(FIELD, result) ?? { name: "", secret: true };
  return { label, secret };
}

/** Keys with which no other types a character. */
const COMMAND_KEYS =
  /^(?:ctrl|control|alt|super|win|windows|meta|cmd|command)_?(?:l|r|left|right)?(?:\+.*)?$/i;

/** Keys that type nothing themselves. */
const PLAIN_KEYS = /^(?:tab|enter|return|esc|escape|up|down|left|right|home|end|f\d+|page_?up|page_?down)$/i;

const isCharacter = (command: string, input: Fields): boolean => {
  const keys = command === "AC_hotkey" ? input.key_code_list : [input.keycode];
  if (!Array.isArray(keys)) return true;
  return !keys.some((key) => typeof key === "string" && (PLAIN_KEYS.test(key) || COMMAND_KEYS.test(key)));
};

/** A click, by the name of what was there; else by a picture of it; else at its place. */
function clickOf(input: Fields, { element, isText, label, image }: ActTarget): ScriptAction {
  const { mouse_keycode } = input;
  const button = mouse_keycode === undefined ? {} : { mouse_keycode };
  const timeout = PATIENCE_S;
  if (element !== undefined)
    return ["AC_click_element", { element, ...(isText && label && { text: label }), timeout, ...button }];
  if (!image) return ["AC_click_mouse", { ...input }];
  const { data, offset_x, offset_y } = image;
  const offset = { ...(offset_x !== 0 && { offset_x }), ...(offset_y !== 0 && { offset_y }) };
  return ["AC_locate_and_click", { image: data, timeout, ...button, ...offset }];
}

const STEPS = v.array(v.object({ do: v.string(), element: v.string(), text: v.optional(v.string()) }));

function actsOfSteps(input: Fields, { targets, checks = [] }: ActedOn): Act[] {
  const steps = valueAs(STEPS, input.steps);
  if (!steps) return [];
  const acts = targets.flatMap((target, at): Act[] => {
    const step = steps[at];
    const { element } = target;
    if (!step || element === undefined) return [];
    const one = { element, timeout: PATIENCE_S };
    // As it was done: AC_act has no pointer, so its text, which would be clicked, is no further way.
    const byProgram = { ...one, input: "program" };
    if (step.do === "press") return [act(["AC_press_element", byProgram])];
    if (step.do === "focus") return [act(["AC_focus_element", one])];
    if (step.do === "set_text") {
      const { text = "" } = step;
      const secret = target.secret ?? true;
      const made = act(
        ["AC_set_element_text", { element, text, timeout: PATIENCE_S, input: "program" }],
        [{ path: ["text"], label: target.label ?? "", secret }],
      );
      const isChecked = target.holds === true && !secret && !text.includes("${");
      const check = [
        "AC_assert_element",
        { element, holds: text, timeout: PATIENCE_S },
      ] as Act["checks"][number];
      return [isChecked ? { ...made, checks: [check] } : made];
    }
    return [act(["AC_check_element", { ...byProgram, on: step.do === "check" }])];
  });
  const last = acts.at(-1);
  return last
    ? [
        ...acts.slice(0, -1),
        {
          ...last,
          checks: [...last.checks, ...checks.map(([name, given]): Act["action"] => [name, { ...given }])],
        },
      ]
    : [];
}

/** The input of an action; what names an element waits for it. */
const patient = (input: Fields): Fields =>
  input.element !== undefined && input.timeout === undefined ? { ...input, timeout: PATIENCE_S } : input;

const act = ([command, input]: ScriptAction, typed: Act["typed"] = []): Act =>
  withheld({ action: [command, { ...input }], typed, checks: [] });

/** The act without the texts that are secret. */
function withheld(given: Act): Act {
  const made = structuredClone(given);
  for (const { path, secret } of made.typed) if (secret) put(made.action[1], path, "");
  return made;
}

/** Sets what is at `path`. */
export function put(root: unknown, path: ReadonlyArray<string | number>, value: unknown): void {
  const last = path.at(-1);
  const holder = at(root, path.slice(0, -1));
  if (last !== undefined && typeof holder === "object" && holder !== null)
    Object.assign(holder, { [last]: value });
}

/** What is at `path`. */
export const at = (root: unknown, path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>((value, key) => Object(value)[key], root);
