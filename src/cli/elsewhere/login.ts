/** What is settled before a desk elsewhere gets a token: its address, and by what it is known. */
import { remoteMessage } from "../../client/carrier";
import { certificateAt } from "../../client/dial";
import { badInput, unavailable } from "../../lib/errors";
import { isLoopback } from "../../lib/loopback";
import { printable } from "../../lib/sanitize";
import { hasPin, spkiPin } from "../../lib/spki";

/** How long the desk may take to show its certificate, in milliseconds. */
const LOOK_MS = 10_000;

/** The address as it is kept: without a slash at its end. @throws `bad_input` for what is none. */
export function baseUrl(text: string): string {
  const url = URL.parse(text);
  const isAddress = url !== null && /^https?:$/.test(url.protocol) && !url.search && !url.hash;
  // An address with an @ may hold a password.
  const shown = text.includes("@") ? "…@…" : printable(text.replace(/\?.*/s, "?…"), 200);
  if (!isAddress || url.username || url.password)
    throw badInput(`url: expected an http or https address without credentials or query but found ${shown}`);
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

interface DeskTrust {
  /** Null where the usual authorities vouch for it, and for http. */
  readonly pin: string | null;
  /** The same, for a person. */
  readonly words: string;
}

interface Wishes {
  readonly pin?: string | undefined;
  readonly trust_first?: boolean | undefined;
  readonly insecure_http?: boolean | undefined;
}

/**
 * By what the desk at `url` is known from now on. No token is sent before.
 *
 * @param confirm asks a person about a pin that nobody vouches for; throws where it is refused.
 * @throws `bad_input` for http beyond this machine; `unavailable` where it shows no certificate, or another than that of the pin.
 */
export async function settleDesk(
  url: string,
  { pin, trust_first, insecure_http }: Wishes,
  confirm: (pin: string, why: string) => Promise<void>,
): Promise<DeskTrust> {
  const { protocol, hostname } = new URL(url);
  if (trust_first && pin !== undefined) throw badInput("trust_first: expected without pin");
  if (protocol === "http:") {
    if (pin !== undefined) throw badInput("pin: expected with an https address only");
    if (!insecure_http && !isLoopback(hostname))
      throw badInput(`insecure_http: expected for ${url}: others can read what http carries, the token too`);
    return { pin: null, words: "not encrypted" };
  }
  const shown = await certificateAt(url, { kind: "any" }, LOOK_MS).catch((error) => {
    throw unavailable(`${url}: ${remoteMessage(error)}`);
  });
  const shownPin = spkiPin(shown);
  if (pin !== undefined) {
    if (hasPin(shown, pin)) return { pin, words: `pin: ${pin}` };
    throw unavailable(`pin: ${url} shows ${shownPin}: it is not the desk, or its key was exchanged`);
  }
  if (!trust_first) {
    const why = await certificateAt(url, { kind: "system" }, LOOK_MS).then(() => undefined, remoteMessage);
    if (why === undefined) return { pin: null, words: "known by the usual authorities" };
    await confirm(shownPin, `${url}: ${why}`);
  }
  return { pin: shownPin, words: `pin: ${shownPin}` };
}
