import * as v from "valibot";
import { field, flag, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { NAME_TEXT } from "../../core/rights";
import { FORMS } from "./forms";
import type { Hook } from "./hooks";
import type { Webhooks } from "./webhooks";

interface Uses {
  webhooks(): Promise<Webhooks>;
  /** The names of the types of events that `types` means. @throws `bad_input` for what means none. */
  eventNames(types: readonly string[]): Promise<ReadonlySet<string>>;
}

const NAME = field(NAME_TEXT, "The name of the webhook");
const leftOut = { script: "it would go on after its run, for whoever wrote the script" };

const SHOWN = {
  name: v.string(),
  url: v.string(),
  /** Names of types, also `run.*`; empty: all. */
  types: v.array(v.string()),
  allow_private: v.boolean(),
  /** In which form events are posted. */
  format: v.picklist(FORMS),
  /** The token that added it, with which it ends; null: the owner of the host. */
  token: v.optional(v.nullable(v.string()), null),
};

/** How deliveries to one webhook went. */
const TALLY = {
  delivered: v.number(),
  /** Given up, or refused for good. */
  failed: v.number(),
  /** Left out because too many waited. */
  dropped: v.number(),
  /** The last attempt: when, of which type, what the receiver answered, and why it failed. */
  last_at: v.nullable(v.string()),
  last_type: v.nullable(v.string()),
  last_status: v.nullable(v.number()),
  last_error: v.nullable(v.string()),
};

export type Tally = { readonly [K in keyof typeof TALLY]: v.InferOutput<(typeof TALLY)[K]> };

const shown = ({ name, url, types, allow_private, format, token }: Hook) => {
  return { name, url, types, allow_private, format, token };
};

/** Who sees the path of an address may post there. */
const originOf = (url: string) => new URL(url).origin;

export const addWebhook = operation({
  name: "webhook.add",
  summary: "Post events of this host to an address",
  scope: "admin",
  changes: "announces",
  leftOut,
  answeredBy: "owner",
  http: { method: "POST", path: "/webhooks/add" },
  example: { name: "chat", url: "https://chat.example/hooks/7", types: ["run.ended"] },
  input: v.strictObject({
    name: NAME,
    url: field(v.pipe(v.string(), v.maxLength(2_000)), "Where to post: an https address"),
    types: field(
      v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(200))), v.maxLength(100)), []),
      "Types of events, also `run.*` (default: all)",
    ),
    allow_private: flag("Also an address of this host or its network, and http"),
    format: field(
      v.optional(v.picklist(FORMS), "standard"),
      "How an event is posted: as Standard Webhooks says, or as a CloudEvent; both are signed",
    ),
  }),
  output: v.object({
    ...SHOWN,
    /** Signs each delivery: the receiver checks that with it. It is not shown again. */
    secret: secret(v.string()),
  }),
  async run(service: Uses, { name, url, types: asked, allow_private, format }, caller) {
    const types = asked.flatMap((text) => text.split(",")).map((text) => text.trim());
    const { receiverUrl } = await import("./hooks");
    const receiver = receiverUrl(url, allow_private);
    await service.eventNames(types);
    const about = `url=${originOf(receiver)} types=${types.join() || "all"} allow_private=${allow_private} format=${format}`;
    await caller.announce(`webhook.add name=${name} ${about}`);
    const webhooks = await service.webhooks();
    const hook = await webhooks.hooks.add({
      name,
      url: receiver,
      types,
      allow_private,
      format,
      token: caller.grant.name,
    });
    // Deliveries to an earlier webhook of this name.
    webhooks.forget(name);
    webhooks.start();
    return { ...shown(hook), secret: hook.secret };
  },
});

export const listWebhooks = operation({
  name: "webhook.list",
  summary: "List the webhooks, and how their deliveries went",
  scope: "admin",
  leftOut,
  answeredBy: "server or here",
  http: { method: "GET", path: "/webhooks" },
  input: NO_INPUT,
  output: v.object({
    webhooks: v.array(
      v.object({
        ...SHOWN,
        added: v.string(),
        /** Why nothing is delivered to it; null while something is. */
        disabled: v.nullable(v.string()),
        /** How many deliveries wait. */
        waiting: v.number(),
        ...TALLY,
      }),
    ),
  }),
  async run(service: Uses) {
    const webhooks = await service.webhooks();
    const listed = webhooks.hooks.list().map((hook) => {
      const { added, disabled = null } = hook;
      return { ...shown(hook), added, disabled, ...webhooks.stateOf(hook.name) };
    });
    return { webhooks: listed };
  },
});

export const removeWebhook = operation({
  name: "webhook.remove",
  summary: "Remove a webhook, and drop what waits for it",
  scope: "admin",
  changes: true,
  leftOut,
  answeredBy: "owner",
  http: { method: "POST", path: "/webhooks/remove" },
  input: v.strictObject({ name: NAME }),
  output: v.object({ removed: v.string() }),
  async run(service: Uses, { name }) {
    const webhooks = await service.webhooks();
    await webhooks.hooks.remove(name);
    webhooks.forget(name);
    return { removed: name };
  },
});

export const testWebhook = operation({
  name: "webhook.test",
  summary: "Post a message of the type webhook.test to a webhook, once",
  scope: "admin",
  changes: true,
  leftOut,
  answeredBy: "server or here",
  http: { method: "POST", path: "/webhooks/test" },
  input: v.strictObject({ name: NAME }),
  output: v.object({
    name: v.string(),
    ok: v.boolean(),
    /** What the receiver answered; null without an answer. */
    status: v.nullable(v.number()),
    error: v.nullable(v.string()),
    duration_ms: v.number(),
  }),
  async run(service: Uses, { name }, { signal }) {
    const webhooks = await service.webhooks();
    const { ok, status, error, duration_ms } = await webhooks.test(webhooks.hooks.get(name), signal);
    return { name, ok, status, error, duration_ms };
  },
});

export const operations = [addWebhook, listWebhooks, removeWebhook, testWebhook];
