/**
 * Hosts of the address book as a text that a person edits, and what was edited as one change.
 *
 * The promise: all of what was edited is stored, or nothing. No token is in the text, and one that is written into it takes the place of
 * the token that the book has.
 */
import * as v from "valibot";
import { field, fileContent } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { badInput, conflict, messageOf } from "../../../lib/errors";
import { jsonIn } from "../../../lib/json-in";
import { faultText, nameTwice } from "../../../lib/json-places";
import { printable } from "../../../lib/sanitize";
import type { AddressBook } from "../address-book";
import { HOST_FIELDS, type Host, linkedHost, parseHost } from "../host";
import { LISTED_HOST, toListed } from "../listed";
import { INSECURE_HTTP, requireEncryption } from "../settle-trust";

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "host" | "edit">>;
  /** What else has the label of a host, and keeps it under the new one. */
  renamed(host: Host, from: string): Promise<void>;
}

/** The fields that are edited. */
const EDITABLE_HOST = v.strictObject({
  label: HOST_FIELDS.label,
  base_url: HOST_FIELDS.base_url,
  token: v.optional(HOST_FIELDS.token),
  tags: HOST_FIELDS.tags,
  ca: HOST_FIELDS.ca,
  pin: HOST_FIELDS.pin,
});

type EditableHost = v.InferOutput<typeof EDITABLE_HOST>;

const NAMES = Object.keys(EDITABLE_HOST.entries).join(", ");

/** What messages call the edited text: who edits it, types no `after`. */
const EDITED = "text";

const ABOUT = `# Each host stands after the label that it has. Change its label, base_url, tags, ca or pin; a token that you add
# takes the place of the one that the book has. \`svc admin add\` and \`svc admin remove\` add and remove hosts.
# Lines that begin with # are not read. All of it is stored as one change, or nothing.
`;

/** What a text says of the hosts of which it was made, in a line that is not read as one of them. */
const MADE_OF = "# Made of: ";

/** `hosts` as the text that is edited: JSON below some lines of help, without tokens. */
export function editText(hosts: readonly Host[]): string {
  const json = JSON.stringify(Object.fromEntries(hosts.map((host) => [host.label, shownOf(host)])), null, 2);
  return `${ABOUT}${MADE_OF}${Bun.SHA256.hash(json, "hex")}\n${json}\n`;
}

/** The digest of the hosts of which a text was made; undefined where it does not say, as one that was written by hand. */
const madeOf = (text: string): string | undefined =>
  text
    .split("\n")
    .find((line) => line.startsWith(MADE_OF))
    ?.slice(MADE_OF.length)
    .trim();

/** @throws a `conflict` failure where `text` was made of other hosts than `before` is: what has changed since would be undone. */
export function requireSameHosts(text: string, before: string): void {
  const made = madeOf(text);
  if (made !== undefined && made !== madeOf(before))
    throw conflict(
      "nothing was changed: the hosts are not as they were when this text was made; run svc admin edit without --file, and edit them anew",
    );
}

const shownOf = ({ label, base_url, tags, ca, pin }: Host) => ({
  label,
  base_url,
  tags,
  ...(ca !== undefined && { ca }),
  ...(pin !== undefined && { pin }),
});

/**
 * The hosts of a text, by the labels that they had.
 *
 * @throws a `bad_input` failure that names what is wrong, and quotes no token.
 */
async function hostsIn(text: string, where: string): Promise<ReadonlyMap<string, EditableHost>> {
  // Each line stays where it is: places are those of the text.
  const json = text.replaceAll(/^[^\S\n]*#.*$/gm, "");
  const whole = jsonIn(json);
  if (whole === undefined) throw badInput(`${where}: ${await faultText(json)}`);
  const twice = where === EDITED ? await nameTwice(json) : undefined;
  if (twice !== undefined) throw badInput(`${where}: ${twice}`);
  if (typeof whole !== "object" || whole === null || Array.isArray(whole))
    throw badInput(`${where}: expected an object with a host after each label`);
  const faults: string[] = [];
  const hosts = new Map<string, EditableHost>();
  for (const [label, value] of Object.entries<unknown>({ ...whole })) {
    const checked = v.safeParse(EDITABLE_HOST, value);
    if (checked.success) hosts.set(label, checked.output);
    else faults.push(`${printable(label, 130)}: ${faultIn(value)}`);
  }
  if (faults.length === 0) return hosts;
  const more = faults.length > 20 ? `; and ${faults.length - 20} more` : "";
  throw badInput(`${where}: ${faults.slice(0, 20).join("; ")}${more}`);
}

/** What is wrong with a value that is no edited host. */
function faultIn(value: unknown): string {
  const fields = Object.keys(Object(value));
  const stray = fields.find((name) => !Object.hasOwn(EDITABLE_HOST.entries, name));
  if (stray !== undefined) return `${printable(stray, 80)}: expected one of ${NAMES}`;
  const parsed = parseHost({ token: "any", ...Object(value) });
  return "fault" in parsed ? `${parsed.fault}${foundIn(parsed.fault, value)}` : `expected ${NAMES}`;
}

/** What stands in the field of a fault, where that is one alone and can be no secret: an address with an @ or a query may have a password. */
function foundIn(fault: string, value: unknown): string {
  const [, field = ""] = /^(label|base_url|pin): expected [^;]*$/.exec(fault) ?? [];
  const found: unknown = Object(value)[field];
  return typeof found === "string" && !/[@?]/.test(found)
    ? ` but found ${printable(JSON.stringify(found), 100)}`
    : "";
}

/** What became of a host. */
export interface HostEdit {
  /** The host as it was shown. */
  readonly was: EditableHost;
  readonly now: EditableHost;
}

/** The hosts of which something was edited. @throws `bad_input` for hosts that one of the texts alone has. */
function editsIn(
  before: ReadonlyMap<string, EditableHost>,
  after: ReadonlyMap<string, EditableHost>,
): HostEdit[] {
  for (const label of before.keys())
    if (!after.has(label))
      throw badInput(`${EDITED}: ${printable(label, 130)} is missing: \`svc admin remove\` removes hosts`);
  return [...after].flatMap(([label, now]) => {
    const was = before.get(label);
    if (!was)
      throw badInput(
        `${EDITED}: ${printable(label, 130)} is not among the hosts: \`svc admin add\` adds one`,
      );
    return Bun.deepEquals(was, now) ? [] : [{ was, now }];
  });
}

/** The fields to set of a host. */
function changesOf(host: Host, { was, now }: HostEdit) {
  const { label, base_url, token, tags, ca, pin } = now;
  const isLinked = linkedHost(base_url) !== undefined;
  const isOther = base_url !== was.base_url || ca !== was.ca || pin !== was.pin;
  const newToken = token ?? (isLinked ? undefined : host.token);
  return {
    label,
    base_url,
    tags,
    ca,
    pin,
    token: newToken,
    ...(isOther && { next_pin: undefined }),
    // Nobody says when a given token ends, nor what it allows.
    ...(newToken !== host.token && { token_expires: undefined, rights: undefined }),
  };
}

/** What was edited, for the audit log. */
function wordsOf({ was, now }: HostEdit): string {
  const { label, token, ...rest } = now;
  const { label: _, token: __, ...before } = was;
  const fields = Object.entries({ ...before, ...rest }).flatMap(([name]) => {
    const value: unknown = Object(rest)[name];
    return Bun.deepEquals(value, Object(before)[name]) ? [] : [`${name}=${JSON.stringify(value ?? null)}`];
  });
  const to = label === was.label ? [] : [`to=${JSON.stringify(label)}`];
  const secret = token === undefined ? [] : ['token="***"'];
  return printable([`label=${JSON.stringify(was.label)}`, ...to, ...fields, ...secret].join(" "), 1_000);
}

const OF_A_FILE = "a person edits the text on the desk itself, and it may have tokens";

export const editHosts = operation({
  name: "admin.edit_hosts",
  subcommand: "admin edit",
  summary: "Edit hosts of the address book as a text: all changes are stored as one, or none",
  answeredBy: "owner",
  scope: "admin",
  changes: "announces",
  leftOut: { http: OF_A_FILE, script: OF_A_FILE },
  input: v.strictObject({
    // Not marked as secret: they are on no surface that records its input.
    before: field(fileContent(v.string()), "The hosts as a text, as they were"),
    after: field(fileContent(v.string()), "The same text with the changes"),
    insecure_http: INSECURE_HTTP,
  }),
  output: v.array(v.object(LISTED_HOST.entries)),
  async run(service: Uses, { before, after, insecure_http }, caller) {
    const edits = editsIn(await hostsIn(before, "before"), await hostsIn(after, EDITED));
    const book = await service.addressBook();
    const made = edits.map((edit) => {
      const host = book.host(edit.was.label);
      const parsed = parseHost({ ...host, ...changesOf(host, edit) });
      if ("fault" in parsed) throw badInput(`${EDITED}: ${printable(edit.was.label, 130)}: ${parsed.fault}`);
      return parsed.entry;
    });
    const isElsewhere = (_host: Host, at: number) => edits[at]?.now.base_url !== edits[at]?.was.base_url;
    if (!insecure_http) requireEncryption(made.filter(isElsewhere));
    // Together: the log writes rows that come at once with one wait for the disk.
    await Promise.all(edits.map((edit) => caller.announce(`admin.edit_hosts ${wordsOf(edit)}`)));
    const hosts = await book.edit(
      edits.map((edit) => ({ ...edit, fields: (host) => changesOf(host, edit) })),
    );
    for (const [at, host] of hosts.entries()) {
      const from = edits[at]?.was.label ?? host.label;
      if (from === host.label) continue;
      await service.renamed(host, from).catch((error) => {
        caller.warn?.(`plans know the host as ${from} yet: ${messageOf(error)}`);
      });
    }
    return hosts.map(toListed);
  },
});

export const operations = [editHosts];
