/**
 * How hosts that have joined follow the desk to another TLS key.
 *
 * The promise: a host takes only pins that the desk signed for this membership, with the key that the host got when it joined. So
 * it also follows a desk whose key changed at once, or while the host was off: the desk reaches the host, which needs no pin of it.
 */

import { RemoteError, type RemoteServer } from "../../client/carrier";
import { callRemote } from "../../client/remote-call";
import { configFiles } from "../../lib/paths";
import { serverOfHost } from "../../lib/per-server";
import { runPool } from "../../lib/pool";
import { readSigningKey } from "../../trust/identity";
import { deskPinsEndpoint } from "../../wire/join/endpoints";
import { deskPinsMessage } from "../../wire/join/messages";
import type { BookHost } from "./standby/fence";

/** How long a host may take to answer, in milliseconds, and how many are asked at once, at each NATS server and of all others. */
const ANSWER_MS = 10_000;
const SLOTS = 16;

interface Uses<H extends BookHost> {
  readonly configDir: string;
  readonly log: { warn(text: string): void };
  addressBook(): Promise<{ hosts(): readonly H[]; reach(host: H): RemoteServer }>;
  /** The pins of the key that this desk has, and of the one that it has announced. */
  pins(): Promise<{ readonly pin: string; readonly next_pin?: string | undefined }>;
  /** @throws where that host knows that this desk was taken over, or does not say: it would not take the key of the other one then. */
  requireDeskAt(host: H): Promise<void>;
}

/** A function that sends the pins of this desk to the hosts that have joined: to each host once, and again when they change. */
export function createPinNotifier<H extends BookHost>(service: Uses<H>) {
  /** The pins that each membership knows, by its nonce. */
  const sent = new Map<string, string>();
  return async () => {
    const book = await service.addressBook();
    const members = book.hosts().filter(({ member }) => member);
    const key = members.length > 0 ? readSigningKey(configFiles(service.configDir).deskKey) : undefined;
    if (!key) return;
    const pins = await service.pins();
    const all = JSON.stringify(pins);
    const waiting = members.filter(({ member }) => sent.get(member?.nonce ?? "") !== all);
    await runPool(waiting, { slots: SLOTS, serverOf: serverOfHost }, async (host) => {
      const { host_id = "", nonce = "" } = host.member ?? {};
      const about = { ...pins, signed: new Date().toISOString() };
      const signature = key.sign(deskPinsMessage(host_id, nonce, about));
      const isDesk = service.requireDeskAt(host).then(
        () => true,
        () => false,
      );
      // One that does not say is asked again.
      if (!(await isDesk)) return;
      try {
        await callRemote(book.reach(host), deskPinsEndpoint, { ...about, signature }, ANSWER_MS);
      } catch (error) {
        // One that does not answer is asked again.
        if (!(error instanceof RemoteError) || !error.refusal) return;
        service.log.warn(`${host.label} does not follow this desk to another key: ${error.message}`);
      }
      sent.set(nonce, all);
    });
  };
}
