/**
 * NATS for hosts that joined before their desk had a server: the desk sends them their credentials over the way that it has to them.
 *
 * The promise: a host keeps the way that it had, and the desk changes its address once the host has answered over the server.
 */

import { type Deadline, deadlineIn, RemoteError, type RemoteServer } from "../../client/carrier";
import { carrierTo } from "../../client/connection";
import { callRemote } from "../../client/remote-call";
import { conflict, messageOf } from "../../lib/errors";
import { configFiles } from "../../lib/paths";
import { runPool } from "../../lib/pool";
import { openSigningKey } from "../../trust/identity";
import { natsGrantEndpoint } from "../../wire/join/endpoints";
import { natsGrantMessage, natsKeyMessage } from "../../wire/join/messages";
import { FIRST, natsAddress, natsPlaceOf } from "../../wire/nats/region";
import type { AddressBook } from "../fleet/address-book";
import type { Host } from "../fleet/host";
import type { DeskUses } from "./accept";

/** How many hosts are asked at once, and how often one is asked whether it is connected, in milliseconds. */
const SLOTS = 16;
const LOOK_MS = 500;

/** The largest answer of a host that is asked whether it is there. */
const MAX_BYTES = 65_536;

/** A host of the address book. */
type Grantee = Pick<Host, "label" | "base_url" | "tags" | "token" | "member">;

/** What a desk uses of its service. */
export interface GrantUses extends Pick<DeskUses, "configDir" | "natsCarrier"> {
  addressBook(): Promise<Pick<AddressBook, "select" | "reach" | "set">>;
}

/** What became of one host. */
type Outcome =
  | { readonly label: string; readonly ok: true; readonly changed: boolean }
  | { readonly label: string; readonly ok: false; readonly error: string };

/**
 * Gives the hosts of `selection` their credentials, and reaches them over NATS from then on.
 *
 * @param timeoutMs for each host.
 * @param region of the server (default: the first). A host that is at another one stays there, and is named.
 * @returns what became of each, in the order of the address book.
 */
export async function grantNats(
  service: GrantUses,
  selection: string,
  timeoutMs: number,
  region: string = FIRST,
): Promise<Outcome[]> {
  const book = await service.addressBook();
  const hosts = await book.select(selection);
  const { publicKey, sign } = openSigningKey(configFiles(service.configDir).deskKey);
  const grant = async (host: Grantee): Promise<boolean> => {
    const { label, base_url, member } = host;
    const place = natsPlaceOf(base_url);
    // Without a region, all that is wanted is that it is reached over NATS.
    if (place && region !== FIRST && place.region !== region) throw conflict(ELSEWHERE);
    if (place) return false;
    if (!member) throw conflict("it has not joined this desk");
    const deadline = deadlineIn(timeoutMs);
    const send = (carrier: string | undefined) => {
      const about = { carrier, signed: new Date().toISOString() };
      const signature = sign(natsGrantMessage(member.host_id, member.nonce, about));
      return callRemote(book.reach(host), natsGrantEndpoint, { ...about, signature }, timeoutMs).catch(
        inWords,
      );
    };
    const { id, proof } = await send(undefined);
    const message = natsKeyMessage(publicKey, member.host_id, member.nonce);
    const carrier = await service.natsCarrier(id, member.host_id, { message, signature: proof }, region);
    if (!carrier) throw conflict(NO_SERVER);
    await send(JSON.stringify(carrier));
    const now = {
      base_url: natsAddress(id, region),
      member: { ...member, nats_key: id },
      token: undefined,
      pin: undefined,
      ca: undefined,
      next_pin: undefined,
      token_expires: undefined,
    };
    await answers(book.reach({ ...host, ...now }), deadline);
    await book.set(label, (current) => {
      const isSame = current.base_url === base_url && current.member?.nonce === member.nonce;
      if (isSame) return now;
      throw conflict("somebody else has changed the host meanwhile");
    });
    return true;
  };
  return runPool(hosts, { slots: SLOTS }, async (host) => {
    const { label } = host;
    try {
      return { label, ok: true, changed: await grant(host) } as const;
    } catch (error) {
      return { label, ok: false, error: messageOf(error) } as const;
    }
  });
}

/** Why this desk gives nobody credentials. */
const NO_SERVER = "this desk takes no hosts in over NATS: no nats.json, or one made without --may-join";

/** A host keeps one way over NATS: it would lose this one before it is known whether it reaches the other. */
const ELSEWHERE =
  "it is at another NATS server: `svc leave` there, and `svc join` with a string that names the region";

function inWords(error: unknown): never {
  if (!(error instanceof RemoteError)) throw error;
  if (error.refusal?.status !== 404) throw error;
  throw conflict("its version of svc joins a NATS server only with `svc join`");
}

/** Resolves once the host answers. @throws why it does not. */
async function answers(server: RemoteServer, deadline: Deadline): Promise<void> {
  for (;;) {
    try {
      using carrier = await carrierTo(server);
      await carrier.ask({ method: "GET", path: "/status" }, { deadline, maxBytes: MAX_BYTES });
      return;
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      if (performance.now() + LOOK_MS > deadline.at) {
        throw conflict(`it has its credentials; its address stays: ${error.message}`);
      }
      await Bun.sleep(LOOK_MS);
    }
  }
}
