/**
 * The clipboard of a Wayland compositor, as text (wlr-data-control, ext-data-control).
 *
 * The compositor keeps no text: whoever set the clipboard hands it to each program that asks, through a pipe.
 */
import { closeSync } from "node:fs";
import { notFound } from "../../../lib/errors";
import { once } from "../../../lib/once";
import type { Backend } from "../backend";
import type { WaylandConnection } from "./connection";
import type { WaylandObject } from "./objects";
import { handText, readText, TEXT_FORMS } from "./pipes";
import type { Seat } from "./seat";
import { openPipe } from "./socket";

const MANAGER = "zwlr_data_control_manager_v1";
/** Its successor in wayland-protocols, with the same messages. */
const SUCCESSOR = "ext_data_control_manager_v1";
/** The protocols of which a compositor has to offer one. */
export const CLIPBOARD_PROTOCOLS: readonly string[] = [SUCCESSOR, MANAGER];
/** How many forms of an offer are known. */
const MAX_FORMS = 200;

/** What another program offers. */
interface Offer {
  readonly object: WaylandObject<"zwlr_data_control_offer_v1">;
  readonly forms: string[];
}

/** The clipboard of a session. */
export interface SessionClipboard extends Pick<Backend, "clipboard" | "setClipboard"> {
  /** Follows it for `listeners`, where the compositor lets a program do so. */
  follow(): void;
}

/** @param owns gets whether this process hands the text to others from now on. @param listeners each is called when the text may be another. */
export function createClipboard(
  connection: WaylandConnection,
  seat: () => Promise<Seat>,
  owns: (owned: boolean) => void,
  listeners: ReadonlySet<() => void>,
): SessionClipboard {
  let offer: Offer | undefined;
  /** The text that this process has set. */
  let own: string | undefined;
  const open = once(async () => {
    const manager = connection.bind(MANAGER, SUCCESSOR);
    if (!manager) throw connection.lacks(`${SUCCESSOR} or ${MANAGER}`, "the clipboard cannot be reached");
    const device = manager.make("get_data_device", (await seat()).object.id);
    const offers = new Map<number, Offer>();
    device.on({
      data_offer(id) {
        const forms: string[] = [];
        const object = connection.adopt("zwlr_data_control_offer_v1", id, device.version, {
          offer: (form) => void (forms.length < MAX_FORMS && forms.push(form)),
        });
        offers.set(id, { object, forms });
      },
      selection(id) {
        offer = id === null ? undefined : offers.get(id);
        forgetOthers(offers, offer);
        for (const listener of listeners) listener();
      },
    });
    await connection.roundTrip();
    return { manager, device };
  });
  return {
    follow: () => void open().catch(() => {}),
    async clipboard() {
      await open();
      await connection.roundTrip();
      if (own !== undefined) return own;
      if (!offer) return "";
      const form = TEXT_FORMS.find((one) => offer?.forms.includes(one));
      if (form === undefined) throw notFound("the clipboard holds no text");
      return receive(offer, form);
    },
    async setClipboard(text) {
      const { manager, device } = await open();
      const source = manager.make("create_data_source");
      source.on({
        send: (_form, descriptor) => void handText(text, descriptor),
        cancelled() {
          source.ask("destroy");
          if (own !== text) return;
          own = undefined;
          owns(false);
        },
      });
      for (const form of TEXT_FORMS) source.ask("offer", form);
      own = undefined;
      device.ask("set_selection", source.id);
      await connection.roundTrip();
      own = text;
      owns(true);
    },
  };
}

/** An offer that is neither the clipboard nor new is of no use any more. */
function forgetOthers(offers: Map<number, Offer>, kept: Offer | undefined): void {
  for (const [id, one] of offers) {
    if (one === kept) continue;
    one.object.ask("destroy");
    offers.delete(id);
  }
}

async function receive({ object }: Offer, form: string): Promise<string> {
  const { from, to } = openPipe();
  object.ask("receive", form, to);
  closeSync(to);
  return readText(from);
}
