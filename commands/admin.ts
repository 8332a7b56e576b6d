import * as v from "valibot";
import { canAsk, isConfirmed } from "../src/cli/confirm";
import { HOST_VARIABLE_FIELDS, HOST_VARIABLE_NAMES, withHostVariables } from "../src/cli/host-variables";
import { writeErr } from "../src/cli/output";
import { reportOfBroadcast } from "../src/cli/report/of-hosts";
import { forHosts, SCRIPT, withActions } from "../src/cli/script";
import { shownTable } from "../src/cli/shown-table";
import { type GlobalFlags, type Group, oneOf, print } from "../src/cli/subcommand";
import { answerHere, view } from "../src/cli/view";
import { field, flag } from "../src/core/fields";
import { withDefaults } from "../src/core/script-head";
import {
  broadcastExecute,
  DELIVERY_STATUS,
  type Delivery,
  isBusy,
  poll,
  withFilesHere,
} from "../src/desk/fleet/operations/fleet";
import { addHost, listHosts, rotateHost, setHost } from "../src/desk/fleet/operations/hosts";
import { listTargets } from "../src/desk/fleet/operations/prometheus";
import { changeTags, removeHost, renameHost, selectHosts } from "../src/desk/fleet/operations/selected";
import { exportBook, importBook } from "../src/desk/fleet/operations/transfer";
import { badInput, cancelled, notFound } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";
import { timeText } from "../src/lib/time-text";
import type { Service } from "../src/service/service";
import { editVerb } from "./admin-edit";
import { HOST_COLUMNS, type Host, listVerb, NO_HOSTS, rowOf } from "./admin-list";
import { oddVerb } from "./admin-odd";
import { upgradeVerb } from "./admin-upgrade";
import { verbs as witnessVerbs } from "./admin-witness";

const POLL_COLUMNS = ["LABEL", "STATE", "LATENCY", "CLIENTS", "JOBS", "ADDRESS", "ERROR"];

const oneHost = (host: Host) => shownTable(HOST_COLUMNS, [rowOf(host)]);

/** With the pin that was found, which nobody has compared yet. */
const settledHost = (host: Host, { trust_first }: { readonly trust_first?: boolean | undefined }) =>
  trust_first
    ? `${oneHost(host)}\n\npinned what the host showed: ${host.pin}\ncompare it with what \`svc pin\` prints on that host`
    : oneHost(host);

const exposed = ({ trust, base_url }: Host) =>
  trust === "nothing"
    ? [`${base_url} is not encrypted: others can read and change what is sent, the token too`]
    : [];

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

export default {
  verbs: {
    add: view(addHost, {
      on: false,
      positionals: ["label", "base_url"],
      names: { base_url: "url", tags: "tag" },
      variables: { token: "SVC_HOST_TOKEN" },
      text: settledHost,
      warnings: exposed,
      examples: [
        [
          "$0 admin add lab-01 https://10.0.0.5:9939 --pin spki:… < token",
          "The pin that `svc pin` prints there",
        ],
        ["$0 admin add lab-01 https://10.0.0.5:9939 --trust-first < token", "Pin the key that it shows now"],
        ["$0 admin add lab-02 https://10.0.0.6:9939 --ca lab-ca.pem", "Trust one authority only"],
        ["$0 admin add lab-01 https://10.0.0.9:9939 --replace < token", "In place of the old entry"],
        ["$0 admin add lab-03 https://10.0.0.7:9939 --pin spki:… --unchecked", "It is off, and not asked"],
      ],
    }),
    remove: view(removeHost, {
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
    }),
    rename: view(renameHost, {
      on: false,
      positionals: ["label", "to"],
      text: oneHost,
      examples: [["$0 admin rename lab-01 berlin-01", "Its token, pin, tags, log and plans stay"]],
    }),
    set: view(setHost, {
      on: false,
      positionals: ["label"],
      names: { base_url: "url", tags: "tag" },
      text: settledHost,
      warnings: exposed,
      complete(input) {
        if (Object.keys(input).some((name) => name !== "label")) return input;
        throw badInput(
          "nothing to set: give --url, --token-file, --tag, --ca, --pin, --trust-first or --clear-trust",
        );
      },
      examples: [
        ["$0 admin set lab-01 --token-file - < token", "Replace its token; the rest stays"],
        ["$0 admin set lab-01 --url https://10.0.0.5:9939 --pin spki:…", "It speaks TLS from now on"],
      ],
    }),
    rotate: view(rotateHost, {
      on: false,
      positionals: ["label"],
      text: ({ label, name, old_until }) => {
        const which = name === null ? "the host's own token" : `the token ${printable(name)}`;
        return `${label}: ${which} is replaced; old ones work until ${timeText(`${old_until}`)}`;
      },
      warnings: ({ problem }) =>
        problem === null
          ? []
          : [
              `the host does not know that the new token is stored (${problem}): the old one can still be renewed`,
            ],
      examples: [["$0 admin rotate lab-01", "A new token there and here; the old one works for a day"]],
    }),
    tag: oneOf(
      [
        ["$0 admin tag lab-01", "Show its tags"],
        ["$0 admin tag lab-01 lab floor-2", "Set exactly these tags"],
        ["$0 admin tag tag:floor-8 +floor-9 -floor-8", "Add one and remove one; others stay"],
        ["$0 admin tag 'lab-*' --clear", "Remove all tags"],
      ],
      [setTags, showTags],
      ({ tags, clear }) => (tags === undefined && clear === undefined ? showTags : setTags),
    ),
    list: listVerb,
    poll: view(poll, {
      hidden: ["labels"],
      watch: {
        interval: 5,
        types: ["session.*", "job.*"],
        fleet: {
          on: ({ on = "all" }) => on,
          of: (input, labels) => ({ ...input, on: undefined, labels }),
          merge: (whole, some) => {
            const newer = new Map(some.map((result) => [result.label, result]));
            return whole.map((result) => newer.get(result.label) ?? result);
          },
        },
      },
      text(results) {
        if (results.length === 0) return NO_HOSTS;
        const rows = results.map(({ label, base_url, healthy, latency_ms, sessions, job_count, error }) => [
          label,
          healthy ? "healthy" : isBusy({ error }) ? "busy" : "DOWN",
          // Of a host that is down, the time until svc gave up says nothing about it.
          healthy ? `${latency_ms} ms` : "",
          sessions === null ? "" : `${sessions.host.connected_clients}`,
          job_count === null ? "" : `${job_count}`,
          base_url,
          error ?? "",
        ]);
        const healthy = results.filter((result) => result.healthy).length;
        return `${shownTable(POLL_COLUMNS, rows)}\n${healthy} of ${results.length} healthy`;
      },
      // The table has no room for what to type.
      warnings(results) {
        const named = results.filter(({ error }) => error?.includes("`svc "));
        const [first] = named;
        const more = named.length > 1 ? `, and ${named.length - 1} more hosts` : "";
        return first ? [`${printable(first.label, 130)}: ${first.error}${more}`] : [];
      },
      good: (results) => results.every(({ healthy }) => healthy),
      examples: [
        ["$0 admin poll", "Every host; exit code 1 when one is not healthy"],
        ["$0 admin poll --on tag:lab,!tag:old --watch", "Selected hosts, in a table that refreshes"],
      ],
    }),
    broadcast: view(broadcastExecute, {
      hidden: ["actions", "labels", "desktop", "variables", "variables_by_host"],
      extra: { script: SCRIPT, ...HOST_VARIABLE_FIELDS },
      names: HOST_VARIABLE_NAMES,
      positionals: ["script"],
      complete: withHostVariables,
      cancellable: true,
      report: reportOfBroadcast,
      async run({ service, globals, input, extra, call, report }) {
        if (service.elsewhere && (input.output ?? input.retry) !== undefined)
          throw badInput(
            "output, retry: expected without --desk, and without SVC_DESK: they are files of the machine of the desk; --json prints what --output has",
          );
        const results: Delivery[] = [];
        const progress = ({ item }: { readonly item?: unknown }) => {
          const result = item as Delivery;
          // What a host returned may be large: the line has the most of it, and the summary none.
          const { result: _, outcomes: __, ...rest } = result;
          results.push(rest);
          if (!globals.json) print(globals, result, () => resultLine(result));
        };
        try {
          const all = await withActions(extra.script, (actions, defaults) =>
            withFilesHere(service, { ...withDefaults(forHosts(defaults), input), actions }, (asked, done) =>
              call(asked, {
                progress(step) {
                  done(step.item as Delivery);
                  progress(step);
                },
              }),
            ),
          );
          // A desk elsewhere answers once all hosts have.
          if (service.elsewhere) for (const item of all) progress({ item });
          if (globals.json) print(globals, all, String);
        } finally {
          // Also when they could not be written to `--output`.
          if (!globals.json && results.length > 0) print(globals, results, () => summary(results));
          if (results.length > 0) report(results);
        }
        return results.every(({ ok }) => ok) ? 0 : 1;
      },
      examples: [
        [`$0 admin broadcast '[["AC_screen_size"]]' --on tag:lab`, "One action on selected hosts"],
        ["$0 admin broadcast nightly.json --on all --canary 1", "One host first"],
        ["$0 admin broadcast seat.json --on all --vars-file hosts.csv", "A value of ${seat} for each host"],
        ["$0 admin broadcast nightly.json --retry results.jsonl", "Repeat on the hosts that failed"],
      ],
    }),
    export: view(exportBook, {
      positionals: ["file"],
      complete: ({ file, ...input }) => (file === undefined || file === "-" ? input : { ...input, file }),
      text: ({ file, hosts, text }) => text?.trimEnd() ?? `${printable(file ?? "")}: ${hosts} hosts`,
      examples: [
        ["$0 admin export hosts.csv", "For a spreadsheet, without tokens"],
        ["$0 admin export hosts.json --tokens", "For another machine; mode 0600"],
      ],
    }),
    import: view(importBook, {
      positionals: ["file"],
      text: ({ added, replaced }) => `${added} added, ${replaced} replaced`,
      examples: [["$0 admin import hosts.csv", "Many hosts at once"]],
    }),
    targets: view(listTargets, {
      on: false,
      text: (found) => JSON.stringify(found, null, 2),
      epilogue: "The server has the same list at /admin/targets, for http_sd_configs.",
      examples: [["$0 admin targets > /etc/prometheus/svc.json", "For file_sd_configs"]],
    }),
    edit: editVerb,
    odd: oddVerb,
    upgrade: upgradeVerb,
    ...witnessVerbs,
  },
} satisfies Group;

function resultLine({ label, status, duration_ms, error, result }: Delivery): string {
  const returned = error ?? JSON.stringify(Object.values(result ?? {})).slice(1, -1);
  const seconds = `${(duration_ms / 1_000).toFixed(2)} s`.padStart(8);
  return `${status.padEnd(12)}  ${seconds}  ${printable(label, 130)}  ${printable(returned, 120)}`.trimEnd();
}

function summary(results: readonly Delivery[]): string {
  const shown = DELIVERY_STATUS.flatMap((status) => {
    const count = results.filter((one) => one.status === status).length;
    return count === 0 ? [] : [`${count} ${status}`];
  });
  return `${results.length} ${results.length === 1 ? "host" : "hosts"}: ${shown.join(", ")}`;
}
