/**
 * The desks elsewhere that this user has logged in to: `{config_dir}/logins.json`, private, with the promises of `lib/json-store.ts`.
 */
import * as v from "valibot";
import type { RemoteServer } from "../../client/carrier";
import { notFound } from "../../lib/errors";
import { createJsonStore, type ListFormat } from "../../lib/json-store";
import type { Log } from "../../lib/log";
import { configFiles } from "../../lib/paths";
import { printable } from "../../lib/sanitize";
import { parsePin } from "../../lib/spki";

/** A name that needs no quotes in a shell. */
export const DESK_NAME = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "1 to 64 letters, digits, dots, dashes or underscores"),
);

export const DESK_PIN = v.pipe(
  v.string(),
  v.check((text) => parsePin(text) !== undefined, "a pin as `svc pin` prints it there"),
  v.transform((text) => parsePin(text) ?? text),
);

const LOGIN = v.object({
  name: DESK_NAME,
  url: v.pipe(v.string(), v.regex(/^https?:\/\//)),
  /** Visible ASCII, as a header can hold. */
  token: v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,512}$/)),
  /** The pin of its certificate; null where the usual authorities vouch for it, and for http. */
  pin: v.nullable(DESK_PIN),
  /** Who the token is to the desk; null for the desk's own. */
  token_name: v.nullable(v.string()),
  /** When the token ends, ISO 8601; null for never. */
  expires: v.nullable(v.string()),
});

/** A desk elsewhere, and the token with which this user asks it. */
export type Login = v.InferOutput<typeof LOGIN>;

const FORMAT: ListFormat<Login> = {
  what: "a list of desks",
  list: "desks",
  key: "name",
  parse(value) {
    const checked = v.safeParse(LOGIN, value);
    // What is wrong may be the token.
    return checked.success
      ? { entry: checked.output }
      : { fault: `${checked.issues[0] && v.getDotPath(checked.issues[0])}` };
  },
};

/** The desks in `configDir`. Each method throws `unavailable` where the file cannot be read or is broken. */
export function loginsIn(configDir: string, log: Log) {
  const { logins: file, loginsLock: lock } = configFiles(configDir);
  const store = createJsonStore<Login>({ file, lock, ...FORMAT }, log);
  return {
    all: store.entries,
    /** @throws `not_found` where there is none of that name. */
    named(name: string): Login {
      const all = store.entries();
      const found = all.find((one) => one.name === name);
      if (found) return found;
      const known = all.map((one) => one.name).join(", ");
      throw notFound(
        `no desk is named ${printable(name, 80)}: ${known === "" ? "`svc login URL` logs in to one" : `expected ${printable(known, 300)}, or \`svc login URL --name NAME\` first`}`,
      );
    },
    /** Keeps `login`, in place of one of its name. */
    keep: (login: Login): Promise<void> =>
      store.change((entries) => {
        entries.remove(login.name);
        entries.add(login);
      }),
    /** @returns whether there was one. */
    forget: (name: string): Promise<boolean> => store.change((entries) => entries.remove(name)),
  };
}

/** The server of a desk. */
export const serverOf = ({ url, token, pin }: Pick<Login, "url" | "token" | "pin">): RemoteServer => ({
  url,
  token,
  trust: pin === null ? { kind: "system" } : { kind: "pin", pins: [pin] },
});
