import type * as v from "valibot";
import { view } from "../../src/cli/view";
import { addHost, listHosts, listTargets, removeHost, tagHost } from "../../src/fleet/operations/hosts";
import { table } from "../../src/lib/table";

type Host = v.InferOutput<typeof listHosts.output>[number];

const columns = ["LABEL", "ADDRESS", "TAGS"];
const rowOf = ({ label, base_url, tags }: Host) => [label, base_url, tags.join(",")];
const oneHost = (host: Host) => table(columns, [rowOf(host)]);

export const add = view(addHost, {
  on: false,
  positionals: ["label", "base_url"],
  names: { base_url: "url", tags: "tag" },
  variables: { token: "SVC_HOST_TOKEN" },
  text: oneHost,
  examples: [
    ["$0 admin add lab-01 http://10.0.0.5:9939 --tag lab < token", "The token on standard input"],
    ["$0 admin add lab-02 https://10.0.0.6:9939 --ca lab-ca.pem", "Trust one authority only"],
  ],
});

export const remove = view(removeHost, {
  on: false,
  positionals: ["label"],
  text: () => "removed",
  examples: [["$0 admin remove lab-01", "Forget a host and its token"]],
});

export const tag = view(tagHost, {
  on: false,
  positionals: ["label", "tags"],
  text: oneHost,
  examples: [
    ["$0 admin tag lab-01 lab floor-2", "These tags and no others"],
    ["$0 admin tag lab-01", "No tags"],
  ],
});

export const list = view(listHosts, {
  on: false,
  columns,
  rows: (hosts) => hosts.map(rowOf),
  none: "no hosts: `svc admin add` adds one",
  examples: [["$0 admin list", "Labels, addresses and tags; never tokens"]],
});

export const targets = view(listTargets, {
  on: false,
  text: (found) => JSON.stringify(found, null, 2),
  epilogue: "The server has the same list at /admin/targets, for http_sd_configs.",
  examples: [["$0 admin targets > /etc/prometheus/svc.json", "For file_sd_configs"]],
});
