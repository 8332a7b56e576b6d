/**
 * The webhooks of a host: `{config_dir}/webhooks.json`, private to its owner. Each has the secret with which its deliveries are signed.
 */
import { isIP } from "node:net";
import * as v from "valibot";
import { NAME_TEXT } from "../../core/rights";
import { badInput, busy, notFound } from "../../lib/errors";
import { createJsonStore, parseBy } from "../../lib/json-store";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import { isPublic } from "./addresses";
import { FORMS } from "./forms";

/** The most webhooks of a host. */
const MAX_HOOKS = 20;

/** The size of a secret, in bytes: Standard Webhooks asks for 24 to 64. */
const SECRET_BYTES = 32;

const HOOK = v.object({
  name: NAME_TEXT,
  url: v.pipe(v.string(), v.url()),
  /** Names of types of events, also `run.*`; empty: all. */
  types: v.array(v.string()),
  /** Whether it may be at an address that only this host or its network reaches. */
  allow_private: v.boolean(),
  /** `whsec_` and base64. */
  secret: v.pipe(v.string(), v.regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/)),
  /** In which form events are posted; svc of before knows one form. */
  format: v.optional(v.picklist(FORMS), "standard"),
  added: v.pipe(v.string(), v.isoTimestamp()),
  /** The token that added it; null: the owner of the host. */
  token: v.optional(v.nullable(v.string()), null),
  /** Why nothing is delivered to it any more. */
  disabled: v.optional(v.string()),
});

export type Hook = v.InferOutput<typeof HOOK>;

/** The list of webhooks. All of it throws `unavailable` when the file is broken or cannot be read. */
export interface Hooks {
  list(): readonly Hook[];
  /** Whether somebody has removed it: false also for one whose entry is not valid. */
  isGone(name: string): boolean;
  /** @throws `not_found` for an unknown name. */
  get(name: string): Hook;
  /** Makes its secret. @throws `conflict` for a name that is taken, and when there are {@link MAX_HOOKS}. */
  add(
    given: Omit<Hook, "secret" | "added" | "disabled" | "format"> & Partial<Pick<Hook, "format">>,
  ): Promise<Hook>;
  /** @throws `not_found` for an unknown name. */
  remove(name: string): Promise<void>;
  disable(name: string, why: string): Promise<void>;
  enable(name: string): Promise<void>;
}

export function createHooks(place: { readonly file: string; readonly lock: string }, log: Log): Hooks {
  const store = createJsonStore<Hook>(
    { ...place, what: "a list of webhooks", list: "webhooks", key: "name", parse: parseBy(HOOK) },
    log,
  );
  return {
    list: () => store.entries(),
    isGone: store.isGone,
    get(name) {
      const found = store.entries().find((hook) => hook.name === name);
      if (!found) throw unknown(name);
      return found;
    },
    add: (given) =>
      store.change((list) => {
        if (list.names.length >= MAX_HOOKS)
          throw busy(`there are ${MAX_HOOKS} webhooks, which is the limit`, "conflict");
        const random = Buffer.from(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
        const secret = `whsec_${random.toString("base64")}`;
        const hook = { format: "standard" as const, ...given, secret, added: new Date().toISOString() };
        list.add(hook);
        return hook;
      }),
    remove: (name) =>
      store.change((list) => {
        if (!list.remove(name)) throw unknown(name);
      }),
    disable: (name, why) => store.change((list) => void list.update(name, { disabled: why })),
    enable: (name) => store.change((list) => void list.update(name, { disabled: undefined })),
  };
}

const unknown = (name: string) => notFound(`no webhook is named ${printable(name, 64)}`);

/**
 * The address of a receiver.
 *
 * @throws `bad_input` for what is no https address; http is one only together with `allow_private`.
 */
export function receiverUrl(text: string, allow_private: boolean): string {
  const url = URL.parse(text);
  const isHttp = url?.protocol === "http:";
  if (!url || !(isHttp || url.protocol === "https:") || url.hostname === "")
    throw badInput("url: expected an https address");
  if (url.username || url.password) throw badInput("url: expected an address without a user and a password");
  if (isHttp && !allow_private)
    throw badInput("url: expected https; http needs --allow-private, as it is not encrypted");
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const isOwn = /(^|\.)localhost\.?$/i.test(host);
  if (!allow_private && (isOwn || (isIP(host) && !isPublic(host))))
    throw badInput("url: expected a public address; --allow-private is for this host and its network");
  url.hash = "";
  return url.href;
}
