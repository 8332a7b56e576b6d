/** The events of tokens: names and scopes, never a token. */
import * as v from "valibot";
import { eventType } from "../core/events";
import { SCOPE } from "../core/rights";

const data = v.object({
  name: v.string(),
  scopes: v.array(SCOPE),
  /** When it ends, ISO 8601; null: never. */
  expires: v.nullable(v.string()),
});

export const tokenAdded = eventType({
  name: "token.added",
  summary: "A named token was added",
  scope: "admin",
  data,
});

export const tokenChanged = eventType({
  name: "token.changed",
  summary: "A named token was replaced by another, or an old one of it ended",
  scope: "admin",
  data,
});

export const tokenRemoved = eventType({
  name: "token.removed",
  summary: "A named token was revoked",
  scope: "admin",
  data: v.object({ name: v.string() }),
});

export const eventTypes = [tokenAdded, tokenChanged, tokenRemoved];
