/**
 * What an operation tells of an act on the desktop, for who makes a script of it later.
 *
 * Promise: it is what was so at the time of the act, before the act could change it.
 */

/** One thing that was used. */
export interface ActTarget {
  /** A locator in one line that named it alone; absent where none did. */
  readonly element?: string;
  /** Its name, or that of the label beside it: what a value that is typed is called. */
  readonly label?: string;
  /** Whether it is a field whose text is never shown; also where that could not be known. */
  readonly secret?: boolean;
  /** Whether the field holds what was put into it, once the screen rests. */
  readonly holds?: boolean;
  /** Whether its own text can be read on it, as on a button. */
  readonly isText?: boolean;
  /** A picture of the place, PNG in base64, and where the place is from its centre; where nothing names it. */
  readonly image?: { readonly data: string; readonly offset_x: number; readonly offset_y: number };
}

/** An action of a script. */
export type ScriptAction = readonly [command: string, input: Readonly<Record<string, unknown>>];

/** What was done by one call of an operation. */
export interface ActedOn {
  /** Where the action is in the list of its run: `[2].body[0]`; absent for a call by itself. */
  readonly place?: string | undefined;
  /** In the order of the steps; of those alone that succeeded. */
  readonly targets: readonly ActTarget[];
  /** What shows afterwards that it had its effect. */
  readonly checks?: readonly ScriptAction[];
}
