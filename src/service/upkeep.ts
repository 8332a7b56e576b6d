/**
 * What a server does besides answering, from time to time: it loads the scheduler once there are jobs, ends what revoked tokens
 * have started, follows the hosts of the address book to their next keys, and replaces tokens that end soon.
 */
import { existsSync } from "node:fs";
import { callOperation } from "../core/call";
import { localCaller } from "../core/caller";
import type { InOfficeFiles } from "../desk/join/standby/in-office";
import { Failure, messageOf } from "../lib/errors";
import type { Log } from "../lib/log";
import { once } from "../lib/once";
import { configFiles, hasBook } from "../lib/paths";
import type { Service } from "./interface";

/** How often to look for a first jobs file and for revoked tokens, in milliseconds. */
const LOOK_MS = 1_000;

/**
 * How often a server asks hosts with a pinned key whether they will have another, which they announce for an hour at least, and
 * has tokens replaced that end soon, in milliseconds.
 */
const FOLLOW_MS = 30 * 60_000;

/** What is looked at, one after the other, by what is logged where that fails. */
type Looks = Readonly<Record<string, () => Promise<void>>>;

/** @returns a function that looks, and never throws: a look that fails holds up no other, and is logged once for each reason. */
export function createLooking(log: Log): (looks: Looks) => Promise<void> {
  const failures = new Map<string, string>();
  return async (looks) => {
    for (const [failed, look] of Object.entries(looks)) {
      try {
        await look();
        failures.delete(failed);
      } catch (error) {
        const reason = messageOf(error);
        const isNew = failures.get(failed) !== reason;
        if (isNew && error instanceof Failure) log.error(`${failed}: ${reason}`);
        else if (isNew) log.error(failed, error);
        failures.set(failed, reason);
      }
    }
  };
}

/**
 * @param lookAll is called every second.
 * @returns a function that ends all of it.
 */
export function startUpkeep(
  service: Service,
  lookAll: () => Promise<void>,
  tellPins: () => Promise<void>,
): () => void {
  const ending = new AbortController();
  const logged = (text: string) => (error: unknown) => service.log.warn(`${text}: ${messageOf(error)}`);
  const follow = () =>
    followKeys(service, ending.signal).catch(logged("hosts were not asked for their next keys"));
  const renew = () => renewTokens(service).catch(logged("the tokens of hosts were not replaced"));
  const looking = setInterval(lookAll, LOOK_MS);
  const first = setTimeout(() => Promise.all([renew(), tellPins()]), LOOK_MS);
  const following = setInterval(() => Promise.all([follow(), renew(), tellPins()]), FOLLOW_MS);
  return () => {
    clearInterval(looking);
    clearTimeout(first);
    clearInterval(following);
    ending.abort();
  };
}

/** A poll takes note of what hosts announce about their keys. */
async function followKeys(service: Service, signal: AbortSignal): Promise<void> {
  if (!hasBook(configFiles(service.configDir))) return;
  const book = await service.addressBook();
  const hosts = book.hosts().filter(({ pin }) => pin?.startsWith("spki:"));
  if (hosts.length === 0) return;
  await (await service.poller()).poll(book, hosts, { concurrency: 16, timeoutMs: 10_000, signal });
}

/** Makes the function that lets hosts that have joined follow this desk to another key. It never throws. */
export function createNotifyPins(service: Service, configDir: string): () => Promise<void> {
  const files = configFiles(configDir);
  const notifier = once(async () => {
    const [{ createPinNotifier }, { status }] = await Promise.all([
      import("../desk/join/desk-pins"),
      import("../trust/operations/tls"),
    ]);
    const pins = async () => {
      const { pin, next_spki } = await status.run(service, {}, localCaller(service, "scheduler"));
      return { pin, ...(next_spki !== null && { next_pin: next_spki }) };
    };
    const { log, addressBook, requireDeskAt } = service;
    return createPinNotifier({ configDir, log, addressBook, pins, requireDeskAt });
  });
  return async () => {
    if (!existsSync(files.deskKey) || !hasBook(files) || !(await mayChangeHosts(files))) return;
    try {
      await (await notifier())();
    } catch (error) {
      service.log.warn(`hosts were not notified of the key of this desk: ${messageOf(error)}`);
    }
  };
}

/** The keys and tokens of a desk that was taken over, or is followed, are another's to change. */
async function mayChangeHosts(files: InOfficeFiles): Promise<boolean> {
  if (!existsSync(files.takenOver) && !existsSync(files.following)) return true;
  return (await import("../desk/join/standby/in-office")).isInOffice(files);
}

/** Lets the hosts of the address book replace tokens that end soon, on record. */
async function renewTokens(service: Service): Promise<void> {
  const files = configFiles(service.configDir);
  if (!hasBook(files) || !(await mayChangeHosts(files))) return;
  const [{ renewDue }, { rotateHost }] = await Promise.all([
    import("../desk/fleet/renewal"),
    import("../desk/fleet/operations/hosts"),
  ]);
  const caller = localCaller(service, "scheduler");
  await renewDue(
    (await service.addressBook()).hosts(),
    async (label) => callOperation(service, rotateHost, { label }, caller),
    (label, error) =>
      service.log.warn(`the token of ${label} ends soon and was not replaced: ${messageOf(error)}`),
  );
}
