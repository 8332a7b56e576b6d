/**
 * A host of the address book as listings have it: without its token.
 */
import * as v from "valibot";
import { type Host, TRUST, trustOf } from "./host";

/** A host in a listing. */
export const LISTED_HOST = v.object({
  label: v.string(),
  base_url: v.string(),
  tags: v.array(v.string()),
  /** What makes sure that it is the host which answers. */
  trust: v.picklist(TRUST),
  pin: v.nullable(v.string()),
  /** The pin of the key that the host has announced as its next one. */
  next_pin: v.nullable(v.string()),
  /** The scopes that this desk has there, as the host has said last; null where it has not. */
  allows: v.nullable(v.array(v.string())),
});

/** The host as it is listed. */
export function toListed(host: Host): v.InferInput<typeof LISTED_HOST> {
  const { label, base_url, tags, pin = null, next_pin = null, rights } = host;
  return { label, base_url, tags, trust: trustOf(host), pin, next_pin, allows: rights?.allows ?? null };
}
