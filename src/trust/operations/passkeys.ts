/**
 * The operations of passkeys. A browser makes and touches them; the command line lists and removes them.
 *
 * Whatever a person allows with a passkey is asked twice: the first request is refused with a question, and the second brings the answer
 * in the header `svc-passkey`.
 */
import * as v from "valibot";
import { field, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { bytesText, CREDENTIAL_ID } from "../passkeys/bytes";
import { INVITE_S } from "../passkeys/invites";
import type { Passkeys } from "../passkeys/passkeys";
import { HOLDER_NAME, LABEL, LISTED_PASSKEY, whoText } from "../passkeys/store";

interface Uses {
  passkeys(): Promise<Passkeys>;
}

const script = "a person has a passkey, no script";
const BY_PAGE = { cli: "a browser makes it, on the page *Approvals* of the dashboard", script };

export const listPasskeys = operation({
  name: "passkeys.list",
  summary: "List the passkeys of the token of this request; for `admin`, of all people and tokens",
  scope: "operate",
  onHosts: true,
  leftOut: { script },
  http: { method: "GET", path: "/passkeys" },
  input: NO_INPUT,
  output: v.object({ passkeys: v.array(LISTED_PASSKEY) }),
  run: async (service: Uses, _input, { grant }) => ({ passkeys: (await service.passkeys()).list(grant) }),
});

const beginPasskey = operation({
  name: "passkeys.begin",
  summary: "Begin to register a passkey of the token of this request; who has one allows it with that",
  scope: "operate",
  acts: true,
  onHosts: true,
  leftOut: BY_PAGE,
  http: { method: "POST", path: "/passkeys/begin", repeatable: true },
  input: v.strictObject({
    label: field(LABEL, "What to call it"),
    code: field(
      v.optional(secret(v.pipe(v.string(), v.nonEmpty(), v.maxLength(100)))),
      "A code of `svc passkeys invite`, where a first passkey takes one",
    ),
  }),
  output: v.object({
    /** For `POST /passkeys/add`. */
    question: v.string(),
    /** In base64url, as the next. */
    challenge: v.string(),
    user: v.object({ id: v.string(), name: v.string() }),
    rp_id: v.string(),
    /** COSE, in the order of preference. */
    algorithms: v.array(v.number()),
    exclude: v.array(v.string()),
    expires_at: v.string(),
  }),
  async run(service: Uses, { label, code }, caller) {
    const { algorithms, exclude, ...begun } = await (await service.passkeys()).begin(label, caller, code);
    return { ...begun, algorithms: [...algorithms], exclude: [...exclude] };
  },
});

const addPasskey = operation({
  name: "passkeys.add",
  summary: "Register the passkey that a browser has made",
  scope: "operate",
  changes: "announces",
  onHosts: true,
  leftOut: BY_PAGE,
  http: { method: "POST", path: "/passkeys/add", repeatable: true },
  input: v.strictObject({
    question: field(bytesText(64), "As POST /passkeys/begin has it"),
    id: field(CREDENTIAL_ID, "Id of the credential, in base64url as the next two"),
    attestation_object: field(bytesText(16_384), "What the authenticator says of it"),
    client_data: field(bytesText(8_192), "What the browser says of the page"),
    transports: field(
      v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(32))), v.maxLength(10)), []),
      "How a browser reaches the authenticator",
    ),
  }),
  output: LISTED_PASSKEY,
  async run(service: Uses, answer, caller) {
    const { about, keep } = await (await service.passkeys()).register(answer, caller);
    await caller.announce(`passkeys.add ${about}`);
    return keep();
  },
});

const ON_HOST = "the owner of the host makes it on the host itself";

export const invitePasskey = operation({
  name: "passkeys.invite",
  summary: "Make a code with which somebody registers a first passkey, once (`svc serve --passkey-invite`)",
  scope: "admin",
  reveals: true,
  answeredBy: "server",
  leftOut: { http: ON_HOST, script: ON_HOST },
  input: v.strictObject({
    holder: field(
      v.optional(HOLDER_NAME),
      "The token, or the session of the person (default: the owner of the host)",
    ),
  }),
  output: v.object({ code: secret(v.string()), holder: v.nullable(v.string()), expires_s: v.number() }),
  run: async (service: Uses, { holder = null }) => ({
    code: (await service.passkeys()).invite(holder),
    holder,
    expires_s: INVITE_S,
  }),
});

export const removePasskey = operation({
  name: "passkeys.remove",
  summary: "Remove a passkey: over the network one's own, with a touch of one; on the host any",
  answeredBy: "owner",
  scope: "operate",
  changes: "announces",
  onHosts: true,
  leftOut: { script },
  http: { method: "POST", path: "/passkeys/remove", repeatable: true },
  input: v.strictObject({ id: field(CREDENTIAL_ID, "Id of the passkey, as `svc passkeys list` shows it") }),
  output: LISTED_PASSKEY,
  async run(service: Uses, { id }, caller) {
    const passkeys = await service.passkeys();
    const { passkey, signed } = await passkeys.removable(id, caller);
    await caller.announce(`passkeys.remove ${whoText(passkey)}${signed}`);
    await passkeys.remove(id);
    return passkey;
  },
});

export const operations = [listPasskeys, beginPasskey, addPasskey, invitePasskey, removePasskey];
