/**
 * Passkeys: registering and removing one, and what this server wants one for.
 *
 * The promise: a passkey is registered by its holder alone. Who has one already allows the next, and the removal of one, by a touch; the
 * owner removes any, on the host.
 */
import { isRemote } from "../../core/caller";
import { type Grant, isAdminHere } from "../../core/rights";
import { busy, conflict, forbidden, notFound } from "../../lib/errors";
import type { JsonStore } from "../../lib/json-store";
import { printable } from "../../lib/sanitize";
import { createInvites } from "./invites";
import type { Demands } from "./options";
import { type Allowance, type Asker, createQuestions, holderIn, type QuestionParts } from "./questions";
import {
  isOf,
  type ListedPasskey,
  listed,
  MAX_OF_HOLDER,
  MAX_PASSKEYS,
  type Passkey,
  whoText,
} from "./store";
import { ALGORITHMS, type NewPasskey, readNew, spkiOf } from "./webauthn";
import { challengeOf, verifyYes } from "./yes";

export type { Allowance, Asker } from "./questions";

/** What may need a passkey: a name of `--passkey-for`, or a plan for so many hosts. */
export type Demand = "approvals" | "leases" | "control" | { readonly plan: number };

/** What a browser needs to make a new passkey. */
export interface Creation {
  readonly question: string;
  readonly challenge: string;
  readonly rp_id: string;
  readonly user: { readonly id: string; readonly name: string };
  /** COSE, in the order of preference. */
  readonly algorithms: readonly number[];
  /** Those of the holder that are known: an authenticator that has one makes no other. */
  readonly exclude: readonly string[];
  readonly expires_at: string;
}

/** A passkey that was made and not yet kept. */
export interface Registration {
  /** For the row: whose and which it is, and the touch that allowed it where the holder had one. */
  readonly about: string;
  /** Keeps it. @throws `conflict` where it is known, or the holder has got another meanwhile. */
  keep(): Promise<ListedPasskey>;
}

/** The passkeys of this host. */
export interface Passkeys {
  /** Those of the holder; all of them for who may do anything here. @throws `unavailable` for a broken file, as all below. */
  list(grant: Grant): ListedPasskey[];
  /** @throws `forbidden` with a question, where the holder has one already; without a code, where the first takes one; where a page has no name. */
  begin(label: string, caller: Asker, code?: string): Promise<Creation>;
  /** Reads what the browser made. @throws `forbidden` for an answer that does not count. */
  register(answer: NewPasskey & { readonly question: string }, caller: Asker): Promise<Registration>;
  /** A code for the first passkey of a holder. */
  invite(holder: string | null): string;
  /** The one to be removed, and the touch that allows it: empty for the owner on the host. @throws `not_found`; `forbidden`. */
  removable(id: string, caller: Asker): Promise<{ readonly passkey: ListedPasskey; readonly signed: string }>;
  /** @throws `not_found`. */
  remove(id: string): Promise<void>;
  /** Whether this server wants a passkey for it. */
  demands(what: Demand): boolean;
  /**
   * The yes that the request brings, for the row of what it allows: ` passkey=…`; empty where none is wanted.
   *
   * @throws `forbidden`, with the question in the field `passkey`, for a request without one; for an answer that does not count;
   *   `conflict` where something else was asked.
   */
  sign(what: Demand, wanted: Allowance, caller: Asker): Promise<string>;
}

/** What passkeys are made with. */
export interface PasskeysParts extends QuestionParts {
  readonly demands: Demands;
  /** Whether the first passkey of a holder takes a code. */
  readonly invites?: boolean;
}

/** The question whose answer is a new passkey. */
const CREATE = "passkeys.create";

export function createPasskeys(parts: PasskeysParts): Passkeys {
  const { store, demands } = parts;
  const invites = createInvites();
  const questions = createQuestions(parts);
  const demanded = (what: Demand): boolean =>
    typeof what === "string" ? demands[what] : what.plan > demands.plansBeyond;
  return {
    demands: demanded,
    list: (grant) =>
      store
        .entries()
        .filter((one) => isAdminHere(grant) || isOf(one, grant))
        .map(listed),
    sign: async (what, wanted, caller) => (demanded(what) ? questions.signed(wanted, caller) : ""),
    invite: invites.make,
    async begin(label, caller, code) {
      const { grant } = caller;
      const holder = holderIn(grant);
      const place = await questions.place(caller, "registering one");
      // Those of a former token of that name are no reason to ask whoever has the name now.
      const known = store.entries().filter((one) => isOf(one, grant));
      requireRoom(known);
      const isFirst = known.length === 0;
      if (isFirst && parts.invites && !(code !== undefined && invites.take(code, holder)))
        throw forbidden("a first passkey takes a code for you: `svc passkeys invite` on the host makes one");
      const wanted = { what: "passkeys.add", terms: { label }, words: "registering another one" };
      const signed = isFirst ? "" : await questions.signed(wanted, caller);
      const first = parts.invites ? "invitation" : "token";
      const terms = { label, allowed_by: isFirst ? first : credentialIn(signed) };
      const { statement, challenge } = questions.put(
        place,
        holder,
        { ...wanted, what: CREATE, terms },
        signed,
      );
      const here = known.filter(({ rp_id }) => rp_id === place.rpId);
      const name = holder ?? "the owner of the host";
      return {
        question: statement.question,
        challenge,
        rp_id: place.rpId,
        expires_at: statement.expires,
        // 32 bytes, the same for the same holder (WebAuthn section 5.4.3).
        user: { id: challengeOf(JSON.stringify([parts.host(), holder])), name },
        algorithms: ALGORITHMS,
        exclude: here.map(({ id }) => id),
      };
    },
    async register({ question: id, ...made }, { grant }) {
      const holder = holderIn(grant);
      const question = questions.take(id, holder);
      const { statement, rpId, signed } = question;
      if (statement.what !== CREATE) throw forbidden("question: expected that of a new passkey");
      const read = await readNew(made, question);
      const label = String(statement.terms.label);
      const created = new Date().toISOString();
      const allowed_by = String(statement.terms.allowed_by);
      const passkey: Passkey = { ...read, holder, label, rp_id: rpId, created, allowed_by };
      const by = signed === "" ? ` by=${allowed_by}` : signed;
      const about = `${whoText(passkey)} key=${await spkiOf(read.key)} label=${JSON.stringify(printable(label, 64))}${by}`;
      return { about, keep: () => keepPasskey(store, passkey, grant, signed !== "") };
    },
    async removable(id, caller) {
      const found = store.entries().find((one) => one.id === id);
      const maySee = found && (isAdminHere(caller.grant) || isOf(found, caller.grant));
      if (!maySee) throw unknownPasskey(id);
      const passkey = listed(found);
      // Whoever has the host has the file.
      if (!isRemote(caller) && isAdminHere(caller.grant)) return { passkey, signed: "" };
      if (!isOf(found, caller.grant))
        throw forbidden("this passkey is of somebody else: `svc passkeys remove` on the host removes it");
      const terms = { id, label: found.label };
      const wanted = { what: "passkeys.remove", terms, words: `removing ${found.label}` };
      return { passkey, signed: await questions.signed(wanted, caller) };
    },
    remove: (id) =>
      store.change((list) => {
        if (!list.remove(id)) throw unknownPasskey(id);
      }),
  };
}

/** The id of the passkey that has signed ` passkey=…`. */
const credentialIn = (signed: string) => verifyYes(signed.slice(" passkey=".length)).credential;

const unknownPasskey = (id: string) => notFound(`no passkey ${printable(id, 80)}: \`svc passkeys list\``);

/** @throws `conflict` where a holder has as many as may be. */
function requireRoom(own: readonly Passkey[]): void {
  if (own.length >= MAX_OF_HOLDER)
    throw conflict(`you have ${MAX_OF_HOLDER} passkeys, as many as may be: remove one first`);
}

function keepPasskey(
  store: JsonStore<Passkey>,
  passkey: Passkey,
  grant: Grant,
  isAllowed: boolean,
): Promise<ListedPasskey> {
  return store.change((list) => {
    if (list.has(passkey.id)) throw conflict("this passkey is registered already");
    if (list.entries.length >= MAX_PASSKEYS)
      throw busy(`there are already ${MAX_PASSKEYS} passkeys`, "conflict");
    const own = list.entries.filter((one) => isOf(one, grant));
    requireRoom(own);
    // Two that are begun together are not both the first.
    if (!isAllowed && own.length > 0)
      throw conflict("you have registered another one meanwhile: begin again");
    list.add(passkey);
    return listed(passkey);
  });
}
