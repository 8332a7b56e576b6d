/**
 * The address book: what changes several hosts at once, and the label of one.
 */
import * as v from "valibot";
import { RemoteError, remoteMessage } from "../../../client/carrier";
import { field, HOST_LABEL, TAGS } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { badInput, messageOf } from "../../../lib/errors";
import { serverOfHost } from "../../../lib/per-server";
import { runPool } from "../../../lib/pool";
import type { AddressBook } from "../address-book";
import { HOST_FIELDS, type Host } from "../host";
import { LISTED_HOST, toListed } from "../listed";
import { SELECTION, WHICH } from "./broadcast-input";
import { CHANGES_BOOK } from "./hosts";

interface Uses {
  addressBook(): Promise<
    Pick<AddressBook, "hosts" | "select" | "reach" | "changeTags" | "removeAll" | "rename">
  >;
}

interface RemoveUses extends Uses {
  /** @throws `conflict` where that host knows that this desk was taken over; a {@link RemoteError} where it does not say. */
  requireDeskAt(host: Host): Promise<void>;
}

interface RenameUses extends Uses {
  /** What else has the label of a host, and keeps it under the new one. */
  renamed(host: Host, from: string): Promise<void>;
}

export { selectHosts } from "../selection";

/** How many hosts are asked at once to end their tokens, at each NATS server and of all others. */
const SLOTS = 16;

const tags = (description: string) => field(v.optional(TAGS), description);

export const changeTags = operation({
  ...CHANGES_BOOK,
  name: "admin.change_tags",
  subcommand: "admin tag",
  summary: "Change the tags of hosts of the address book: all of the hosts, or none",
  command: "AC_admin_change_tags",
  http: { method: "POST", path: "/admin/hosts/tags" },
  example: { on: "tag:floor-8", add: ["floor-9"], remove: ["floor-8"] },
  input: v.strictObject({
    on: field(SELECTION, WHICH),
    add: tags("Tags that each host gets besides those it has"),
    remove: tags("Tags that each host loses"),
    set: tags("Tags in place of all that each host has; before `add` and `remove`"),
  }),
  output: v.array(
    v.object({
      ...LISTED_HOST.entries,
      /** What the host had not before, and what it has no more. */
      added: v.array(v.string()),
      removed: v.array(v.string()),
    }),
  ),
  async run(service: Uses, { on, add = [], remove = [], set }) {
    if (set === undefined && add.length + remove.length === 0)
      throw badInput("add, remove, set: expected one of them");
    const both = add.find((tag) => remove.includes(tag));
    if (both !== undefined) throw badInput(`remove: ${both} is in add, too`);
    const change = (old: readonly string[]) => [
      ...new Set([...(set ?? old), ...add].filter((tag) => !remove.includes(tag))),
    ];
    const changed = await (await service.addressBook()).changeTags(on, change);
    return changed.map(({ host, before }) => ({
      ...toListed(host),
      added: host.tags.filter((tag) => !before.includes(tag)),
      removed: before.filter((tag) => !host.tags.includes(tag)),
    }));
  },
});

const ENDED_TOKEN = {
  /** Whether its token has ended; null where svc does not know whose token it is: the host has not joined. */
  revoked: v.nullable(v.boolean()),
  /** Why the token works on; null where it does not, or the host has not joined. */
  problem: v.nullable(v.string()),
};

type EndedToken = {
  readonly label: string;
  readonly revoked: boolean | null;
  readonly problem: string | null;
};

export const removeHost = operation({
  ...CHANGES_BOOK,
  name: "admin.remove_host",
  subcommand: "admin remove",
  summary:
    "Remove hosts from the address book; one that has joined ends the token that it made for this desk",
  command: "AC_admin_remove_host",
  http: { method: "POST", path: "/admin/hosts/remove" },
  example: { label: "lab-01" },
  input: v.strictObject({
    label: field(v.optional(HOST_LABEL), "Label of the host"),
    on: field(v.optional(SELECTION), `${WHICH}; in place of \`label\``),
  }),
  output: v.object({
    /** False where no host has that label. */
    removed: v.boolean(),
    /** Of several hosts: whether the tokens of all that have joined have ended, and why the first of the others works on. */
    ...ENDED_TOKEN,
    /** The hosts that were removed. */
    hosts: v.array(v.object({ label: v.string(), ...ENDED_TOKEN })),
  }),
  async run(service: RemoveUses, { label, on }) {
    if ((label === undefined) === (on === undefined)) throw badInput("label, on: expected one of them");
    const book = await service.addressBook();
    const selected =
      on === undefined ? book.hosts().filter((one) => one.label === label) : await book.select(on);
    const pool = { slots: SLOTS, serverOf: serverOfHost };
    // All of them first: the token that a host ends is that of whichever machine is its desk.
    const silent = await runPool(selected, pool, (host) =>
      service.requireDeskAt(host).then(() => undefined, silenceOf),
    );
    const faults = new Map(selected.map((host, nth) => [host, silent[nth]]));
    // Before they are removed: only a host of the address book is linked.
    const ended = await runPool(selected, pool, (host) => endToken(book, host, faults.get(host)));
    // An entry that is not valid goes, too.
    const gone = await book.removeAll(label === undefined ? ended.map((one) => one.label) : [label]);
    const hosts = gone.map((name) => {
      const { revoked = null, problem = null } = ended.find((one) => one.label === name) ?? {};
      return { label: name, revoked, problem };
    });
    const joined = hosts.filter(({ revoked }) => revoked !== null);
    return {
      removed: hosts.length > 0,
      revoked: joined.length === 0 ? null : joined.every(({ revoked }) => revoked),
      problem: hosts.find(({ problem }) => problem !== null)?.problem ?? null,
      hosts,
    };
  },
});

/** Why a host has not said whether this is its desk; undefined where its token has ended already. @throws what it has said. */
function silenceOf(error: unknown): string | undefined {
  const hasEnded = error instanceof RemoteError && error.fault === "unauthorized" && !error.refusal;
  return hasEnded ? undefined : remoteMessage(error);
}

/** @param fault why the host has not said whether this is its desk. */
async function endToken(
  book: Pick<AddressBook, "reach">,
  host: Host,
  fault: string | undefined,
): Promise<EndedToken> {
  const { label, member } = host;
  if (!member) return { label, revoked: null, problem: null };
  if (fault !== undefined) return { label, revoked: false, problem: fault };
  const { revokeToken } = await import("../revoke");
  const problem = await revokeToken(book.reach(host));
  return { label, revoked: problem === null, problem };
}

export const renameHost = operation({
  ...CHANGES_BOOK,
  name: "admin.rename_host",
  subcommand: "admin rename",
  summary: "Give a host of the address book another label; its token, pin, tags and plans stay",
  command: "AC_admin_rename_host",
  http: { method: "POST", path: "/admin/hosts/rename" },
  example: { label: "lab-01", to: "berlin-01" },
  input: v.strictObject({ label: HOST_LABEL, to: field(HOST_FIELDS.label, "The label that it gets") }),
  output: LISTED_HOST,
  async run(service: RenameUses, { label, to }, caller) {
    const host = await (await service.addressBook()).rename(label, to);
    await service.renamed(host, label).catch((error) => {
      caller.warn?.(`plans know the host as ${label} yet: ${messageOf(error)}`);
    });
    return toListed(host);
  },
});

export const operations = [changeTags, removeHost, renameHost];
