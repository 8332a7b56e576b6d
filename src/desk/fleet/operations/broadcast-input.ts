/**
 * Which hosts a poll or a broadcast is for, and what else a broadcast is given.
 */
import { resolve } from "node:path";
import * as v from "valibot";
import { ON_DESKTOP } from "../../../core/desktop-request";
import { field, flag, orLabels, path, REMOTE_LIST, whole } from "../../../core/fields";
import { badInput } from "../../../lib/errors";
import { readTextFile } from "../../../lib/files";
import type { Log } from "../../../lib/log";
import { printable } from "../../../lib/sanitize";
import { DELIVERY_STATUS, RUN_ON_HOST } from "../../../wire/job/delivery";
import { VARIABLES_FOR_HOSTS } from "../../../wire/job/variables";
import type { AddressBook } from "../address-book";
import type { Host } from "../host";
import { labelsToRetry } from "../results";

/** Enough for the labels of 2,000 hosts, one by one, as the dashboard selects them. */
export const SELECTION = v.pipe(v.string(), v.nonEmpty(), v.maxLength(300_000));
/** What selects hosts, for the help. */
export const WHICH = "Hosts: labels, tag:TAG or all, separated by commas; ! excludes";
/** The other way to name hosts. */
export const LABELS = field(
  v.optional(v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(100_000))),
  "Labels of the hosts, in place of `on`",
);

/** How many hosts have something to do at once, at each NATS server and of all others. */
export const DEFAULT_CONCURRENCY = 64;

const HOST_COUNT = whole(0, 100_000);
const PERCENT = /^(\d{1,2}|100)%$/;

/** A number of hosts, or a share of the selected ones. */
const SHARE = v.union([HOST_COUNT, v.pipe(v.string(), v.regex(PERCENT, "a number, or a share such as 25%"))]);

/** The number of hosts that `share` of `total` is, rounded down. */
export const countOf = (share: number | string, total: number) =>
  typeof share === "number" ? share : Math.floor((Number.parseInt(share, 10) / 100) * total);

const FILE = v.optional(path(v.pipe(v.string(), v.nonEmpty())));

/** For hosts that refused a token a short while ago. */
export const ASK_AGAIN = flag(
  "Also ask the hosts that refused their token in the last ten minutes, which otherwise do not get it again",
);

/** The input of a broadcast. */
export const BROADCAST = v.strictObject({
  actions: field(REMOTE_LIST, "Action list, as for POST /execute"),
  on: field(v.optional(orLabels(SELECTION)), `${WHICH} (with retry default: all)`),
  max_parallel: field(
    v.optional(SHARE),
    "Hosts that run at once: a number, or a share such as 25% (default: 64 at each NATS server)",
  ),
  max_failures: field(
    v.optional(SHARE, "100%"),
    "Start no more hosts after more failures than this: a number, or a share such as 10%",
  ),
  canary: field(v.optional(HOST_COUNT, 0), "Hosts to run first; the others run only if all of these are ok"),
  ...RUN_ON_HOST,
  retry: field(FILE, "Results file of an earlier broadcast: run on the hosts whose last status is in `only`"),
  only: field(
    v.optional(v.array(v.picklist(DELIVERY_STATUS))),
    "With `retry`: the statuses to repeat (default: failed, unreachable, cancelled)",
  ),
  output: field(FILE, "File for the results: one line of JSON for each host, written when it is done"),
  labels: LABELS,
  ask_again: ASK_AGAIN,
  ...VARIABLES_FOR_HOSTS,
  desktop: ON_DESKTOP,
});

/** As the schema has read it. */
export type Broadcast = v.InferOutput<typeof BROADCAST>;

/**
 * The hosts that `on` or `labels` names; undefined when neither is given.
 *
 * @throws a `bad_input` failure for both, and for what no host has.
 */
export async function namedHosts(
  book: Pick<AddressBook, "hosts" | "select">,
  { on, labels }: Pick<Broadcast, "on" | "labels">,
): Promise<readonly Host[] | undefined> {
  if (labels === undefined) return on === undefined ? undefined : await book.select(on);
  if (on !== undefined) throw badInput("on, labels: expected one of them");
  // No label has a comma: `?labels=a,b` means two.
  const hosts = book.hosts();
  const known = new Set(hosts.map(({ label }) => label));
  const wanted = new Set<string>();
  for (const listed of labels) {
    for (const label of listed.split(",")) {
      if (!known.has(label)) throw badInput(`labels: no host is labelled ${printable(label, 130)}`);
      wanted.add(label);
    }
  }
  return hosts.filter(({ label }) => wanted.has(label));
}

/** The labels of hosts, in their order. */
export const labelsOf = (hosts: readonly Host[]) => hosts.map(({ label }) => label);

/** The hosts of a broadcast; none when `retry` has none in a state of `only`. */
export async function hostsOf(
  service: { readonly log: Log },
  book: Pick<AddressBook, "hosts" | "select">,
  { retry, only, output, ...which }: Pick<Broadcast, "retry" | "only" | "output" | "on" | "labels">,
): Promise<readonly Host[]> {
  const named = await namedHosts(book, which);
  if (retry === undefined) {
    if (only !== undefined) throw badInput("only: expected together with retry");
    if (named === undefined) throw badInput("on: missing: name the hosts, or all");
    return named;
  }
  if (output !== undefined && resolve(output) === resolve(retry)) {
    throw badInput("output: expected another file than retry");
  }
  const states = only ?? ["failed", "unreachable", "cancelled"];
  const toRetry = new Set(labelsToRetry(readTextFile(retry, "retry"), states));
  if (toRetry.size === 0) {
    service.log.info(`nothing to retry: in ${retry}, no host is ${states.join(", ")}`);
    return [];
  }
  const gone = toRetry.difference(new Set(book.hosts().map(({ label }) => label)));
  if (gone.size > 0) service.log.warn(`no longer in the address book: ${[...gone].join(", ")}`);
  const hosts = (named ?? book.hosts()).filter(({ label }) => toRetry.has(label));
  if (hosts.length === 0) throw badInput("retry: none of its hosts is selected");
  return hosts;
}
