/** `svc admin`: the address book of a desk, and what is asked of its hosts. Long verbs have files of their own, `admin-*.ts`. */
import { shownTable } from "../src/cli/shown-table";
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { isBusy, poll } from "../src/desk/fleet/operations/fleet";
import { addHost, rotateHost, setHost } from "../src/desk/fleet/operations/hosts";
import { listTargets } from "../src/desk/fleet/operations/prometheus";
import { renameHost } from "../src/desk/fleet/operations/selected";
import { exportBook, importBook } from "../src/desk/fleet/operations/transfer";
import { badInput } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";
import { timeText } from "../src/lib/time-text";
import { broadcastVerb } from "./admin-broadcast";
import { editVerb } from "./admin-edit";
import { HOST_COLUMNS, type Host, listVerb, NO_HOSTS, rowOf } from "./admin-list";
import { oddVerb } from "./admin-odd";
import { removeVerb, tagVerb } from "./admin-selected";
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
    remove: removeVerb,
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
    tag: tagVerb,
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
    broadcast: broadcastVerb,
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
