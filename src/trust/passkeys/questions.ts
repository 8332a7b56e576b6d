/**
 * Questions to a person with a passkey, and their answers.
 *
 * The promise: a question is about terms that do not change, is put to one holder at one address, and has one answer within its time,
 * right or wrong. A yes that counts can be checked later by whoever has its row.
 */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { type Grant, holderOf, isAdminHere } from "../../core/rights";
import { badInput, conflict, type Failure, forbidden } from "../../lib/errors";
import { createFairMap } from "../../lib/fair-map";
import type { JsonStore } from "../../lib/json-store";
import { valueIn } from "../../lib/value-in";
import { bytesText, CREDENTIAL_ID } from "./bytes";
import { type Place, placeOf, type Reach } from "./place";
import { isOf, type Passkey } from "./store";
import { readTouch, spkiOf } from "./webauthn";
import { challengeOf, keptText, type Statement, statementText, type Terms, verifyYes } from "./yes";

/** How long a person may take to answer, in milliseconds. */
const ANSWER_MS = 300_000;

/** How many questions wait at once, of all holders. */
const MAX_QUESTIONS = 512;

/** The header of a request that brings an answer: JSON in base64url. */
const ANSWER_HEADER = "svc-passkey";

const ANSWER = v.strictObject({
  question: bytesText(64),
  id: CREDENTIAL_ID,
  authenticator_data: bytesText(8_192),
  client_data: bytesText(8_192),
  signature: bytesText(2_048),
});

/** What is to be allowed. */
export interface Allowance {
  /** The operation that goes on with a yes. */
  readonly what: string;
  readonly terms: Terms;
  /** In a few words, as the beginning of a sentence: `allowing 9f1c2e4a`. */
  readonly words: string;
  /** When it is over in any case, ISO 8601. */
  readonly until?: string | undefined;
}

/** Who asks, and with which request. */
export type Asker = Pick<Caller, "grant" | "kind" | "request">;

/** A question that waits for its answer. */
export interface Question extends Place {
  readonly statement: Statement;
  readonly challenge: string;
  /** By the monotonic clock. */
  readonly until: number;
  /** The touch that allowed a new passkey, as a row has it; empty for any other question. */
  readonly signed: string;
}

/** What questions are made with. */
export interface QuestionParts {
  readonly store: JsonStore<Passkey>;
  /** This server as a URI. */
  host(): string;
  reach(): Promise<Reach>;
}

/** The questions of a process. */
export interface Questions {
  /** Where the page of a request is. @throws `forbidden` where passkeys do not work there. */
  place(caller: Asker, words: string): Promise<Place>;
  put(place: Place, holder: string | null, wanted: Allowance, signed?: string): Question;
  /** The question of that id, which is over with that. @throws `forbidden` for none to this holder, and after its time. */
  take(id: string, holder: string | null): Question;
  /**
   * The yes that a request brings, for the row of what it allows: ` passkey=…`.
   *
   * @throws `forbidden`, with the question in the field `passkey`, for a request without one; for an answer that does not count;
   *   `conflict` where something else was asked.
   */
  signed(wanted: Allowance, caller: Asker): Promise<string>;
}

export function createQuestions(parts: QuestionParts): Questions {
  const { store } = parts;
  const waiting = createFairMap<string, Question>(MAX_QUESTIONS);
  const place: Questions["place"] = async (caller, words) => {
    const found = placeOf(caller, await parts.reach());
    if ("why" in found) throw forbidden(`${words} needs a passkey: ${found.why}`, { passkey: null });
    return found;
  };
  const put: Questions["put"] = (at, holder, { what, terms, until }, signed = "") => {
    const now = Date.now();
    const left = until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until) - now;
    const ms = Math.min(ANSWER_MS, left);
    const id = randomText();
    const statement: Statement = {
      svc: "passkey yes",
      version: 1,
      host: parts.host(),
      question: id,
      holder,
      rp_id: at.rpId,
      expires: new Date(now + ms).toISOString(),
      what,
      terms: { ...terms },
    };
    const challenge = challengeOf(statementText(statement));
    const question: Question = { ...at, statement, challenge, until: performance.now() + ms, signed };
    waiting.put(holder, id, question);
    return question;
  };
  const take: Questions["take"] = (id, holder) => {
    const found = waiting.find(id);
    if (!found || found.statement.holder !== holder)
      throw forbidden("passkey: this was not asked, or has been answered: try again");
    waiting.remove(id);
    if (performance.now() < found.until) return found;
    throw forbidden(`passkey: expected an answer by ${found.statement.expires}: try again`);
  };
  const ask = async (wanted: Allowance, caller: Asker): Promise<Failure> => {
    const at = await place(caller, wanted.words);
    const own = store.entries().filter((one) => isOf(one, caller.grant));
    const here = own.filter(({ rp_id }) => rp_id === at.rpId);
    if (here.length === 0)
      return forbidden(`${wanted.words} needs a passkey: ${noneWords(own, at)}`, { passkey: null });
    const { statement, challenge } = put(at, holderIn(caller.grant), wanted);
    return forbidden(`${wanted.words} needs a touch of your passkey`, {
      passkey: {
        question: statement.question,
        challenge,
        rp_id: at.rpId,
        expires_at: statement.expires,
        credentials: here.map(({ id, transports }) => ({ id, transports })),
        text: statementText(statement),
      },
    });
  };
  return {
    place,
    put,
    take,
    async signed(wanted, caller) {
      const holder = holderIn(caller.grant);
      const header = caller.request?.headers?.get(ANSWER_HEADER);
      if (!header) throw await ask(wanted, caller);
      const { question: id, ...touch } = answerIn(header);
      return ` passkey=${await checked(store, take(id, holder), touch, wanted, caller.grant)}`;
    },
  };
}

/** The answer to a question, as it is kept. @throws as `Questions.signed`. */
async function checked(
  store: JsonStore<Passkey>,
  question: Question,
  touch: Omit<v.InferOutput<typeof ANSWER>, "question">,
  { what, terms }: Allowance,
  grant: Grant,
): Promise<string> {
  const { statement, rpId } = question;
  if (JSON.stringify([statement.what, statement.terms]) !== JSON.stringify([what, terms]))
    throw conflict("passkey: what is to be allowed is not what you were asked: look at it again");
  const passkey = store.entries().find((one) => one.id === touch.id && isOf(one, grant));
  if (passkey?.rp_id !== rpId) throw forbidden("passkey: expected one of yours for this address");
  const counter = await readTouch(touch, passkey, question);
  const { id: credential, ...answer } = touch;
  const kept = keptText({
    ...answer,
    credential,
    key: await spkiOf(passkey.key),
    text: statementText(statement),
  });
  // What could not be checked later does not count now.
  verifyYes(kept);
  await noteUse(store, passkey.id, counter);
  return kept;
}

/** Whose passkeys a grant may register and use. @throws `forbidden` for one that is less than its name. */
export function holderIn(grant: Grant): string | null {
  // The owner's token, and no agent or run that has a part of what it allows.
  const isWhole = !grant.limited && !grant.owner && (grant.name !== null || isAdminHere(grant));
  if (isWhole) return holderOf(grant.name);
  throw forbidden("a passkey is of a person or a token: no agent has one, and no run with a scope");
}

const noneWords = (own: readonly Passkey[], { rpId }: Place): string =>
  own.length === 0
    ? "register one first, on the page Approvals of the dashboard"
    : `yours are for ${[...new Set(own.map(({ rp_id }) => rp_id))].join(", ")}, and this page is at ${rpId}`;

/** 128 random bits in base64url. */
const randomText = () => Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64url");

/** @throws `bad_input` for what is no answer. */
function answerIn(header: string): v.InferOutput<typeof ANSWER> {
  const answer = valueIn(ANSWER, Buffer.from(header, "base64url").toString());
  if (answer) return answer;
  throw badInput(`${ANSWER_HEADER}: expected the answer of a passkey, as JSON in base64url`);
}

/** @throws `forbidden` where it was removed or used meanwhile. */
async function noteUse(store: JsonStore<Passkey>, id: string, counter: number): Promise<void> {
  const used = new Date().toISOString();
  await store.change((list) => {
    const now = list.entries.find((one) => one.id === id);
    if (!now) throw forbidden("passkey: it was removed meanwhile");
    // Synced passkeys do not count.
    const isOld = (counter > 0 || now.counter > 0) && counter <= now.counter;
    if (isOld) throw forbidden("passkey: its counter did not go on, as that of a copy would not: remove it");
    list.update(id, { counter, used });
  });
}
