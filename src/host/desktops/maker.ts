/**
 * Making a desktop: its folder, its display, and svc's own hands on that; and ending it, with whatever was started on it.
 */
import { join } from "node:path";
import type { DesktopSettings } from "../../core/desktop-request";
import { type Failure, messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import type { Desktop } from "../desktop/desktop";
import type { ProgramSession } from "../desktop/programs";
import { type Account, asUser } from "./account";
import type { Disks } from "./disk";
import { type Display, startDisplay } from "./display";
import type { Live } from "./entry";
import { createKeeper, type Keeper } from "./keeper";
import type { MemoryGroup, MemoryGroups } from "./memory";
import type { Compositor, Tools } from "./tools";

/** What a desktop is made with. */
export interface MakerParts {
  readonly log: Log;
  /** The environment of svc. */
  readonly env: NodeJS.ProcessEnv;
  /** What such a one is made of. @throws `unavailable` where a program is missing. */
  tools(session: DesktopSettings["session"]): Tools | Compositor;
  /** As whom they run; undefined as this process. @throws where nobody may. */
  account(): Promise<Account | undefined>;
  /** What bounds the memory of the programs of each desktop, and to how many bytes; undefined for no bound. */
  readonly memory?: { readonly bytes: number; readonly groups: MemoryGroups } | undefined;
  /** What bounds what the folders of each desktop hold; undefined for no bound. */
  readonly disks?: Disks | undefined;
  /** svc's own hands on a display. */
  createDesktop(session: ProgramSession, lockFile: string): Promise<Desktop>;
}

/** Makes the desktops of one list, and ends them. */
export interface DesktopMaker {
  /** @throws as {@link MakerParts}, and what the start of a display throws; then nothing of it is left. */
  make(settings: DesktopSettings, signal: AbortSignal): Promise<Live>;
  /** Ends it. Never throws. */
  close(live: Live, reason: Failure): Promise<void>;
  /** Once all of them have ended. */
  leave(): Promise<void>;
}

export function createMaker(parts: MakerParts): DesktopMaker {
  const { log, env, tools, account, memory: bound, disks, createDesktop } = parts;
  let keeper: Promise<Keeper> | undefined;
  let count = 0;

  /** Made once; again where it could not be made. */
  const keeperNow = () => {
    keeper ??= createKeeper().catch((error) => {
      keeper = undefined;
      throw error;
    });
    return keeper;
  };

  /** Ends all processes of a desktop, and removes what it had. Never throws. */
  const sweep = async (folder: string, memory: MemoryGroup | undefined, as: Display["asIts"]) => {
    const left = (error: unknown) => log.warn(`a desktop has ended and left something: ${messageOf(error)}`);
    await keeper?.then((one) => one.end(folder, as)).catch(left);
    await memory?.end().catch(left);
  };

  return {
    async make(settings, signal) {
      const made = tools(settings.session);
      const user = await account();
      const { folder: all } = await keeperNow();
      const nth = ++count;
      const folder = join(all, `${nth}`);
      const memory = bound?.groups.make(nth, bound.bytes);
      try {
        const started = { folder, tools: made, account: user, memory, disks, env, signal };
        const display = await startDisplay(settings, started);
        const lockFile = join(folder, "input.lock");
        const desktop = await createDesktop({ ...display, as: display.asIts }, lockFile);
        return { display, desktop, folder, lockFile, memory, gone: new AbortController() };
      } catch (error) {
        await sweep(folder, memory, (command) => asUser(user, command));
        throw error;
      }
    },
    async close({ desktop, display, folder, memory, gone }, reason) {
      gone.abort(reason);
      await desktop
        .stop()
        .catch((error) => log.warn(`a desktop did not end as it should: ${messageOf(error)}`));
      await sweep(folder, memory, display.asIts);
    },
    async leave() {
      const made = keeper;
      keeper = undefined;
      (await made?.catch(() => undefined))?.leave();
    },
  };
}
