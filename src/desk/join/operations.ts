/**
 * The desk's part: join strings, and taking in hosts that have one.
 */
import type { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import * as v from "valibot";
import { perHost } from "../../core/answer-schemas";
import { between, field, flag, inForm, NO_INPUT, seconds, secret, TAGS, whole } from "../../core/fields";
import { operation } from "../../core/operation";
import { conflict, notFound } from "../../lib/errors";
import { isLoopback } from "../../lib/loopback";
import { configFiles } from "../../lib/paths";
import { openSigningKey } from "../../trust/identity";
import { status as tlsStatus } from "../../trust/operations/tls";
import { acceptEndpoint, releaseEndpoint } from "../../wire/join/endpoints";
import { formatJoinString } from "../../wire/join/join-string";
import { addressOfDesk, type LocalServer } from "../../wire/join/reach";
import { REGION } from "../../wire/nats/region";
import type { AddressBook } from "../fleet/address-book";
import type { DeskUses } from "./accept";
import { becomeDesk, type DeskParts } from "./become-desk";
import { bundleOf, DESK_BUNDLE } from "./desk-bundle";
import { type DatabaseName, inMemory } from "./desk-databases";
import type { GrantUses } from "./grant";
import type { JoinRow } from "./join-strings";
import { requireFollowsNone } from "./standby/following";
import { isInOffice, requireInOffice } from "./standby/in-office";
import { furtherDeskText } from "./standby/office";

interface Uses extends DeskUses {
  runningServer(): LocalServer | null;
  ownPin(): Promise<string>;
}

/** The longest life of a string, in seconds: 30 days. */
const MAX_EXPIRES_S = 30 * 86_400;

const LISTED = {
  id: v.string(),
  /** What hosts learn about this desk. */
  address: v.string(),
  tags: v.array(v.string()),
  label_prefix: v.string(),
  uses: v.number(),
  expires: v.string(),
};

/** Null for the first NATS server. */
const LISTED_REGION = { region: v.nullable(v.string()) };

const SECRET_IN_RUN = "its answer has a secret, which a run would keep";

export const addJoinString = operation({
  name: "join_token.add",
  subcommand: "join-token",
  summary: "Make a string with which hosts join this desk",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  http: { method: "POST", path: "/join-tokens/add" },
  leftOut: { script: SECRET_IN_RUN },
  input: v.strictObject({
    tags: field(v.optional(TAGS, []), "Tags of the hosts that join with it"),
    uses: field(v.optional(whole(1, 100_000), 1), "How many hosts can join with it"),
    expires_s: field(v.optional(seconds(between(60, MAX_EXPIRES_S)), 3_600), "How long it works"),
    label_prefix: field(
      v.optional(
        v.pipe(
          v.string(),
          v.regex(
            /^(?!all$|tag:|!)[^,\p{C}\p{Zl}\p{Zp}]{0,64}$/u,
            "up to 64 visible characters without commas",
          ),
        ),
        "",
      ),
      "What the label of a host begins with, also where it wants another",
    ),
    advertise: field(
      v.optional(v.pipe(v.string(), v.maxLength(300))),
      "HOST:PORT at which hosts reach this desk (default: where its server listens)",
    ),
    region: field(
      v.optional(REGION),
      "Region of the NATS server that the hosts connect to (default: the first server, if this desk has one)",
    ),
  }),
  output: v.object({
    join_string: secret(v.string()),
    ...LISTED,
    /** When another key takes the place of the one that it names; null where that is not before its end. */
    key_until: v.nullable(v.string()),
    ...LISTED_REGION,
  }),
  async run(service: Uses, { advertise, region = null, ...wanted }, caller) {
    requireInOffice(configFiles(service.configDir));
    const address = addressOfDesk(service.runningServer(), advertise);
    if (advertise !== undefined && isLoopback(new URL(`https://${address}`).hostname)) {
      caller.warn?.(`hosts on other machines do not reach this desk at ${address}`);
    }
    if (region !== null) await requireRegion(service.configDir, region);
    const pin = await service.ownPin();
    openSigningKey(configFiles(service.configDir).deskKey);
    const strings = await service.joinStrings();
    const { id, secret, expires } = strings.add({ ...wanted, address, pin, region });
    const { tags, label_prefix, uses } = wanted;
    const { next_from } = await tlsStatus.run(service, {}, caller);
    return {
      join_string: formatJoinString({ address, pin, id, secret }),
      id,
      address,
      tags,
      label_prefix,
      uses,
      expires: new Date(expires).toISOString(),
      key_until: next_from !== null && Date.parse(next_from) < expires ? next_from : null,
      region,
    };
  },
});

/** @throws as `readServer`; `conflict` where this desk has no NATS server of that region; `forbidden` where it takes no hosts in there. */
async function requireRegion(configDir: string, region: string): Promise<void> {
  const { readServer, requireSigner } = await import("../../wire/nats/desk-part");
  const part = readServer(configFiles(configDir).nats, region);
  if (!part) throw conflict(`region: nats.json has no region ${region}`);
  requireSigner(part);
}

/** `other_key`: this desk has another TLS key than the string names, so that no host gets through. */
const STATES = ["open", "used_up", "expired", "other_key"] as const;

function stateOf({ expires, used, uses, pin }: JoinRow, ownPin: string): (typeof STATES)[number] {
  if (expires <= Date.now()) return "expired";
  if (used >= uses) return "used_up";
  return pin === ownPin ? "open" : "other_key";
}

export const listJoinStrings = operation({
  name: "join_token.list",
  summary: "List the join strings of this desk, without their secrets",
  scope: "admin",
  http: { method: "GET", path: "/join-tokens" },
  leftOut: { script: "it is for those who make join strings, which no script does" },
  input: NO_INPUT,
  output: v.object({
    join_tokens: v.array(
      v.object({
        ...LISTED,
        used: v.number(),
        created: v.string(),
        state: v.picklist(STATES),
        ...LISTED_REGION,
      }),
    ),
  }),
  async run(service: Uses) {
    const rows = (await service.joinStrings()).list();
    const ownPin = rows.length > 0 ? await service.ownPin() : "";
    return {
      join_tokens: rows.map((row) => {
        const { sha256, pin, created, expires, ...shown } = row;
        return {
          ...shown,
          created: new Date(created).toISOString(),
          expires: new Date(expires).toISOString(),
          state: stateOf(row, ownPin),
        };
      }),
    };
  },
});

export const removeJoinString = operation({
  name: "join_token.remove",
  summary: "Remove a join string: no further host joins with it",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  http: { method: "POST", path: "/join-tokens/remove" },
  leftOut: { script: "it is for those who make join strings, which no script does" },
  input: v.strictObject({
    id: field(v.pipe(v.string(), v.maxLength(64)), "Id of the join string, as `join-token list` shows it"),
  }),
  output: v.object({ removed: v.string() }),
  async run(service: DeskUses, { id }) {
    if (!(await service.joinStrings()).remove(id)) throw notFound("there is no join string with this id");
    return { removed: id };
  },
});

const BY_HOST = {
  cli: "`svc join` and `svc leave` on the host send it",
  script: "a host signs it with its identity key",
};

export const accept = operation({
  ...acceptEndpoint,
  summary: "Take a host into the address book: it has a join string, and signs with its identity key",
  scope: "any",
  changes: "announces",
  leftOut: BY_HOST,
  async run(service: DeskUses, request, caller) {
    // Anybody may ask: who has taken this desk over, or where the desk of this standby is, is not for all to know.
    if (!isInOffice(configFiles(service.configDir)))
      throw conflict("this machine is not the desk now: `svc standby show` there says which one is");
    const { acceptHost } = await import("./accept");
    return acceptHost(service, request, caller);
  },
});

const release = operation({
  ...releaseEndpoint,
  summary: "Remove a host that leaves: it signs with its identity key",
  scope: "any",
  changes: "announces",
  leftOut: BY_HOST,
  async run(service: DeskUses, request, caller) {
    const { releaseHost } = await import("./accept");
    return releaseHost(service, request, caller);
  },
});

export const grantNats = operation({
  name: "nats.grant",
  summary: "Give hosts that have joined their credentials for the NATS server, and reach them over it",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  http: { method: "POST", path: "/nats/grant" },
  leftOut: { script: "which way hosts are reached is decided by a person" },
  input: v.strictObject({
    hosts: field(
      v.pipe(v.string(), v.nonEmpty(), v.maxLength(300_000)),
      "Hosts of the address book: labels, tag:TAG or all, separated by commas; ! excludes",
    ),
    timeout_s: field(
      v.optional(seconds(between(1, 300)), 30),
      "Time limit for each host to connect to the server, in seconds",
    ),
    region: field(v.optional(REGION), "Region of the server (default: the first server)"),
  }),
  output: perHost({
    /** False where the host was reached over NATS before. */
    changed: v.boolean(),
  }),
  requires({ configDir }: GrantUses) {
    if (!existsSync(configFiles(configDir).nats))
      throw conflict("there is no nats.json: `svc nats` makes it");
  },
  async run(service: GrantUses, { hosts, timeout_s, region }) {
    if (region !== undefined) await requireRegion(service.configDir, region);
    const { grantNats: grant } = await import("./grant");
    return grant(service, hosts, timeout_s * 1_000, region);
  },
});

const KEYS_IN_FILE =
  "the keys of a desk leave its folder in a sealed file only, which its user writes and reads";

interface ExportUses extends Pick<Uses, "configDir"> {
  addressBook(): Promise<Pick<AddressBook, "content">>;
  /** Looks at a copy of a database before it leaves. */
  deskDepartures(): Promise<Readonly<Partial<Record<DatabaseName, (copy: Database) => void>>>>;
}

export const exportDesk = operation({
  name: "desk.export",
  summary: "Export what makes this machine a desk, for another machine to take its place",
  answeredBy: "owner",
  scope: "admin",
  reveals: true,
  leftOut: { http: KEYS_IN_FILE, script: KEYS_IN_FILE },
  input: NO_INPUT,
  output: DESK_BUNDLE,
  async run(service: ExportUses) {
    const departures = await service.deskDepartures();
    const book = (await service.addressBook()).content();
    const kept = book && { "admin_hosts.json": `${JSON.stringify(book, null, 2)}\n` };
    return bundleOf(service.configDir, kept ?? {}, (name, content) => {
      const look = departures[name];
      if (!look) return;
      const copy = inMemory(content);
      try {
        look(copy);
      } finally {
        copy.close();
      }
    });
  },
});

interface ImportUses extends Pick<Uses, "configDir" | "runningServer"> {
  deskParts(): Promise<DeskParts>;
}

export const importDesk = operation({
  name: "desk.import",
  summary: "Take the place of the desk that a bundle was made on",
  answeredBy: "owner",
  scope: "admin",
  changes: "announces",
  leftOut: { http: KEYS_IN_FILE, script: KEYS_IN_FILE },
  input: v.strictObject({
    bundle: field(secret(inForm(DESK_BUNDLE)), "What `svc desk export` has written"),
    replace: flag("Replace the desk that is here; its files are kept as backups"),
    without_nats: flag(
      "Take keys, address book and verdicts alone: this is a further desk, with its own identity on the NATS server (`svc nats use`)",
    ),
  }),
  output: v.object({
    written: v.array(v.string()),
    backups: v.record(v.string(), v.string()),
    /** What the operator should know: plans that are paused, logs that are broken, files that are not here. */
    notes: v.array(v.string()),
  }),
  async run(service: ImportUses, { bundle, ...ways }, caller) {
    if (service.runningServer()) throw conflict("a server runs here: stop it before it becomes another desk");
    requireFollowsNone(configFiles(service.configDir));
    const given = ways.without_nats ? asFurther(bundle, service.configDir) : bundle;
    return becomeDesk(service.configDir, given, ways, await service.deskParts(), caller.announce);
  },
});

/** The bundle for a further desk of the same hosts, which was not taken over with the first. */
function asFurther(bundle: unknown, configDir: string): unknown {
  const { files, ...others } = Object(bundle);
  const own = { "desk_generation.json": furtherDeskText(configFiles(configDir)) };
  return { ...others, files: { ...Object(files), ...own } };
}

export const operations = [
  addJoinString,
  listJoinStrings,
  removeJoinString,
  accept,
  release,
  grantNats,
  exportDesk,
  importDesk,
];
