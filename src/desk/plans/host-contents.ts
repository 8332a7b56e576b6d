/**
 * What each host of a plan runs, as one text of the ledger: the same for all of them, or with variables of each host in front.
 *
 * The promise: the digest of that text stands for what each host gets. A svc that knows no such text sends it as it is, and
 * hosts refuse it: none runs its list without its variables.
 */
import * as v from "valibot";
import { badInput } from "../../lib/errors";
import { jsonIn } from "../../lib/json-in";
import { MAX_CONTENT_BYTES } from "../../wire/job/content";
import { digestOf } from "../../wire/job/envelope";

const FORM = "svc-contents-1";

const CONTENTS = v.object({
  form: v.literal(FORM),
  /** The names of the variables. */
  names: v.array(v.string()),
  /** The content without them. */
  content: v.string(),
  /** What stands before the actions at each host, in the order of the plan: JSON without brackets. */
  before: v.array(v.string()),
});

const START = `{"form":"${FORM}"`;

/** How the content of a job begins, as `writeContent` writes it. */
const ACTIONS = '{"actions":[';

/** What the host of a place in the plan runs. */
export interface HostContents {
  of(n: number): { readonly content: string; readonly digest: string };
}

/**
 * The content for hosts with variables of their own.
 *
 * @param content what `writeContent` has made.
 * @param before what stands before its actions at each host: JSON without brackets.
 * @throws `bad_input` where it is too large for one of them.
 */
export function writeContents(
  content: string,
  before: readonly string[],
  names: readonly string[],
  most = MAX_CONTENT_BYTES,
) {
  const longest = before.reduce((found, text) => (text.length > found.length ? text : found), "");
  const size = Buffer.byteLength(JSON.stringify(withActions(content, longest)));
  if (size > most)
    throw badInput(
      `actions: expected at most ${most} bytes, with the variables of a host, but found ${size}`,
    );
  const text = JSON.stringify({ form: FORM, names, content, before });
  return { content: text, digest: digestOf(text) };
}

function withActions(content: string, before: string): string {
  if (before === "") return content;
  if (!content.startsWith(ACTIONS)) throw new Error("the content of a job does not begin with its actions");
  const rest = content.slice(ACTIONS.length);
  return `${ACTIONS}${before}${rest.startsWith("]") ? "" : ","}${rest}`;
}

/** @param text as the ledger has it, with its digest. */
export function contentsOf(text: string, digest: string): HostContents {
  const read = readContents(text);
  if (!read) return { of: () => ({ content: text, digest }) };
  return {
    of(n) {
      const content = withActions(read.content, read.before[n] ?? "");
      return { content, digest: digestOf(content) };
    },
  };
}

/** The content without the variables of hosts, and their names. */
export function commonContent(text: string): { readonly content: string; readonly names: readonly string[] } {
  return readContents(text) ?? { content: text, names: [] };
}

/** Undefined where no host has variables of its own. */
const readContents = (text: string) => (text.startsWith(START) ? v.parse(CONTENTS, jsonIn(text)) : undefined);
