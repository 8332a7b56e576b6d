/**
 * Whether a host may be in the address book as it is, asked when its address or its trust is set.
 *
 * Entries of older files stay usable without: `diagnose` reports those that are not encrypted.
 */
import * as v from "valibot";
import { RemoteError, remoteMessage } from "../../client/carrier";
import { flag } from "../../core/fields";
import { badInput, type Failure, unavailable } from "../../lib/errors";
import { spkiPin } from "../../lib/spki";
import { type Host, linkedHost, serverOf, trustOf } from "./host";

/** How long the host may take to show its certificate, in milliseconds. */
const LOOK_MS = 3_000;

export const INSECURE_HTTP = flag(
  "Accept plain http beyond this machine: others can read and change all of it",
);

export const SETTLING_FIELDS = {
  trust_first: flag("Pin the key that the host shows now; compare it with what `svc pin` prints there"),
  insecure_http: INSECURE_HTTP,
};

const SETTLING = v.object(SETTLING_FIELDS);

/** For a host that is added. */
export const UNCHECKED = flag(
  "Add a host with `ca` or `pin` though nobody has asked it whether they and its token are right",
);

/**
 * `host` as it is stored: with the pin of the key that it shows now, where `trust_first` asks for it.
 *
 * @throws a `bad_input` failure for http beyond this machine without `insecure_http`, and for an https host that is there,
 *   has a certificate of no usual authority, and comes without `pin` and `ca`; `unavailable` when `trust_first` finds no key.
 */
export async function settleTrust(
  host: Host,
  { trust_first, insecure_http }: v.InferOutput<typeof SETTLING>,
): Promise<Host> {
  const { base_url, ca, pin } = host;
  if (trust_first && (ca ?? pin) !== undefined) throw badInput("trust_first: expected without ca and pin");
  const isPlain = base_url.startsWith("http:");
  if (isPlain || linkedHost(base_url) !== undefined) {
    if (trust_first) throw badInput("trust_first: expected with an https address only");
    if (isPlain && !insecure_http) requireEncryption([host]);
    return host;
  }
  if (trust_first) return { ...host, pin: await shownPin(base_url).catch(noPin) };
  if ((ca ?? pin) !== undefined) return host;
  const shown = await shownPin(base_url).catch(unlessDown);
  const fault = shown && (await faultOf(base_url));
  if (!fault) return host;
  throw badInput(
    `pin: missing: ${fault}. The pin of ${base_url} seems to be ${shown}: compare it with what \`svc pin\` prints on that host, then give it`,
  );
}

/** @throws a `bad_input` failure that names those of `hosts` that speak http across a network. */
export function requireEncryption(hosts: readonly Host[]): void {
  const plain = hosts.filter((host) => trustOf(host) === "nothing").map(({ base_url }) => base_url);
  if (plain.length === 0) return;
  const more = plain.length > 3 ? ` and ${plain.length - 3} more` : "";
  const named = `${plain.slice(0, 3).join(", ")}${more}`;
  throw badInput(
    `insecure_http: expected for ${named}: others can read and change what http carries, the token too. Use https`,
  );
}

/** Loaded on first use: the modules for dialling are large. */
const certificateOf = async (url: string, kind: "any" | "system") =>
  (await import("../../client/dial")).certificateAt(url, { kind }, LOOK_MS);

const shownPin = async (url: string) => spkiPin(await certificateOf(url, "any"));

/** Why the usual authorities do not vouch for the host; undefined when they do. */
const faultOf = (url: string) => certificateOf(url, "system").then(() => undefined, remoteMessage);

function unlessDown(error: unknown): undefined {
  remoteMessage(error);
}

function noPin(error: unknown): never {
  throw unavailable(`trust_first: no key to pin: ${remoteMessage(error)}`);
}

/** How long the host may take to answer with its pin and token, in milliseconds, and the largest answer. */
const ANSWER_MS = 5_000;
const MAX_ANSWER_BYTES = 1_048_576;

const UNASKED = "--unchecked (`unchecked`) adds it all the same";

/**
 * Asks the host whether its pin, or its authority, and its token are right.
 *
 * @throws `bad_input` where they are not, `unavailable` where it does not answer.
 */
export async function requireAnswer(host: Host): Promise<void> {
  const [{ deadlineIn }, { carrierTo }, { typed }, { SESSIONS_ANSWER }] = await Promise.all([
    import("../../client/carrier"),
    import("../../client/connection"),
    import("../../client/remote-call"),
    import("./results"),
  ]);
  try {
    using carrier = await carrierTo(serverOf(host));
    const limits = { deadline: deadlineIn(ANSWER_MS), maxBytes: MAX_ANSWER_BYTES };
    typed(SESSIONS_ANSWER, await carrier.ask({ method: "GET", path: "/sessions" }, limits));
  } catch (error) {
    // A 403 is about what the token allows: the host has taken it.
    if (error instanceof RemoteError && error.refusal?.status === 403) return;
    throw await refusalOf(host, remoteMessage(error), error instanceof RemoteError && error.fault);
  }
}

/** Why the host is not added. */
async function refusalOf({ base_url, pin }: Host, said: string, fault: unknown): Promise<Failure> {
  if (fault === "unauthorized") return badInput(`token: ${base_url} refuses it (${said}); ${UNASKED}`);
  if (!said.startsWith("the ")) return unavailable(`${base_url}: ${said}; ${UNASKED}`);
  if (pin === undefined) return badInput(`ca: ${base_url}: ${said}; ${UNASKED}`);
  const shown = await shownPin(base_url).catch(unlessDown);
  return badInput(`pin: ${base_url}: ${said}: it shows ${shown ?? "none"}; ${UNASKED}`);
}
