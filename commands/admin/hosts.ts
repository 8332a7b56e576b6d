import { command, print, withService } from "../../src/cli/command";
import { callOperation } from "../../src/core/call";
import { localCaller } from "../../src/core/caller";
import type { ListedHost } from "../../src/fleet/host";
import { addHost, listHosts, listTargets, removeHost, tagHost } from "../../src/fleet/operations";
import { readTextFile } from "../../src/lib/files";
import { readSecret } from "../../src/lib/secret";
import { table } from "../../src/lib/table";

export const add = command({
  builder: (argv) =>
    argv
      .positional("label", { type: "string", demandOption: true, describe: "What to call the host" })
      .positional("url", { type: "string", demandOption: true, describe: "Where it answers" })
      .option("token-file", {
        type: "string",
        describe: "File with its token (else SVC_HOST_TOKEN, standard input, or a prompt)",
      })
      .nargs("token-file", 1) // else yargs takes `-` for the empty text
      .option("tag", { type: "string", array: true, default: [] as string[], describe: "To select it by" })
      .nargs("tag", 1) // else what follows it, the label and the URL, are tags too
      .option("ca", { type: "string", describe: "PEM file with the authority of its certificate" })
      .option("pin", { type: "string", describe: "sha256:… of its certificate" })
      .conflicts("ca", "pin")
      .example("$0 admin add lab-01 http://10.0.0.5:9939 --tag lab < token", "The token on standard input")
      .example("$0 admin add lab-02 https://10.0.0.6:9939 --ca lab-ca.pem", "With its own authority"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const variable = "SVC_HOST_TOKEN";
      const token = await readSecret({
        name: "token",
        file: flags.tokenFile ?? (process.env[variable] || process.stdin.isTTY ? undefined : "-"),
        flag: "--token-file",
        variable,
      });
      const host = {
        label: flags.label,
        base_url: flags.url,
        token,
        tags: flags.tag,
        ...(flags.ca !== undefined && { ca: readTextFile(flags.ca, "ca") }),
        ...(flags.pin !== undefined && { pin: flags.pin }),
      };
      const added = await callOperation(service, addHost, host, localCaller(service, "cli"));
      print(flags, added, () => hostTable([added]));
      return 0;
    }),
});

export const remove = command({
  builder: (argv) =>
    argv
      .positional("label", { type: "string", demandOption: true, describe: "What the host is called" })
      .example("$0 admin remove lab-01", "Forget a host and its token"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const input = { label: flags.label };
      const removed = await callOperation(service, removeHost, input, localCaller(service, "cli"));
      print(flags, removed, () => `${flags.label} removed`);
      return 0;
    }),
});

export const tag = command({
  builder: (argv) =>
    argv
      .positional("label", { type: "string", demandOption: true, describe: "What the host is called" })
      .positional("tags", {
        type: "string",
        array: true,
        default: [] as string[],
        describe: "Its tags from now on",
      })
      .example("$0 admin tag lab-01 lab floor-2", "These and no others")
      .example("$0 admin tag lab-01", "None"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const input = { label: flags.label, tags: flags.tags };
      const tagged = await callOperation(service, tagHost, input, localCaller(service, "cli"));
      print(flags, tagged, () => hostTable([tagged]));
      return 0;
    }),
});

export const list = command({
  builder: (argv) => argv.example("$0 admin list", "Labels, addresses and tags; never tokens"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const hosts = await callOperation(service, listHosts, {}, localCaller(service, "cli"));
      print(flags, hosts, () => hostTable(hosts));
      return 0;
    }),
});

export const targets = command({
  builder: (argv) =>
    argv
      .example("$0 admin targets > /etc/prometheus/svc.json", "For file_sd_configs")
      .epilogue("A server gives the same at /admin/targets, for http_sd_configs."),
  handler: (flags) =>
    withService(flags, async (service) => {
      const found = await callOperation(service, listTargets, {}, localCaller(service, "cli"));
      print(flags, found, () => JSON.stringify(found, null, 2));
      return 0;
    }),
});

function hostTable(hosts: readonly ListedHost[]): string {
  if (hosts.length === 0) return "no hosts: `svc admin add` adds one";
  return table(
    ["LABEL", "ADDRESS", "TAGS"],
    hosts.map(({ label, base_url, tags }) => [label, base_url, tags.join(",")]),
  );
}
