/** Passkeys over HTTP, as a page at `localhost` uses them. */
import type { Creation } from "../../../src/trust/passkeys/passkeys";
import { caller, post } from "../../support";
import { createAuthenticator, type Question } from "./authenticator";

/** Somebody with a token and a registered security key, at the server of `url`. */
export async function holder(url: string, token: string) {
  const origin = url.replace("127.0.0.1", "localhost");
  const call = caller(origin, token);
  const key = await createAuthenticator();
  const begun = (await (await call("/passkeys/begin", post({ label: "key" }))).json()) as Creation;
  const made = await call("/passkeys/add", post(await key.create(begun, { origin })));
  if (!made.ok) throw new Error(await made.text());
  /** Sends a request, which is refused with a question. */
  const asked = async (path: string, body: unknown): Promise<Question> => {
    const refused = await call(path, post(body));
    const { passkey } = (await refused.json()) as { passkey: Question };
    if (refused.status !== 403 || !passkey)
      throw new Error(`expected a question, but found ${refused.status}`);
    return passkey;
  };
  const answer = (path: string, body: unknown, header: string) => {
    const init = post(body);
    return call(path, { ...init, headers: { ...init.headers, "svc-passkey": header } });
  };
  return {
    ...{ call, key, asked, answer, origin },
    /** Sends a request, and again with a touch. */
    async signed(path: string, body: unknown): Promise<Response> {
      return answer(path, body, await key.touch(await asked(path, body), { origin }));
    },
  };
}
