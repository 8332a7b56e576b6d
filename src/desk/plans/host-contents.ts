/**
 * What each host of a plan runs, as one text of the ledger: the same for all of them, or with variables of each host in front.
 *
 * The promise: the digest of the plan stands for what each host gets, and its receipt can show that of one host without that of another. A
 * svc that knows no such text sends it as it is, and hosts refuse it: none runs its list without its variables.
 */
import * as v from "valibot";
import { badInput } from "../../lib/errors";
import { jsonIn } from "../../lib/json-in";
import { nextSlice } from "../../lib/turn";
import { MAX_CONTENT_BYTES } from "../../wire/job/content";
import { digestOf } from "../../wire/job/envelope";
import { commitmentOf, digestOfContents, type PlanContents } from "../../wire/job/plan-digest";

const FORM = "svc-contents-1";

const CONTENTS = v.object({
  form: v.literal(FORM),
  names: v.array(v.string()),
  /** The content without them. */
  content: v.string(),
  /** What stands before the actions at each host, in the order of the plan: JSON without brackets. */
  before: v.array(v.string()),
  /** Of which the key of each host is made; absent for a broadcast, and in what an earlier svc has written. */
  key: v.optional(v.string()),
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
  requireSmall(content, before, most);
  const text = JSON.stringify({ form: FORM, names, content, before });
  return { content: text, digest: digestOf(text) };
}

/** The same for a plan: its receipt shows of each host that it ran what it has here. @throws as {@link writeContents}. */
export async function writePlanContents(
  content: string,
  before: readonly string[],
  names: readonly string[],
) {
  requireSmall(content, before, MAX_CONTENT_BYTES);
  const key = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex");
  const text = JSON.stringify({ form: FORM, names, content, before, key });
  const hosts = await shownIn({ content, before, key });
  return { content: text, digest: digestOfContents(hosts.map(({ commitment }) => commitment)) };
}

function requireSmall(content: string, before: readonly string[], most: number): void {
  const longest = before.reduce((found, text) => (text.length > found.length ? text : found), "");
  const size = Buffer.byteLength(JSON.stringify(withActions(content, longest)));
  if (size > most)
    throw badInput(
      `actions: expected at most ${most} bytes, with the variables of a host, but found ${size}`,
    );
}

/** What a receipt shows of the content of a host. */
export interface ShownContent {
  readonly commitment: string;
  /** For whoever may know which content it is. */
  readonly key: string;
}

/** The same of each host, in slices: there may be many, and each content is read whole. */
async function shownIn({
  content,
  before,
  key,
}: {
  readonly content: string;
  readonly before: readonly string[];
  readonly key: string;
}): Promise<ShownContent[]> {
  const hosts: ShownContent[] = [];
  for (const [n, text] of before.entries()) {
    const waits = nextSlice();
    if (waits) await waits;
    const own = new Bun.CryptoHasher("sha256", Buffer.from(key, "hex")).update(`${n}`).digest("hex");
    hosts.push({ commitment: commitmentOf(own, digestOf(withActions(content, text))), key: own });
  }
  return hosts;
}

/** What a receipt shows of the contents of hosts, in the order of the plan; undefined where all run the same, or nothing can be shown. */
export async function shownContents(text: string): Promise<ShownContent[] | undefined> {
  const { content, before, key } = readContents(text) ?? {};
  if (content === undefined || before === undefined || key === undefined) return undefined;
  return shownIn({ content, before, key });
}

/** What the limits of a plan with this content say of it. */
export const kindOfContents = (text: string): PlanContents => (text.startsWith(START) ? "each" : "one");

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
