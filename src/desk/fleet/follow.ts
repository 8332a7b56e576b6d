/**
 * Following hosts to their next keys.
 *
 * Promises. A new key is trusted once the host has announced it on a connection with the old key, and the old one is trusted
 * no more once the new one was seen. A host that announces none any more has taken it back once two polls found it so. Each such change is on record before it is made. A pin of one certificate stays as it is.
 */
import * as v from "valibot";
import { type Carrier, type Deadline, RemoteError } from "../../client/carrier";
import { typed } from "../../client/remote-call";
import type { CallerService } from "../../core/caller";
import { createBuckets, type Rate } from "../../lib/buckets";
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { parsePin } from "../../lib/spki";
import type { AddressBook } from "./address-book";
import type { Host, HostRights } from "./host";

/** The largest answer to `GET /status`. */
const MAX_BYTES = 65_536;

/** A host as it was asked, and the pins that its entry should have now. */
export interface KeyChange {
  readonly host: Host;
  readonly pin: string;
  readonly next_pin: string | undefined;
}

/** A host as it was asked, and what it lets this desk do now. */
export interface RightsChange {
  readonly host: Host;
  readonly rights: HostRights;
}

/** Stores what hosts have said. Never throws. */
export type Follow = (keys: readonly KeyChange[], rights: readonly RightsChange[]) => Promise<void>;

const STATUS = v.object({ next_spki: v.optional(v.nullable(v.string()), null) });

/**
 * What `host` has announced about its key to the desk that has just asked it something else; undefined when all is as it was.
 * Never throws: a host that does not say keeps its pins.
 */
export async function keyChange(
  host: Host,
  carrier: Carrier,
  deadline: Deadline,
): Promise<KeyChange | undefined> {
  if (!host.pin?.startsWith("spki:")) return undefined;
  const announced = await nextPin(carrier, deadline);
  // That of the connection on which it said so.
  const pin = carrier.pin();
  if (pin === undefined) return undefined;
  const next = announced === undefined ? host.next_pin : announced;
  const next_pin = next === null || next === pin ? undefined : next;
  return pin === host.pin && next_pin === host.next_pin ? undefined : { host, pin, next_pin };
}

/** The pin of the next key; null when there is none, undefined when the host does not say. */
async function nextPin(carrier: Carrier, deadline: Deadline): Promise<string | null | undefined> {
  try {
    const response = await carrier.ask({ method: "GET", path: "/status" }, { deadline, maxBytes: MAX_BYTES });
    const { next_spki } = typed(STATUS, response);
    if (next_spki === null) return null;
    const pin = parsePin(next_spki);
    return pin?.startsWith("spki:") ? pin : undefined;
  } catch (error) {
    if (error instanceof RemoteError) return undefined;
    throw error;
  }
}

interface Uses extends CallerService {
  readonly log: Log;
  addressBook(): Promise<Pick<AddressBook, "follow" | "learn">>;
}

/** How often a host may announce another key, or say otherwise what may be done there: each time is a write of the address book. */
const ANNOUNCING: Rate = { ratePerMinute: 1 / 15, burst: 6 };

/**
 * What puts changes on record and into the address book. Never throws: the next poll finds them again. A host that announces
 * other keys all the time is followed a few times an hour; to a key that it announced before and uses now, always.
 */
export function createFollower(service: Uses): Follow {
  const spend = createBuckets(ANNOUNCING);
  const mayFollow = ({ host, pin }: KeyChange) =>
    pin !== host.pin || spend(`${host.label} ${host.base_url}`, performance.now()) === 0;
  /** By host: the announced key of which it has said nothing. */
  const missed = new Map<string, string>();
  /** While a host changes to the announced key, it announces none any more and still shows the old one. */
  const isSettled = ({ host, pin, next_pin }: KeyChange) => {
    if (pin !== host.pin || next_pin !== undefined || host.next_pin === undefined) return true;
    const key = `${host.label} ${host.base_url}`;
    if (missed.get(key) === host.next_pin) return missed.delete(key);
    missed.set(key, host.next_pin);
    return false;
  };
  const followKeys = async (found: readonly KeyChange[]) => {
    const changes = found.filter(isSettled).filter(mayFollow);
    if (changes.length === 0) return;
    try {
      const audit = await service.audit();
      const event = { event_type: "desk", host_id: null, viewer_id: null };
      const detailOf = (change: KeyChange) => `admin.follow_key ${wordsOf(change)}`;
      // Together: the log writes rows that come at once with one wait for the disk.
      await Promise.all(changes.map((change) => audit?.append({ ...event, detail: detailOf(change) })));
      const stored = await (await service.addressBook()).follow(changes);
      for (const change of stored) service.log.info(`the key of a host changes: ${wordsOf(change)}`);
    } catch (error) {
      service.log.warn(`the new keys of ${changes.length} hosts could not be stored: ${messageOf(error)}`);
    }
  };
  return async (keys, found) => {
    await followKeys(keys);
    const mayLearn = ({ host }: RightsChange) =>
      spend(`rights ${host.label} ${host.base_url}`, performance.now()) === 0;
    const changes = found.filter(mayLearn);
    if (changes.length === 0) return;
    try {
      await (await service.addressBook()).learn(changes);
    } catch (error) {
      service.log.warn(`what ${changes.length} hosts allow could not be stored: ${messageOf(error)}`);
    }
  };
}

const wordsOf = ({ host: { label }, pin, next_pin }: KeyChange) =>
  `label=${JSON.stringify(label)} pin=${pin}${next_pin === undefined ? "" : ` next_pin=${next_pin}`}`;
