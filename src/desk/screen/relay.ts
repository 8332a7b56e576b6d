/**
 * The live screen of a host of the address book, through this desk: a page of the desk shows it wherever the host is. The desk hands
 * on offer and answer; the pictures go over the data channel, past the desk where the networks allow it. Where they do not, the desk
 * opens the stream itself, and a WebSocket carries it on to the browser.
 */
import * as v from "valibot";
import type { RemoteServer } from "../../client/carrier";
import type { Caller } from "../../core/caller";
import { AT_DESKTOP } from "../../core/desktop-request";
import { flag, HOST_LABEL, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { allows, beyond } from "../../core/rights";
import { SocketAnswer } from "../../core/socket";
import { forbidden } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { Passkeys } from "../../trust/passkeys/passkeys";
import {
  ADMIT_MS,
  controlEndpoint,
  desktopsEndpoint,
  elementAtEndpoint,
  OFFER_FIELDS,
  offerEndpoint,
  stateEndpoint,
} from "../../wire/screen/endpoints";
import { type ScreenStream, STREAM_PROTOCOL, ticketIn } from "../../wire/screen/stream";
import type { AddressBook } from "../fleet/address-book";
import { askHost } from "./ask-host";
import type { ScreenRelays } from "./relays";
import type { RelayedViewers } from "./viewers";

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "host" | "server">>;
}

interface ViewerUses extends Uses {
  relayedViewers(): Promise<RelayedViewers>;
  passkeys(): Promise<Pick<Passkeys, "demands" | "sign">>;
}

interface JoinUses {
  screenRelays(): Promise<ScreenRelays>;
}

/** What relaying the screen of a host uses of the service. */
export interface RelayUses extends ViewerUses, JoinUses {
  /** Opens the stream of a viewer at another host. @throws why the host lets it not in; a `RemoteError`. */
  openHostScreen(
    server: RemoteServer,
    wanted: { readonly control: boolean; readonly desktop?: string | undefined },
    signal: AbortSignal,
    client: string | null,
  ): Promise<ScreenStream>;
}

/** The viewers let in at other hosts, and the label of one as the address book has it. */
async function relayedOf(service: ViewerUses, label: string) {
  const [relayed, book] = await Promise.all([service.relayedViewers(), service.addressBook()]);
  return { relayed, known: book.host(label).label };
}

/** How long a host may take to show its state, in milliseconds. */
const STATE_MS = 15_000;

const BY_PAGES = {
  cli: "`svc screen HOST` opens the page that sends it",
  script: "a script sees no live picture",
};

/**
 * @throws `forbidden` where `caller` may not control: the host sees the token that this desk has there, which may allow more; where that
 *   takes a passkey, which a stream that is opened does not bring.
 */
async function requireControl(service: ViewerUses, control: boolean, { grant }: Caller): Promise<void> {
  if (!control) return;
  if (!allows(grant, "operate")) throw forbidden(beyond(grant, "control needs operate"));
  if ((await service.passkeys()).demands("control"))
    throw forbidden("control needs a passkey here: open the screen to look, and take control on its page");
}

const offerOfHost = operation({
  name: "admin.screen_offer",
  onHosts: true,
  summary: "Hand the offer of a viewer on to a host of the address book",
  scope: "screen",
  asksFirst: true,
  changes: true,
  leftOut: BY_PAGES,
  http: { method: "POST", path: "/admin/hosts/{label}/screen/offer", relays: true },
  input: v.strictObject({ label: HOST_LABEL, ...OFFER_FIELDS }),
  output: offerEndpoint.output,
  async run(service: ViewerUses, { label, ...offer }, caller) {
    await requireControl(service, offer.control, caller);
    const { relayed, known } = await relayedOf(service, label);
    const answer = await askHost(service, label, offerEndpoint, offer, caller, { ms: ADMIT_MS });
    relayed.add(known, answer.viewer_id, caller);
    return answer;
  },
});

const desktopsOfHost = operation({
  name: "admin.host_desktops",
  summary: "List the desktops that run beside that of a host of the address book",
  scope: "read",
  leftOut: {
    cli: "`svc desktops list` on the host lists them",
    script: "the wall of the page *Hosts* shows them",
  },
  http: { method: "GET", path: "/admin/hosts/{label}/desktops", relays: true },
  input: v.strictObject({ label: HOST_LABEL }),
  output: desktopsEndpoint.output,
  run: (service: Uses, { label }, caller) =>
    askHost(service, label, desktopsEndpoint, {}, caller, { ms: STATE_MS }),
});

const stateOfHost = operation({
  name: "admin.screen_state",
  onHosts: true,
  summary: "Show who watches the screen of a host of the address book, and who uses its pointer and keyboard",
  scope: "screen",
  asksFirst: true,
  leftOut: BY_PAGES,
  http: { method: "GET", path: "/admin/hosts/{label}/screen/state", relays: true },
  input: v.strictObject({ label: HOST_LABEL, desktop: AT_DESKTOP }),
  output: stateEndpoint.output,
  async run(service: ViewerUses, { label, desktop }, caller) {
    const { relayed, known } = await relayedOf(service, label);
    // Those that come meanwhile may be missing in the answer.
    const before = desktop === undefined ? relayed.of(known) : [];
    const asked = desktop === undefined ? {} : { desktop };
    const state = await askHost(service, label, stateEndpoint, asked, caller, { ms: STATE_MS });
    const now = new Set(state.viewers.map(({ id }) => id));
    for (const id of before) if (!now.has(id)) relayed.forget(known, id);
    caller.request?.relay?.recorded();
    return state;
  },
});

const elementOfHost = operation({
  name: "admin.element_at",
  onHosts: true,
  summary:
    "Tell what is at a place of the screen of a host of the address book, and the locator that names it",
  scope: "screen",
  asksFirst: true,
  reveals: true,
  leftOut: {
    cli: "the page *Live screen* asks it, where a person points at something",
    script: "AC_element_at tells it, on each host of a broadcast",
  },
  http: { method: "GET", path: "/admin/hosts/{label}/element_at", relays: true },
  input: v.strictObject({ label: HOST_LABEL, ...elementAtEndpoint.input.entries }),
  output: elementAtEndpoint.output,
  run: (service: Uses, { label, ...place }, caller) =>
    askHost(service, label, elementAtEndpoint, place, caller, { ms: STATE_MS }),
});

const controlOfHost = operation({
  name: "admin.screen_control",
  onHosts: true,
  summary: "Give a viewer of a host's screen pointer and keyboard, or take them from it",
  scope: "operate",
  changes: "announces",
  leftOut: BY_PAGES,
  http: { method: "POST", path: "/admin/hosts/{label}/screen/control", relays: true },
  input: v.strictObject({ label: HOST_LABEL, ...controlEndpoint.input.entries }),
  output: controlEndpoint.output,
  async run(service: ViewerUses, { label, ...asked }, caller) {
    const { relayed, known } = await relayedOf(service, label);
    const { viewer, action, run } = asked;
    // To the host, all viewers of this desk have one token.
    if (action === "take") relayed.requireOwn(known, viewer, caller.grant);
    const terms = { host: known, viewer, run };
    const wanted = { what: "admin.screen_control", terms, words: "taking control" };
    const signed = action === "take" ? await (await service.passkeys()).sign("control", wanted, caller) : "";
    const about = `label=${JSON.stringify(known)} viewer=${JSON.stringify(viewer)}`;
    await caller.announce(
      `admin.screen_control ${printable(about, 500)} action="${action}" run="${run}"${signed}`,
    );
    return askHost(service, label, controlEndpoint, asked, caller, { ms: ADMIT_MS });
  },
});

const relayOfHost = operation({
  name: "admin.screen_relay",
  onHosts: true,
  summary: "Open the screen of a host of the address book for a viewer that gets it over this desk",
  scope: "screen",
  asksFirst: true,
  changes: true,
  leftOut: BY_PAGES,
  http: { method: "POST", path: "/admin/hosts/{label}/screen/relay", relays: true },
  input: v.strictObject({
    label: HOST_LABEL,
    control: flag("Whether the viewer wants to use pointer and keyboard"),
    desktop: AT_DESKTOP,
  }),
  output: v.object({
    /** Good once, for 15 seconds, from the address of this request: for `GET /admin/screen/rfb`. */
    ticket: secret(v.string()),
    viewer_id: v.string(),
  }),
  async run(service: RelayUses, { label, ...wanted }, caller) {
    await requireControl(service, wanted.control, caller);
    const [{ relayed, known }, relays, book] = await Promise.all([
      relayedOf(service, label),
      service.screenRelays(),
      service.addressBook(),
    ]);
    caller.request?.relay?.to(label);
    const { askHostFor } = await import("../../client/for-caller");
    const { ticket, viewer } = await relays.open(caller, () =>
      askHostFor(label, caller, (signal, client) =>
        service.openHostScreen(book.server(label), wanted, signal, client),
      ),
    );
    relayed.add(known, viewer, caller);
    return { ticket, viewer_id: viewer };
  },
});

const joinRelay = operation({
  name: "admin.screen_stream",
  summary:
    "Open the stream of a viewer at a host (RFC 6143) as a WebSocket, with a ticket among its subprotocols",
  scope: "any",
  leftOut: BY_PAGES,
  http: { method: "GET", path: "/admin/screen/rfb", public: "signed", socket: STREAM_PROTOCOL },
  input: NO_INPUT,
  output: v.instance(SocketAnswer),
  async run(service: JoinUses, _input, { client, request }) {
    const joined = (await service.screenRelays()).join(ticketIn(request?.headers) ?? "", client);
    if (joined) return joined;
    throw forbidden(
      "expected a ticket of POST /admin/hosts/HOST_LABEL/screen/relay that is good, from the same address",
    );
  },
});

export const operations = [
  desktopsOfHost,
  offerOfHost,
  stateOfHost,
  elementOfHost,
  controlOfHost,
  relayOfHost,
  joinRelay,
];
