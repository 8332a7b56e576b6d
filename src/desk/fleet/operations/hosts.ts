/**
 * The address book: add, change and list hosts.
 */
import * as v from "valibot";
import { perHost } from "../../../core/answer-schemas";
import { between, field, flag, HOST_LABEL, NO_INPUT, seconds } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { badInput, conflict } from "../../../lib/errors";
import { mapInSlices } from "../../../lib/turn";
import { certificate } from "../../../trust/operations/tls";
import type { AddressBook } from "../address-book";
import { HOST_CHANGES, HOST_FIELDS, type Host, linkedHost, parseHost } from "../host";
import { LISTED_HOST, toListed } from "../listed";
import { TOKEN_ROTATION } from "../results";
import { requireAnswer, SETTLING_FIELDS, settleTrust, UNCHECKED } from "../settle-trust";

interface Uses {
  addressBook(): Promise<AddressBook>;
}

interface RotateUses extends Uses {
  /** @throws where that host knows that this desk was taken over, or does not say. */
  requireDeskAt(host: Host): Promise<void>;
}

/** What the operations share that change the address book. */
export const CHANGES_BOOK = {
  answeredBy: "owner",
  serverInRuns: true,
  scope: "admin",
  changes: true,
} as const;

const label = HOST_LABEL;

export const addHost = operation({
  ...CHANGES_BOOK,
  name: "admin.add_host",
  subcommand: "admin add",
  summary: "Add a host to the address book",
  command: "AC_admin_add_host",
  http: { method: "POST", path: "/admin/hosts/add" },
  example: { label: "lab-01", base_url: "https://10.0.0.5:9939", token: "its-token", trust_first: true },
  input: v.strictObject({
    ...HOST_FIELDS,
    ...SETTLING_FIELDS,
    replace: flag("Replace the host that has this label"),
    unchecked: UNCHECKED,
  }),
  output: LISTED_HOST,
  async run(service: Uses, { replace, trust_first, insecure_http, unchecked, ...fields }) {
    const parsed = parseHost(fields);
    if ("fault" in parsed) throw badInput(parsed.fault);
    const host = await settleTrust(parsed.entry, { trust_first, insecure_http });
    const book = await service.addressBook();
    const isTrusted = (fields.pin ?? fields.ca) !== undefined;
    if (isTrusted && !unchecked) await requireAnswer(host);
    await book.addAll([host], replace);
    return toListed(host);
  },
});

export const setHost = operation({
  ...CHANGES_BOOK,
  name: "admin.set_host",
  subcommand: "admin set",
  summary: "Change a host of the address book; what is not given stays",
  command: "AC_admin_set_host",
  http: { method: "POST", path: "/admin/hosts/set" },
  example: { label: "lab-01", token: "its-new-token" },
  input: v.strictObject({
    label,
    ...HOST_CHANGES,
    ...SETTLING_FIELDS,
    clear_trust: flag("Forget `ca` and `pin`: trust the usual authorities"),
  }),
  output: LISTED_HOST,
  async run(service: Uses, { label, clear_trust, trust_first, insecure_http, ...fields }) {
    const { ca, pin } = fields;
    const isTrust = (ca ?? pin) !== undefined;
    if (clear_trust && isTrust) throw badInput("clear_trust: expected without ca and pin");
    if (trust_first && (clear_trust || isTrust)) {
      throw badInput("trust_first: expected without ca, pin and clear_trust");
    }
    if (!clear_trust && !trust_first && Object.keys(fields).length === 0) {
      throw badInput(
        "nothing to set: expected an address, a token, tags, ca, pin, trust_first or clear_trust",
      );
    }
    const book = await service.addressBook();
    // A link needs neither pin nor token.
    const isLinked = fields.base_url !== undefined && linkedHost(fields.base_url) !== undefined;
    const isOther = clear_trust || trust_first || isTrust || isLinked;
    // One way to trust a host takes the place of the other.
    const changed = {
      ...fields,
      ...(isLinked && { token: fields.token }),
      ...(isOther && { ca, pin, next_pin: undefined }),
      // Nobody says when a given token ends, nor what it allows.
      ...((isLinked || fields.token !== undefined) && { token_expires: undefined, rights: undefined }),
    };
    const old = book.host(label);
    const parsed = parseHost({ ...old, ...changed });
    if ("fault" in parsed) throw badInput(parsed.fault);
    const isElsewhere = parsed.entry.base_url !== old.base_url;
    if (!isElsewhere && !trust_first && !clear_trust) return toListed(await book.set(label, () => changed));
    const settled = await settleTrust(parsed.entry, { trust_first, insecure_http });
    const stored = await book.set(label, (now) => {
      const isSame = now.base_url === old.base_url && now.pin === old.pin && now.ca === old.ca;
      if (isSame) return { ...changed, pin: settled.pin };
      throw conflict("somebody else has changed the host meanwhile");
    });
    return toListed(stored);
  },
});

export const rotateHost = operation({
  ...CHANGES_BOOK,
  name: "admin.rotate_host",
  subcommand: "admin rotate",
  summary: "Let a host replace the token that the address book has, and store the new one",
  command: "AC_admin_rotate_host",
  http: { method: "POST", path: "/admin/hosts/rotate" },
  example: { label: "lab-01", overlap_s: 3600 },
  input: v.strictObject({
    label,
    overlap_s: field(
      // A minute, and 30 days, as in `token.renew`.
      v.optional(seconds(between(60, 30 * 86_400)), 86_400),
      "How long the old token works, in seconds",
    ),
  }),
  output: TOKEN_ROTATION,
  async run({ addressBook, requireDeskAt }: RotateUses, { label, overlap_s }) {
    const { rotateToken } = await import("../rotate");
    return rotateToken(await addressBook(), label, overlap_s, requireDeskAt);
  },
});

const tagHost = operation({
  ...CHANGES_BOOK,
  name: "admin.tag_host",
  summary: "Replace the tags of a host",
  leftOut: { cli: "`svc admin tag` changes the tags of one host or several" },
  command: "AC_admin_tag_host",
  http: { method: "POST", path: "/admin/hosts/tag" },
  example: { label: "lab-01", tags: ["lab", "floor-2"] },
  input: v.strictObject({
    label,
    tags: HOST_CHANGES.tags,
    clear: flag("Remove all tags"),
  }),
  output: LISTED_HOST,
  async run(service: Uses, { label, tags, clear }) {
    if (clear === (tags !== undefined)) throw badInput("tags, clear: expected one of them");
    return toListed(await (await service.addressBook()).set(label, () => ({ tags: tags ?? [] })));
  },
});

export const listHosts = operation({
  name: "admin.list_hosts",
  subcommand: "admin list",
  summary: "List the hosts of the address book, without their tokens",
  scope: "read",
  command: "AC_admin_list_hosts",
  http: { method: "GET", path: "/admin/hosts" },
  input: NO_INPUT,
  output: v.array(LISTED_HOST),
  async run(service: Uses, _input, caller) {
    const book = await service.addressBook();
    const ignored = book.ignored();
    if (ignored !== undefined) caller.warn?.(ignored);
    return mapInSlices(book.hosts(), toListed);
  },
});

const FOR_A_FILE = "it makes a file for a program on this machine";

export const hostCertificates = operation({
  name: "admin.certificates",
  summary: "Print the certificates that hosts show, for a client that is given whom to trust",
  scope: "admin",
  leftOut: { cli: "`svc tls cert --on` prints them", http: FOR_A_FILE, script: FOR_A_FILE },
  input: v.strictObject({
    on: field(
      v.pipe(v.string(), v.nonEmpty()),
      "Hosts of the address book: labels, tag:TAG or all, separated by commas; ! excludes",
    ),
    on_timeout_s: field(v.optional(seconds(between(0.01, 300)), 10), "With --on: time limit for each host"),
  }),
  output: perHost({
    /** Null for a host that is reached over its link, which needs none. */
    result: v.nullable(certificate.output),
  }),
  async run(service: Uses, { on, on_timeout_s }) {
    const { certificatesOf } = await import("../certificates");
    const book = await service.addressBook();
    return certificatesOf(await book.select(on), book.hosts(), on_timeout_s * 1_000);
  },
});

export const operations = [addHost, setHost, rotateHost, tagHost, listHosts, hostCertificates];
