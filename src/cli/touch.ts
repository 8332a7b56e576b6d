/**
 * What a command line does where a yes needs a passkey: a browser has it, so the person is led to the page, and the command waits.
 */
import { sleep } from "../lib/deadline";
import { Failure, timedOut } from "../lib/errors";
import type { Service } from "../service/service";

/** How often it looks whether the person has decided, in milliseconds. */
const LOOK_MS = 2_000;

/** How long it waits at most, in milliseconds: a little longer than an approval does. */
const WAIT_MS = 11 * 60_000;

/** Whether somebody was refused for want of a passkey. A desk elsewhere says it in words alone. */
export const wantsPasskey = (error: unknown): error is Failure =>
  error instanceof Failure &&
  error.code === "forbidden" &&
  (Object.hasOwn(error.more, "passkey") || / needs a (?:touch of your )?passkey/.test(error.message));

/** Opens the page on which a person allows it, signed in as the owner of this host, or says where it is. */
export async function leadToPage({ configDir, elsewhere, log }: Service): Promise<void> {
  if (elsewhere) {
    log.info("it needs a passkey: allow it in a browser, on the page Approvals of the dashboard there");
    return;
  }
  const { openDashboard } = await import("../service/open-dashboard");
  const { url, opened } = await openDashboard(configDir, "approvals");
  log.info(
    opened
      ? `it needs a passkey: allow it on the page that opens, ${url}`
      : `it needs a passkey: allow it in a browser, at ${url}`,
  );
}

/**
 * What `look` finds once that is something; it looks again and again meanwhile.
 *
 * @throws `timeout` where it finds nothing in time; what `look` throws.
 */
export async function whenDecided<T>(look: () => Promise<T | undefined>): Promise<T> {
  const until = performance.now() + WAIT_MS;
  while (performance.now() < until) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(LOOK_MS, undefined);
  }
  throw timedOut("nobody has decided it in time");
}
