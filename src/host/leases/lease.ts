/** A lease: what an agent asks for, and how it is shown. */
import * as v from "valibot";
import { DESKTOP_NAME, NEW } from "../../core/desktop-request";
import { field, flag, whole } from "../../core/fields";
import { NAME_TEXT } from "../../core/rights";

/** The desktop on which the person works. */
export const SESSION = "session";

/** What an agent may use: elements by name (`desktop_act`), or pointer, keyboard and windows too. */
export const HANDS = ["act", "desktop"] as const;

const TEXT = v.pipe(v.string(), v.trim(), v.nonEmpty());
const CHOICE = v.optional(v.pipe(v.array(v.pipe(TEXT, v.maxLength(200))), v.maxLength(20)), []);

/** A program and its arguments. */
const COMMAND = v.pipe(v.array(v.pipe(v.string(), v.maxLength(1_000))), v.minLength(1), v.maxLength(50));

/** What an agent asks for. */
export const TERMS = {
  what: field(v.pipe(TEXT, v.maxLength(500)), "What it is for, in words for the person who allows it"),
  minutes: field(v.optional(whole(1, 240), 15), "For how many minutes"),
  desktop: field(
    v.optional(DESKTOP_NAME, NEW),
    `The desktop: ${NEW} (one of its own, which ends with the lease; the first choice), the name of a kept one, or ${SESSION} (where the person works)`,
  ),
  toolsets: field(
    v.optional(v.pipe(v.array(v.picklist(HANDS)), v.nonEmpty(), v.maxLength(2)), ["act"]),
    "act: elements by name, with desktop_act; desktop: pointer, keyboard and windows too",
  ),
  windows: field(CHOICE, "Only windows whose title has one of these (default: all on that desktop)"),
  programs: field(CHOICE, "Only windows of these programs (default: all)"),
  actions: field(v.optional(whole(1, 10_000), 200), "At most so many actions"),
  secrets: field(
    v.optional(v.pipe(v.array(NAME_TEXT), v.maxLength(20)), []),
    "Secrets of the host that may be put into fields, as ${secret:NAME}",
  ),
  start: field(
    v.optional(v.pipe(v.array(COMMAND), v.maxLength(5)), []),
    "Programs to start on the desktop first, each as a list of words; they end with the lease",
  ),
  record: flag("Record the screen meanwhile"),
};

/** What an agent asks for, with defaults. */
export type Terms = v.InferOutput<v.StrictObjectSchema<typeof TERMS, undefined>>;

/** What a person may make less of. */
export interface Narrower {
  readonly minutes?: number | undefined;
  readonly actions?: number | undefined;
  readonly windows?: readonly string[] | undefined;
  readonly programs?: readonly string[] | undefined;
}

const TEXTS = v.array(v.string());
const TIME = v.nullable(v.string());

/** A lease as it is shown. */
export const LEASE = v.object({
  /** Also the id of the approval that it waits for. */
  id: v.string(),
  state: v.picklist(["waiting", "starting", "active", "ended"]),
  /** What it is for, in the words of the agent: untrusted text. */
  what: v.string(),
  /** What the client calls itself. */
  agent: v.string(),
  /** The token that asked; null for a process of the owner of the host. */
  token: v.nullable(v.string()),
  /** As it was asked for: `new`, a name, or `session`. */
  desktop: v.string(),
  /** The name of the desktop on demand that it has; null for none, or not yet. */
  desktop_name: v.nullable(v.string()),
  minutes: v.number(),
  toolsets: v.array(v.picklist(HANDS)),
  windows: TEXTS,
  programs: TEXTS,
  actions: v.number(),
  /** How many of the actions are used up. */
  used: v.number(),
  secrets: TEXTS,
  start: v.array(TEXTS),
  record: v.boolean(),
  asked_at: v.string(),
  /** When its time began to run; null before. */
  began_at: TIME,
  /** What is left of its time in seconds; null where its time does not run. */
  left_s: v.nullable(v.number()),
  ended_at: TIME,
  /** Why it has ended; null before. */
  reason: v.nullable(v.string()),
});

export type Lease = v.InferOutput<typeof LEASE>;

/** Where it is, in words. */
export const placeText = ({ desktop }: Pick<Terms, "desktop">): string => {
  if (desktop === NEW) return "a desktop of its own";
  return desktop === SESSION ? "the desktop of this session, where you work" : `the desktop ${desktop}`;
};

const quoted = (all: readonly string[]): string => all.map((one) => JSON.stringify(one)).join(", ");

/** The SHA-256 of what a lease may do ({@link termsText}), hexadecimal: what a person allows. */
export const digestOfTerms = (terms: Terms): string => Bun.SHA256.hash(termsText(terms), "hex");

/** What it may do, in words, for the person who allows it. */
export function termsText(terms: Terms): string {
  const { what, minutes, toolsets, windows, programs, actions, secrets, start, record } = terms;
  const hands = toolsets.includes("desktop")
    ? "pointer, keyboard, windows, and elements by name"
    : "elements by name";
  return [
    `on ${placeText(terms)}`,
    // First, as a record and an event have only the beginning: what needs more than windows.
    ...start.map((command) => `starts ${quoted(command)}`),
    secrets.length > 0 ? `with the secrets ${secrets.join(", ")}` : "no secrets",
    `for ${minutes} ${minutes === 1 ? "minute" : "minutes"}, to do: ${JSON.stringify(what)}`,
    `with ${hands}`,
    windows.length > 0 ? `only windows titled ${quoted(windows)}` : "any window there",
    ...(programs.length > 0 ? [`only programs ${quoted(programs)}`] : []),
    `at most ${actions} actions`,
    ...(record ? ["the screen is recorded"] : []),
  ].join("; ");
}
