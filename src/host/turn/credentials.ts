/**
 * Time-limited credentials (draft-uberti-behave-turn-rest-00), as coturn checks them under `use-auth-secret`.
 */
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { badInput, notFound, systemCode } from "../../lib/errors";
import { userFault } from "./settings";

/**
 * The credentials of a client for `ttlSeconds` from `now` on.
 *
 * @throws a `bad_input` failure for a user name that coturn would read differently.
 */
export function timeLimitedCredentials(secret: string, user: string, ttlSeconds: number, now: Date) {
  const fault = userFault(user);
  if (fault !== undefined) throw badInput(fault);
  const expiry = Math.floor(now.getTime() / 1_000) + ttlSeconds;
  const username = `${expiry}:${user}`;
  return {
    username,
    password: createHmac("sha1", secret).update(username).digest("base64"),
    expires_at: new Date(expiry * 1_000).toISOString(),
  };
}

/**
 * The signing secret of the bundle at `folder`.
 *
 * @throws a `not_found` failure when there is no bundle, or it was not made with --auth-secret.
 */
export function secretOfBundle(folder: string): string {
  const file = join(folder, "turnserver.conf");
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw notFound(`${file} cannot be read (${systemCode(error)}): expected --secret or --output-dir`);
  }
  const [, value] = /^static-auth-secret=(.*)$/m.exec(text) ?? [];
  if (!value) throw notFound(`${file} has no static-auth-secret: make the bundle with --auth-secret`);
  return value.startsWith('"') ? value.slice(1, -1) : value;
}
