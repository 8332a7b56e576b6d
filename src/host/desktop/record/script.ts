/**
 * What a person did, as the actions of a script: a pure function of what was seen, in order.
 */
import type { Button, DesktopWindow, Direction } from "../backend";
import type { NamedPlace } from "./names";

/** A window, as it was when something was done in it. */
export type SeenWindow = Pick<DesktopWindow, "hwnd" | "title">;

/** A place, and a file with a picture of what is there, from the folder of the script; null where one would not be found again. */
export interface SeenPlace {
  readonly x: number;
  readonly y: number;
  readonly image: string | null;
  /** Where the place is from the centre of the picture. */
  readonly offset?: { readonly x: number; readonly y: number };
  /** What is there by name, as a locator in one line. */
  readonly element?: NamedPlace | undefined;
}

/** What a replay sees before it goes on. */
export interface Sight {
  /** A file with a picture of what the deed before has changed; null where nothing shows it. */
  image: string | null;
  /** Whether the screen was still; where it never is, a replay would wait in vain. */
  isStill: boolean;
}

/** What has become of the last window at the end. */
export interface Ending {
  readonly image: string | null;
  /** It is gone, and so are all with such a title. */
  readonly gone?: SeenWindow | undefined;
  /** Another one has the focus. */
  readonly came?: SeenWindow | undefined;
}

/** One thing that a person did; `window` had the focus before it. `at` is in milliseconds. */
export type Deed = {
  readonly window: SeenWindow | undefined;
  readonly at: number;
  /** Before it; undefined where it follows the one before at once, as a letter another. */
  readonly sight?: Sight | undefined;
} & (
  | {
      readonly kind: "key";
      /** What the key types: a character, or the name of a key as actions have it. */
      readonly key: string;
      /** The modifiers that were down, without the Shift that the character itself needs. */
      readonly with: readonly string[];
      /** Whether a secret field had the focus. */
      readonly secret?: boolean;
    }
  | { readonly kind: "click"; readonly button: Button; readonly place: SeenPlace }
  | { readonly kind: "drag"; readonly button: Button; readonly from: SeenPlace; readonly to: SeenPlace }
  | {
      readonly kind: "scroll";
      readonly direction: Direction;
      readonly place: SeenPlace;
    }
);

type RecordedAction = readonly [command: string, input: Readonly<Record<string, unknown>>];

/** How long a replay waits for a window or an image, in seconds. */
const PATIENCE_S = 10;
/** How long nothing changes before a replay goes on, in seconds: programs draw what they do in less. */
const STILL_S = 0.3;

/** Clicks on one place within this time are a double click, in milliseconds. */
const DOUBLE_MS = 500;

/** How far apart two clicks of a double click may be, in pixels. */
const DOUBLE_PX = 5;

/** The longest part of a title to look for, as AC_wait_window takes it. */
const MAX_TITLE = 1_000;

/** The actions that do again what was done, and see that it had the same effect. */
export function actionsOf(deeds: readonly Deed[], ending: Ending = { image: null }): RecordedAction[] {
  const actions: RecordedAction[] = [];
  let text = "";
  let secrets: boolean[] = [];
  /** Whether what is seen now is what a secret has changed. */
  let isAfterSecret = false;
  let window: SeenWindow | undefined;
  let last: Deed | undefined;
  let clicks = 1;
  const add = (command: string, input: Readonly<Record<string, unknown>>) => actions.push([command, input]);
  const endText = () => {
    const isSecret = isOfSecret(secrets);
    if (isSecret) add("AC_write", { write_string: PASSWORD });
    else if (text !== "") add("AC_write", { write_string: text });
    if (secrets.length > 0) isAfterSecret = isSecret;
    text = "";
    secrets = [];
  };
  const waitFor = (image: string | null) => {
    if (image !== null) add("AC_wait_image", { image, timeout: PATIENCE_S });
  };
  for (const deed of deeds) {
    const isOther = deed.window !== undefined && deed.window.hwnd !== window?.hwnd;
    const isAgain = deed.kind === "click" && isSecondClick(last, deed) && clicks < 3;
    const isByName = deed.kind === "click" && nameOf(deed.place) !== undefined;
    const isKept = isWithheld(deed) && secrets.length > 0 && !isOther;
    const sight = isAgain || isKept ? undefined : deed.sight;
    if (sight) {
      endText();
      // A window that comes is what has changed; and what is named is awaited by its name.
      if (!isByName && !isAfterSecret && (!isOther || deed.window?.title === "")) waitFor(sight.image);
    }
    if (deed.window && isOther) {
      endText();
      window = deed.window;
      const title_substring = window.title.slice(0, MAX_TITLE);
      if (title_substring !== "") {
        add("AC_wait_window", { title_substring, timeout: PATIENCE_S });
        add("AC_focus_window", { title_substring });
      }
    }
    if (sight?.isStill && !isByName) add("AC_wait_still", { still: STILL_S, timeout: PATIENCE_S });
    if (isWithheld(deed)) {
      secrets.push(true);
      // The next field may be the secret one: what is typed is kept until its end shows which.
      if (deed.kind === "key" && deed.with.length === 0 && isCharacter(deed.key))
        text += deed.key === "space" ? " " : deed.key;
    } else if (deed.kind === "key" && deed.with.length === 0 && isCharacter(deed.key)) {
      text += deed.key === "space" ? " " : deed.key;
      secrets.push(false);
    } else if (deed.kind === "key" && deed.key === "backspace" && deed.with.length === 0 && text !== "") {
      text = [...text].slice(0, -1).join("");
    } else {
      endText();
      isAfterSecret = false;
      if (deed.kind === "key" && deed.with.length === 0) add("AC_type_keyboard", { keycode: deed.key });
      if (deed.kind === "key" && deed.with.length > 0) {
        add("AC_hotkey", { key_code_list: [...deed.with, deed.key] });
      }
      if (deed.kind === "click") {
        clicks = isAgain ? clicks + 1 : 1;
        if (isAgain) actions.pop();
        actions.push(clickOf(deed.button, deed.place, clicks));
      }
      if (deed.kind === "drag") actions.push(dragOf(deed.button, deed.from, deed.to));
      if (deed.kind === "scroll") {
        const { x, y } = deed.place;
        const direction = `scroll_${deed.direction}`;
        const before = last?.kind === "scroll" ? actions.at(-1)?.[1] : undefined;
        const isSame = before?.scroll_direction === direction && before.x === x && before.y === y;
        if (isSame) actions.pop();
        const notches = isSame ? Number(before.scroll_value) + 1 : 1;
        add("AC_mouse_scroll", { scroll_value: notches, scroll_direction: direction, x, y });
      }
    }
    last = deed;
  }
  endText();
  const { gone, came } = ending;
  if (gone)
    add("AC_wait_window_gone", { title_substring: gone.title.slice(0, MAX_TITLE), timeout: PATIENCE_S });
  if (came) add("AC_wait_window", { title_substring: came.title.slice(0, MAX_TITLE), timeout: PATIENCE_S });
  if (!isAfterSecret && !(last?.kind === "click" && nameOf(last.place) !== undefined)) waitFor(ending.image);
  return actions;
}

/** What stands for a text that was typed into a secret field. */
const PASSWORD = "${password}";
/** The variables that whoever runs the actions has to give. */
export const needsOf = (actions: readonly RecordedAction[]): string[] =>
  actions.some(([, { write_string }]) => write_string === PASSWORD) ? ["password"] : [];

/** Keys that leave a field. */
const LEAVES: ReadonlySet<string> = new Set(["tab", "enter", "esc", "up", "down", "f4"]);

/** Whether a key belongs to what is typed into a secret field, also one that moves in it or pastes. */
const isWithheld = (deed: Deed): boolean =>
  deed.kind === "key" && deed.secret === true && !LEAVES.has(deed.key) && !deed.with.includes("alt");

/**
 * Whether what was typed is a secret. The focus is asked for a moment after each key: by then the next key may have moved it, so that the
 * last answers of a text can be those of the next field.
 */
const isOfSecret = (secrets: readonly boolean[]): boolean =>
  secrets[0] === true || secrets.filter((one) => one).length * 2 > secrets.length;

/** The locator that a click is recorded by: one with a name, else one without where there is no picture. */
function nameOf({ element, image }: SeenPlace): string | undefined {
  return element && (element.isNamed || image === null) ? element.line : undefined;
}

/** Whether the key types one character, rather than having a name. */
const isCharacter = (key: string) => key === "space" || [...key].length === 1;

function isSecondClick(last: Deed | undefined, deed: Deed & { kind: "click" }): boolean {
  return (
    last?.kind === "click" &&
    last.button === deed.button &&
    deed.at - last.at <= DOUBLE_MS &&
    Math.abs(last.place.x - deed.place.x) <= DOUBLE_PX &&
    Math.abs(last.place.y - deed.place.y) <= DOUBLE_PX
  );
}

function clickOf(button: Button, place: SeenPlace, clicks: number): RecordedAction {
  const { x, y, image, offset } = place;
  const from = {
    ...(offset?.x && { offset_x: offset.x }),
    ...(offset?.y && { offset_y: offset.y }),
  };
  const which = button === "left" ? {} : { mouse_keycode: `mouse_${button}` };
  const often = clicks === 1 ? {} : { clicks };
  const element = nameOf(place);
  if (element !== undefined)
    return ["AC_click_element", { element, timeout: PATIENCE_S, ...which, ...often }];
  if (image !== null)
    return ["AC_locate_and_click", { image, timeout: PATIENCE_S, ...which, ...often, ...from }];
  const click: RecordedAction = ["AC_click_mouse", { ...which, x, y }];
  return clicks === 1 ? click : ["AC_loop", { times: clicks, body: [click] }];
}

/** Between two places of the screen: what lies under either may be plain. */
function dragOf(button: Button, from: SeenPlace, to: SeenPlace): RecordedAction {
  const which = button === "left" ? {} : { mouse_keycode: `mouse_${button}` };
  return ["AC_drag", { from: [from.x, from.y], to: [to.x, to.y], ...which }];
}
