/**
 * The operations of the live screen: a ticket, the stream that it opens, who looks, who controls.
 */
import * as v from "valibot";
import { AT_DESKTOP } from "../../../../core/desktop-request";
import { field, flag, NO_INPUT, secret } from "../../../../core/fields";
import { operation } from "../../../../core/operation";
import { allows, beyond } from "../../../../core/rights";
import { SocketAnswer } from "../../../../core/socket";
import { forbidden } from "../../../../lib/errors";
import { printable } from "../../../../lib/sanitize";
import type { Passkeys } from "../../../../trust/passkeys/passkeys";
import { controlEndpoint, stateEndpoint } from "../../../../wire/screen/endpoints";
import { STREAM_PROTOCOL, ticketIn } from "../../../../wire/screen/stream";
import type { Screens } from "../all-screens";
import type { Tickets } from "../tickets";

interface Uses {
  screens(): Promise<Screens>;
  screenTickets(): Promise<Tickets>;
}

interface SignUses {
  passkeys(): Promise<Pick<Passkeys, "demands" | "sign">>;
}

interface TicketUses extends Uses, SignUses {
  rest(): Promise<{ readonly server: { readonly url: string } | null }>;
}

interface StateUses extends Uses {
  /** Whether what the screen shows is kept; null where it is not. Asking loads nothing. */
  blackBoxShown(): Promise<"on" | "paused" | "left" | null>;
}

/** @throws `forbidden` where control takes a passkey: a stream that is opened brings none. */
export async function requireUnsigned(service: SignUses, control: boolean): Promise<void> {
  if (control && (await service.passkeys()).demands("control"))
    throw forbidden("control needs a passkey here: open the screen to look, and take control on its page");
}

const FOR_PEOPLE = "a person watches the screen; scripts take screenshots";
const BY_A_PAGE = "`svc screen` and the dashboard use it";

export const makeTicket = operation({
  name: "screen.ticket",
  summary: "Make a ticket with which one WebSocket shows the screen live",
  scope: "screen",
  asksFirst: true,
  changes: true,
  leftOut: { cli: BY_A_PAGE, script: FOR_PEOPLE },
  http: { method: "POST", path: "/screen/ticket", repeatable: true },
  input: v.strictObject({
    control: flag("Also take pointer and keyboard, once they are free (scope operate)"),
    carrier: field(v.optional(v.picklist(["websocket", "proxy"]), "websocket"), "What the stream is for"),
    desktop: AT_DESKTOP,
  }),
  output: v.object({
    /** Good once, for 30 seconds, from the address of this request. */
    ticket: secret(v.string()),
    /** Where to connect to, with the subprotocols `svc.rfb` and `ticket.<ticket>`. */
    url: v.string(),
    expires_at: v.string(),
    viewer_id: v.string(),
  }),
  async run(service: TicketUses, { control, carrier, desktop }, caller) {
    if (control && !allows(caller.grant, "operate"))
      throw forbidden(beyond(caller.grant, "control needs operate"));
    await requireUnsigned(service, control);
    const [tickets, screens, { server }] = await Promise.all([
      service.screenTickets(),
      service.screens(),
      service.rest(),
    ]);
    screens.requireOn();
    // Now, so that whoever asks learns that there is none.
    if (desktop !== undefined) await screens.state(desktop);
    const url = `${(server?.url ?? "").replace(/^http/, "ws")}/screen/rfb`;
    return { ...tickets.make(caller, { control, carrier, desktop }), url };
  },
});

const openStream = operation({
  name: "screen.rfb",
  summary: "Open the stream of a viewer (RFC 6143) as a WebSocket, with a ticket among its subprotocols",
  scope: "any",
  http: { method: "GET", path: "/screen/rfb", public: "signed", socket: STREAM_PROTOCOL },
  leftOut: { cli: BY_A_PAGE, script: FOR_PEOPLE },
  input: NO_INPUT,
  output: v.instance(SocketAnswer),
  async run(service: Uses, _input, { client, request }) {
    const used = (await service.screenTickets()).use(ticketIn(request?.headers) ?? "", client);
    if (!used)
      throw forbidden("expected a ticket of POST /screen/ticket that is good, from the same address");
    const { grant, control, carrier, desktop, viewer_id: id } = used;
    const [{ viewerSocket }, screens] = await Promise.all([import("../socket"), service.screens()]);
    return viewerSocket({
      admit: (signal) => screens.admit({ caller: { grant, client }, control, carrier, signal, id }, desktop),
      end: (...ending) => screens.end(...ending),
      grant,
    });
  },
});

const screenState = operation({
  ...stateEndpoint,
  summary: "Show who watches the screen live, and who uses pointer and keyboard",
  scope: "screen",
  asksFirst: true,
  answeredBy: "server",
  leftOut: { script: FOR_PEOPLE },
  async run(service: StateUses, { desktop }) {
    const { size, viewers, input } = await (await service.screens()).state(desktop);
    const { width, height } = size ?? { width: null, height: null };
    // It keeps nothing of desktops on demand.
    const black_box = desktop === undefined ? await service.blackBoxShown() : null;
    return { width, height, viewers, input, black_box };
  },
});

const controlScreen = operation({
  ...controlEndpoint,
  summary: "Give a viewer of the screen pointer and keyboard, or take them from it",
  scope: "operate",
  changes: "announces",
  answeredBy: "server",
  leftOut: { script: FOR_PEOPLE },
  async run(service: Uses & SignUses, { viewer, action, run }, caller) {
    const { grant, client, kind, request, signal } = caller;
    const screens = await service.screens();
    const { token } = screens.viewer(viewer);
    const about = `screen.control viewer=${printable(JSON.stringify(viewer), 100)} action="${action}"`;
    if (action === "release") {
      await caller.announce(about);
      await screens.release(viewer, `${grant.name ?? client ?? kind} ended it`);
      return { control: false };
    }
    if (token !== grant.name) throw forbidden("control is taken with the token of the viewer itself");
    const wanted = { what: "screen.control", terms: { viewer, run }, words: "taking control" };
    const signed = await (await service.passkeys()).sign("control", wanted, caller);
    await caller.announce(`${about} run="${run}"${signed}`);
    const gone = request?.gone;
    await screens.take(viewer, run, gone ? AbortSignal.any([gone, signal]) : signal);
    return { control: true };
  },
});

export const operations = [makeTicket, openStream, screenState, controlScreen];
