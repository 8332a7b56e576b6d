/**
 * The operations of the live screen: a ticket, the stream that it opens, who looks, who controls.
 */
import * as v from "valibot";
import { field, flag, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { allows, beyond } from "../../core/rights";
import { SocketAnswer } from "../../core/socket";
import { forbidden } from "../../lib/errors";
import { VIEWER } from "./record";
import type { Screens } from "./screens";
import { type Tickets, ticketIn } from "./tickets";

/** The subprotocol of the stream. */
export const PROTOCOL = "svc.rfb";

interface Uses {
  screens(): Promise<Screens>;
  screenTickets(): Promise<Tickets>;
}

interface TicketUses extends Uses {
  rest(): Promise<{ readonly server: { readonly url: string } | null }>;
}

const FOR_PEOPLE = "a person watches the screen; scripts take screenshots";
const BY_A_PAGE = "`svc screen` and the dashboard use it";

const ID = field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(64)), "Id of the viewer");

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
  }),
  output: v.object({
    /** Good once, for 30 seconds, from the address of this request. */
    ticket: secret(v.string()),
    /** Where to connect to, with the subprotocols `svc.rfb` and `ticket.<ticket>`. */
    url: v.string(),
    expires_at: v.string(),
    /** The id that the viewer will have. */
    viewer_id: v.string(),
  }),
  async run(service: TicketUses, { control, carrier }, caller) {
    if (control && !allows(caller.grant, "operate"))
      throw forbidden(beyond(caller.grant, "control needs operate"));
    const [tickets, screens, { server }] = await Promise.all([
      service.screenTickets(),
      service.screens(),
      service.rest(),
    ]);
    screens.requireOn();
    const url = `${(server?.url ?? "").replace(/^http/, "ws")}/screen/rfb`;
    return { ...tickets.make(caller, { control, carrier }), url };
  },
});

export const openStream = operation({
  name: "screen.rfb",
  summary: "Open the stream of a viewer (RFC 6143) as a WebSocket, with a ticket among its subprotocols",
  scope: "any",
  http: { method: "GET", path: "/screen/rfb", public: "signed", socket: PROTOCOL },
  leftOut: { cli: BY_A_PAGE, script: FOR_PEOPLE },
  input: NO_INPUT,
  output: v.instance(SocketAnswer),
  async run(service: Uses, _input, { client, headers }) {
    const used = (await service.screenTickets()).use(ticketIn(headers) ?? "", client);
    if (!used)
      throw forbidden("expected a ticket of POST /screen/ticket that is good, from the same address");
    const { grant, control, carrier, viewer_id: id } = used;
    const [{ viewerSocket }, screens] = await Promise.all([import("./socket"), service.screens()]);
    return viewerSocket({
      admit: (signal) => screens.admit({ caller: { grant, client }, control, carrier, signal, id }),
      end: screens.end,
      grant,
    });
  },
});

export const screenState = operation({
  name: "screen.state",
  summary: "Show who watches the screen live, and who uses pointer and keyboard",
  scope: "screen",
  asksFirst: true,
  answeredBy: "server",
  leftOut: { script: FOR_PEOPLE },
  http: { method: "GET", path: "/screen/state" },
  input: NO_INPUT,
  output: v.object({
    /** Null while nobody watches. */
    width: v.nullable(v.number()),
    height: v.nullable(v.number()),
    viewers: v.array(VIEWER),
    /** Who uses pointer and keyboard; null for nobody. */
    input: v.nullable(
      v.object({
        kind: v.picklist(["viewer", "run", "program"]),
        /** Of the viewer, or the beginning of that of the run; null where it has none. */
        id: v.nullable(v.string()),
        who: v.string(),
        since: v.nullable(v.string()),
      }),
    ),
  }),
  async run(service: Uses) {
    const screens = await service.screens();
    const { width, height } = screens.size() ?? { width: null, height: null };
    return { width, height, viewers: screens.viewers(), input: screens.user() };
  },
});

export const controlScreen = operation({
  name: "screen.control",
  summary: "Give a viewer of the screen pointer and keyboard, or take them from it",
  scope: "operate",
  changes: true,
  answeredBy: "server",
  leftOut: { script: FOR_PEOPLE },
  http: { method: "POST", path: "/screen/control", repeatable: true },
  input: v.strictObject({
    viewer: ID,
    action: field(
      v.picklist(["take", "release"]),
      "What becomes of its control; take is for the token of the viewer",
    ),
    run: field(
      v.optional(v.picklist(["wait", "cancel"]), "wait"),
      "What becomes of the run, or of the other viewer, that uses pointer and keyboard now",
    ),
  }),
  output: v.object({ /** Whether it controls now. */ control: v.boolean() }),
  async run(service: Uses, { viewer, action, run }, { grant, client, kind, gone, signal }) {
    const screens = await service.screens();
    const { token } = screens.viewer(viewer);
    if (action === "release") {
      await screens.release(viewer, `${grant.name ?? client ?? kind} ended it`);
      return { control: false };
    }
    if (token !== grant.name) throw forbidden("control is taken with the token of the viewer itself");
    await screens.take(viewer, run, gone ? AbortSignal.any([gone, signal]) : signal);
    return { control: true };
  },
});

export const operations = [makeTicket, openStream, screenState, controlScreen];
