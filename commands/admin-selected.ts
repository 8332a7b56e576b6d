/** What is done with the hosts that a selection stands for: their tags, and removing them. */
import * as v from "valibot";
import { canAsk, isConfirmed } from "../src/cli/confirm";
import { writeErr } from "../src/cli/output";
import { shownTable } from "../src/cli/shown-table";
import { type GlobalFlags, oneOf, print } from "../src/cli/subcommand";
import { answerHere, view } from "../src/cli/view";
import { field, flag } from "../src/core/fields";
import { listHosts } from "../src/desk/fleet/operations/hosts";
import { changeTags, removeHost, selectHosts } from "../src/desk/fleet/operations/selected";
import { badInput, cancelled, notFound } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";
import type { Service } from "../src/service/service";
import { HOST_COLUMNS, type Host, rowOf } from "./admin-list";

/** What the words after the hosts do with their tags. @throws `bad_input` for words with a sign beside words without. */
function tagsIn(words: readonly string[]) {
  const signed = words.filter((word) => /^[-+=]/.test(word));
  if (signed.length > 0 && signed.length < words.length) {
    const plain = words.find((word) => !signed.includes(word)) ?? "";
    throw badInput(
      `tags: ${printable(plain, 80)} has no sign: +${printable(plain, 80)} adds it, =${printable(plain, 80)} sets it`,
    );
  }
  const bare = words.find((word) => /^[-+=]$/.test(word));
  if (bare !== undefined) throw badInput(`tags: expected a tag after ${bare}`);
  const withSign = (sign: string) =>
    words.filter((word) => word.startsWith(sign)).map((word) => word.slice(1));
  const set = signed.length === 0 ? words : withSign("=");
  return { add: withSign("+"), remove: withSign("-"), ...(set.length > 0 && { set: [...set] }) };
}

const WHICH_HOSTS = { on: changeTags.input.entries.on };

/** As JSON, the host that a label names, or the list that a selection stands for. */
function printHosts(globals: GlobalFlags, on: string, hosts: readonly Host[]): number {
  const [only] = hosts;
  print(globals, only && isLabel(on) ? only : hosts, () => shownTable(HOST_COLUMNS, hosts.map(rowOf)));
  return 0;
}

const setTags = view(changeTags, {
  on: false,
  positionals: ["on", "tags"],
  names: { on: "hosts" },
  dashedWords: true,
  hidden: ["add", "remove", "set"],
  extra: {
    tags: field(v.optional(v.array(v.string())), "+TAG adds, -TAG removes, =TAG or TAG: these and no others"),
    clear: flag("Remove all tags"),
  },
  complete({ on }, { tags, clear }) {
    if (clear !== (tags === undefined)) throw badInput("tags, clear: expected one of them");
    return { on, ...(tags ? tagsIn(tags) : { set: [] }) };
  },
  async run({ globals, input, call, show }) {
    const hosts = await call(input);
    if (!globals.json) return show(hosts);
    return printHosts(globals, input.on, hosts);
  },
  columns: ["LABEL", "TAGS", "ADDED", "REMOVED"],
  rows: (hosts) =>
    hosts.map(({ label, tags, added, removed }) => [
      ...[label, tags.join(","), added.join(","), removed.join(",")],
    ]),
});

const showTags = view(listHosts, {
  on: false,
  extra: WHICH_HOSTS,
  positionals: ["on"],
  names: { on: "hosts" },
  async run({ globals, call, extra }) {
    return printHosts(globals, extra.on, await selectHosts(await call({}), extra.on));
  },
});

/** The labels of the hosts that a selection stands for now, once a person has confirmed them. */
async function named(service: Service, on: string, isAgreed: boolean): Promise<string> {
  const hosts = await selectHosts(await answerHere(service, listHosts, {}), on);
  const labels = hosts.map(({ label }) => label);
  if (labels.length > 1 && !isAgreed) await confirmRemoval(labels);
  return labels.join(",");
}

/** Whether the text can only be a label. */
const isLabel = (text: string) => !/[,*?!]|^tag:|^all$/.test(text);

/** Lets a person confirm that several hosts are removed. @throws `bad_input` where there is nobody to ask; `cancelled` for a no. */
async function confirmRemoval(labels: readonly string[]): Promise<void> {
  const named = printable(labels.slice(0, 20).join(", "), 2_000);
  const which = labels.length > 20 ? `${named}, … and ${labels.length - 20} more` : named;
  if (!canAsk()) throw badInput(`yes: missing: this removes ${labels.length} hosts: ${which}`);
  writeErr(`${labels.length} hosts: ${which}\n`);
  if (!(await isConfirmed("Remove all of them?"))) throw cancelled("nothing was removed");
}

/** Several are named, and removed on a yes. */
export const removeVerb = view(removeHost, {
  on: false,
  positionals: ["on"],
  names: { on: "hosts" },
  hidden: ["label", "on"],
  extra: { ...WHICH_HOSTS, yes: flag("Remove several hosts without asking") },
  async run({ service, globals, extra: { on, yes }, call, show }) {
    const body = await call(isLabel(on) ? { label: on } : { on: await named(service, on, yes) });
    if (body.removed || globals.json) return show(body);
    throw notFound(`no host is labelled ${printable(on)}`);
  },
  text: ({ hosts }) => hosts.map(({ label }) => `${label} removed`).join("\n"),
  warnings: ({ hosts }) =>
    hosts.flatMap(({ label, problem }) =>
      problem === null
        ? []
        : [`${label} was not notified (${problem}): its token works until \`svc leave\` runs there`],
    ),
  good: ({ removed }) => removed,
  examples: [
    ["$0 admin remove lab-01", "Forget a host; one that has joined ends its token"],
    ["$0 admin remove tag:old,lab-*", "Names them, and asks; --yes does not ask"],
  ],
});

/** Shows tags, or changes them. */
export const tagVerb = oneOf(
  [
    ["$0 admin tag lab-01", "Show its tags"],
    ["$0 admin tag lab-01 lab floor-2", "Set exactly these tags"],
    ["$0 admin tag tag:floor-8 +floor-9 -floor-8", "Add one and remove one; others stay"],
    ["$0 admin tag 'lab-*' --clear", "Remove all tags"],
  ],
  [setTags, showTags],
  ({ tags, clear }) => (tags === undefined && clear === undefined ? showTags : setTags),
);
