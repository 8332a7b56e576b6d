/** A person who logs in to a desk signs in at its provider, where it has one. */
import { RemoteError } from "../../client/carrier";
import { failureIn } from "../../client/remote-call";
import { providerOf, type Session, signInInBrowser, signInOnDevice } from "../../client/sign-in";
import { badInput, unavailable } from "../../lib/errors";
import { openInBrowser } from "../../lib/open-browser";
import { printable } from "../../lib/sanitize";
import { isConfirmed } from "../confirm";
import { writeErr } from "../output";
import { type Login, serverOf } from "./logins";

/** `asks`: the person, where the desk has a provider. */
export type SignInWay = "browser" | "device" | "asks" | "never";

const say = (text: string) => writeErr(`${text}\n`);

/**
 * The session of who signs in; undefined for a token.
 *
 * @throws `bad_input` where a person is to sign in and the desk has no provider; why signing in failed.
 */
export async function askPerson(
  desk: Pick<Login, "url" | "pin">,
  way: SignInWay,
): Promise<Session | undefined> {
  if (way === "never") return undefined;
  const server = serverOf({ ...desk, token: "-" });
  try {
    // A desk of before has no such route.
    const issuer = await providerOf(server).catch((error) => {
      if (way === "asks") return null;
      throw error;
    });
    if (issuer === null) {
      if (way === "asks") return undefined;
      throw badInput(
        `nobody signs in at ${desk.url}: it has no provider; \`svc token add\` there makes a token`,
      );
    }
    const host = printable(new URL(issuer).host, 130);
    if (way === "asks" && !(await isConfirmed(`Sign in at ${host}? (no: with a token)`))) return undefined;
    if (way === "device") {
      return await signInOnDevice(server, ({ address, code, whole }) =>
        say(`Open ${printable(whole ?? address, 500)} and sign in; the code is ${printable(code, 50)}`),
      );
    }
    return await signInInBrowser(server, async (address, code) => {
      say(
        `Sign in at ${host}, in the browser that opens now. If none does, open\n  ${printable(address, 600)}\nThe page shows ${code} then: go on there if it does`,
      );
      await openInBrowser(address);
    });
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    throw failureIn(error) ?? unavailable(`${desk.url}: ${printable(error.message, 300)}`);
  }
}
