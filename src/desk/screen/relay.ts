/**
 * The live screen of a host of the address book, through this desk: a page of the desk shows it wherever the host is. The desk hands
 * on offer and answer; the pictures go over the data channel, past the desk where the networks allow it.
 */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { field } from "../../core/fields";
import { type Endpoint, type InputSchema, type OutputSchema, operation } from "../../core/operation";
import { allows, beyond } from "../../core/rights";
import { forbidden } from "../../lib/errors";
import {
  ADMIT_MS,
  controlEndpoint,
  OFFER_FIELDS,
  offerEndpoint,
  stateEndpoint,
} from "../../wire/screen/endpoints";
import type { AddressBook } from "../fleet/address-book";
import type { RelayedViewers } from "./viewers";

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "host" | "server">>;
}

interface ViewerUses extends Uses {
  relayedViewers(): Promise<RelayedViewers>;
}

/** The viewers let in at other hosts, and the label of one as the address book has it. */
async function relayedOf(service: ViewerUses, label: string) {
  const [relayed, book] = await Promise.all([service.relayedViewers(), service.addressBook()]);
  return { relayed, known: book.host(label).label };
}

const LABEL = field(
  v.pipe(v.string(), v.trim(), v.normalize("NFC"), v.nonEmpty(), v.maxLength(256)),
  "Label of the host",
);

/** How long a host may take to show its state, in milliseconds. */
const STATE_MS = 15_000;

const BY_PAGES = {
  cli: "`svc screen HOST` opens the page that sends it",
  script: "a script sees no live picture",
};

/** The answer of a host at `endpoint`. @throws as `callHost`. */
async function askHost<I extends InputSchema, O extends OutputSchema>(
  service: Uses,
  label: string,
  endpoint: Endpoint<I, O>,
  input: v.InferInput<I>,
  caller: Caller,
  ms: number,
): Promise<v.InferOutput<O>> {
  const server = (await service.addressBook()).server(label);
  caller.request?.relay?.to(label);
  // Loaded on first use: the modules for dialling are large.
  const { callHost } = await import("../../client/for-caller");
  return callHost({ label, server }, endpoint, input, caller, ms);
}

export const offerOfHost = operation({
  name: "admin.screen_offer",
  summary: "Hand the offer of a viewer on to a host of the address book",
  scope: "screen",
  asksFirst: true,
  changes: true,
  leftOut: BY_PAGES,
  http: { method: "POST", path: "/admin/hosts/{label}/screen/offer", relays: true },
  input: v.strictObject({ label: LABEL, ...OFFER_FIELDS }),
  output: offerEndpoint.output,
  async run(service: ViewerUses, { label, ...offer }, caller) {
    // The host sees the token that this desk has there, which may allow more.
    if (offer.control && !allows(caller.grant, "operate"))
      throw forbidden(beyond(caller.grant, "control needs operate"));
    const { relayed, known } = await relayedOf(service, label);
    const answer = await askHost(service, label, offerEndpoint, offer, caller, ADMIT_MS);
    relayed.add(known, answer.viewer_id, caller);
    return answer;
  },
});

export const stateOfHost = operation({
  name: "admin.screen_state",
  summary: "Show who watches the screen of a host of the address book, and who uses its pointer and keyboard",
  scope: "screen",
  asksFirst: true,
  leftOut: BY_PAGES,
  http: { method: "GET", path: "/admin/hosts/{label}/screen/state", relays: true },
  input: v.strictObject({ label: LABEL }),
  output: stateEndpoint.output,
  async run(service: ViewerUses, { label }, caller) {
    const { relayed, known } = await relayedOf(service, label);
    // Those that come meanwhile may be missing in the answer.
    const before = relayed.of(known);
    const state = await askHost(service, label, stateEndpoint, {}, caller, STATE_MS);
    const now = new Set(state.viewers.map(({ id }) => id));
    for (const id of before) if (!now.has(id)) relayed.forget(known, id);
    caller.request?.relay?.recorded();
    return state;
  },
});

export const controlOfHost = operation({
  name: "admin.screen_control",
  summary: "Give a viewer of a host's screen pointer and keyboard, or take them from it",
  scope: "operate",
  changes: true,
  leftOut: BY_PAGES,
  http: { method: "POST", path: "/admin/hosts/{label}/screen/control", relays: true },
  input: v.strictObject({ label: LABEL, ...controlEndpoint.input.entries }),
  output: controlEndpoint.output,
  async run(service: ViewerUses, { label, ...asked }, caller) {
    const { relayed, known } = await relayedOf(service, label);
    // To the host, all viewers of this desk have one token.
    if (asked.action === "take") relayed.requireOwn(known, asked.viewer, caller.grant);
    return askHost(service, label, controlEndpoint, asked, caller, ADMIT_MS);
  },
});

export const operations = [offerOfHost, stateOfHost, controlOfHost];
