/** The views of what a desk finds about the audit logs of its hosts. */
import type * as v from "valibot";
import { view } from "../src/cli/view";
import { forgetLog, listWitnessed, restoreLog, showFork } from "../src/desk/witness/operations";
import { printable } from "../src/lib/sanitize";

type Host = v.InferOutput<typeof listWitnessed.output>["hosts"][number];

const isGood = ({ standing }: Host) => standing === "good";

const stateOf = (host: Host) => (isGood(host) ? host.state : host.state.toUpperCase());

export const verbs = {
  witness: view(listWitnessed, {
    on: false,
    columns: ["LABEL", "STATE", "SINCE", "LEAVES", "SEEN", "VERIFIED", "PEERS", "REASON"],
    rows: ({ hosts }) =>
      hosts.map((host) => [
        printable(host.label, 130),
        stateOf(host),
        host.since,
        `${host.size}`,
        host.seen ?? "never",
        host.verified ?? "never",
        host.peers.map((peer) => printable(peer, 130)).join(","),
        printable(host.reason, 300),
      ]),
    none: "no hosts have joined: `svc join-token` makes a string with which they do",
    watch: { interval: 10, types: ["witness.*"] },
    warnings: ({ watching, hosts, left }) => [
      ...(watching || hosts.length === 0
        ? []
        : ["no server runs here, so nobody looks at the logs: this is what the last one found"]),
      ...hosts
        .filter(({ evidence }) => evidence > 0)
        .map(
          ({ label }) => `\`svc admin witness-fork ${printable(label, 130)}\` prints the proof of its fork`,
        ),
      ...hosts.flatMap(({ label, claims }) =>
        claims.map((claim) => `${printable(label, 130)}, not proven: ${printable(claim, 300)}`),
      ),
      ...left.map(
        (host) =>
          `${printable(host.label, 130)} left at ${host.left}; the state of its log was ${host.state}: ${printable(host.reason, 300)} (\`svc admin witness-forget ${printable(host.label, 130)}\` ends this warning)`,
      ),
    ],
    good: ({ hosts, left }) => hosts.every(isGood) && left.length === 0,
    examples: [
      ["$0 admin witness", "Exit code 1 when an audit log is not what it was, or silent"],
      ["$0 admin witness --watch", "As it changes"],
    ],
  }),
  "witness-fork": view(showFork, {
    on: false,
    positionals: ["label"],
    text: ({ file }) => file.trimEnd(),
    examples: [
      ["$0 admin witness-fork lab-01 > fork.json", "For `svc audit verify-fork fork.json` on any machine"],
    ],
  }),
  "witness-forget": view(forgetLog, {
    on: false,
    positionals: ["label"],
    text: ({ forgotten }) =>
      `The broken log of ${printable(forgotten, 130)} is forgotten; what proves the break is kept`,
    examples: [
      ["$0 admin witness-forget lab-01", "Once you know why the log of a host that has left was broken"],
    ],
  }),
  "witness-restore": view(restoreLog, {
    on: false,
    positionals: ["label"],
    text: ({ label, origin }) =>
      `${printable(label)}: the log ${printable(origin ?? "")} is accepted as it is now; a row there says so`,
    examples: [
      [
        '$0 admin witness-restore lab-01 --reason "restored the backup of Monday"',
        "After a restore that you have made",
      ],
    ],
  }),
};
