/**
 * Taking what another process of the owner of this host hands over (`hand-over.ts`).
 */
import * as v from "valibot";
import type { EventType } from "../core/events";
import { badInput } from "../lib/errors";
import type { Bus } from "./bus";
import type { HandedOver } from "./hand-over";

/** How far back the time of an event may be, in milliseconds, and how far ahead: clocks are set. */
const MAX_AGE_MS = 60_000;
const MAX_AHEAD_MS = 1_000;

/**
 * Publishes here what happened in another process of the same owner. What its version has and this one has not is left out.
 *
 * @throws `bad_input` for data that is not of its type; then nothing is published.
 */
export function takeOver(bus: Bus, types: readonly EventType[], events: readonly HandedOver[]): void {
  const checked = events.flatMap(({ type: name, data: { at, ...data } }) => {
    const type = types.find((one) => one.name === name);
    if (!type) return [];
    // Data that was cut has no other form.
    const isCut = data.truncated === true;
    const parsed = v.safeParse(type.data, data);
    if (!parsed.success && !isCut) throw badInput(`events: what came is not the data of ${name}`);
    return [{ type, data: { ...(isCut ? data : Object(parsed.output)), ...timeOf(at) } }];
  });
  for (const { type, data } of checked) bus.publish(type, data);
}

/** The time of an event, where it can be true. */
function timeOf(at: unknown): { at?: string } {
  if (typeof at !== "string") return {};
  const age = Date.now() - Date.parse(at);
  return age > -MAX_AHEAD_MS && age < MAX_AGE_MS ? { at: new Date(at).toISOString() } : {};
}
