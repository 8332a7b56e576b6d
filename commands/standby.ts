/** `svc standby`: lets a second machine follow this desk, and take its place. */
import { type Group, print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { allow, reinstate, remove } from "../src/desk/join/standby/operations/desk";
import { follow, showKey, takeOverDesk, unfollow } from "../src/desk/join/standby/operations/standby";
import { type StandbyState, show } from "../src/desk/join/standby/operations/standing";
import { printable } from "../src/lib/sanitize";
import { timeText } from "../src/lib/time-text";
import { endServer } from "../src/service/stop-server";

const agoText = (seconds: number | null) =>
  seconds === null ? "not since the server started" : `${seconds} s ago`;

function standingText({ generation, taken_over, standbys, following, hosts, beyond }: StandbyState): string {
  const lines = standbys.flatMap(({ name, asked_s, current, from }) => {
    const has = current === null ? "" : current ? ", has all of it" : ", is behind";
    return [`standby ${printable(name)}: asked ${agoText(asked_s)}${has}`, ...from.map(originText)];
  });
  if (generation > 0) lines.push(`this desk was taken over or reinstated before: generation ${generation}`);
  if (taken_over)
    lines.push(
      `the standby ${printable(taken_over.by)} has taken this desk over at ${timeText(taken_over.since)} (generation ${taken_over.generation})`,
    );
  if (following) lines.push(...followingLines(following));
  if (hosts) lines.push(hostsText(hosts));
  if (beyond)
    lines.push(
      `${printable(beyond.host, 130)} has heard of generation ${beyond.generation}, which no standby of this desk can have: somebody has its key`,
    );
  return lines.length > 0 ? lines.join("\n") : "this desk has no standby, and this machine follows no desk";
}

const originText = ({ address, since, asked_s, proved }: StandbyState["standbys"][number]["from"][number]) =>
  `  from ${printable(address)} since ${timeText(since)}, last ${agoText(asked_s)}${proved ? "" : ", with the string alone"}`;

function hostsText({ hosts, heard, older }: NonNullable<StandbyState["hosts"]>): string {
  const others =
    older === 0 ? "" : `; ${older} cannot, with an earlier svc, and take the jobs of either desk`;
  return `${heard} of ${hosts} hosts have heard that this is the desk${others}`;
}

function followingLines(following: NonNullable<StandbyState["following"]>): string[] {
  const { desk, snapshot, answered_s, fault, begun, taken_over, notified } = following;
  if (taken_over !== null)
    return [
      `this machine has taken over from the desk at ${desk} at ${timeText(taken_over)}; ${notified === null ? "that desk has not been notified yet" : `it was notified at ${timeText(notified)}`}`,
    ];
  return [
    `follows the desk at ${desk}: answered ${agoText(answered_s)}, newest snapshot ${snapshot === null ? "none" : timeText(snapshot)}`,
    ...(begun === null
      ? []
      : [`a take-over that began at ${timeText(begun)} has not ended: run \`svc standby take-over\` again`]),
    ...(fault === null ? [] : [`it does not answer: ${printable(fault)}`]),
  ];
}

export default {
  verbs: {
    show: view(show, {
      on: false,
      text: standingText,
      examples: [["$0 standby show", "On the desk and on its standby: how far it is behind"]],
    }),
    key: view(showKey, {
      text: ({ key }) => key,
      examples: [["$0 standby key", "On the second machine: what the desk is to encrypt for"]],
    }),
    allow: view(allow, {
      on: false,
      positionals: ["name", "key"],
      async run({ input, call, globals, service }) {
        const body = await call(input);
        print(globals, body, () => body.standby_string);
        if (!globals.json)
          service.log.info(
            `run \`svc standby follow\` on ${printable(body.name)} with it; this string (${body.id}) is not shown again`,
          );
        return 0;
      },
      examples: [["$0 standby allow desk-2 age1…", "On the desk: prints the string for the second machine"]],
    }),
    remove: view(remove, {
      on: false,
      positionals: ["name"],
      text: ({ removed }) => `${removed} removed`,
      examples: [["$0 standby remove desk-2", "It follows this desk no more; what it has, it keeps"]],
    }),
    follow: view(follow, {
      names: { standby_string: "file" },
      async run({ input, call, globals, service }) {
        const body = await call(input);
        print(globals, body, () => `follows the desk at ${body.desk}`);
        if (!body.served) service.log.warn("no server runs here yet: `svc serve` goes on following the desk");
        return 0;
      },
      examples: [
        ["$0 standby follow", "On the second machine: asks for the string that the desk has printed"],
      ],
    }),
    unfollow: view(unfollow, {
      text: ({ desk }) => `follows the desk at ${desk} no more`,
      examples: [["$0 standby unfollow", "What was kept of the desk is removed"]],
    }),
    "take-over": view(takeOverDesk, {
      async run({ input, call, globals, service }) {
        // What is refused ends no server.
        await call({ ...input, dry_run: true });
        const ended = input.dry_run === true ? null : await endServer(service);
        const body = await call(input).catch(async (error) => {
          // As it was: it goes on following.
          await ended?.start();
          throw error;
        });
        const isBack = await ended?.start();
        const done = `this machine is the desk of ${body.desk} (generation ${body.generation}), as it was at ${timeText(body.snapshot)}`;
        const wouldBe = `this machine could take over from ${body.desk}, as it was at ${timeText(body.snapshot)}`;
        print(globals, body, () =>
          [input.dry_run === true ? wouldBe : done, ...body.notes.map((note) => printable(note))].join("\n"),
        );
        if (input.dry_run === true) return 0;
        if (!isBack) service.log.warn("no server runs here now: start it, at the address that hosts know");
        if (!body.notified)
          service.log.warn(
            `the desk at ${body.desk} has not been notified yet: the server here does that once it answers`,
          );
        return 0;
      },
      examples: [
        ["$0 standby take-over", "The first desk is gone: this machine is the desk from now on"],
        ["$0 standby take-over --force", "Also while it answers, as for a change that is planned"],
      ],
    }),
    reinstate: view(reinstate, {
      text: ({ generation }) => `this machine is the desk again (generation ${generation})`,
      examples: [
        ["$0 standby reinstate", "On a desk that was taken over: end the server of the other first"],
      ],
    }),
  },
} satisfies Group;
