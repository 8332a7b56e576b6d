/** A desktop of the list: what is kept of it, and what others are shown. */
import type { DesktopSettings } from "../../core/desktop-request";
import { conflict } from "../../lib/errors";
import type { DesktopView } from "../../wire/screen/desktop-view";
import type { Desktop } from "../desktop/desktop";
import type { ProgramSession } from "../desktop/programs";
import type { Display } from "./display";
import type { MemoryGroup } from "./memory";

/** A desktop, for whoever works on it or looks at it. */
export interface OpenDesktop {
  readonly name: string;
  readonly desktop: Desktop;
  readonly session: ProgramSession;
  /** The file of the lock on its pointer and keyboard, which other processes of this user may take. */
  readonly lockFile: string;
  /** Aborted once it has ended, with the reason as a failure, also where it is started again under its name; never where this process does not learn it. */
  readonly lost: AbortSignal;
}

/** What a desktop consists of while it runs. */
export interface Live {
  readonly display: Display;
  readonly desktop: Desktop;
  readonly folder: string;
  readonly lockFile: string;
  readonly memory: MemoryGroup | undefined;
  /** Aborted once it is to end, with the reason as a failure. */
  readonly gone: AbortController;
}

/** A desktop of the list. */
export interface Entry {
  readonly name: string;
  readonly kind: DesktopView["kind"];
  readonly run: string | null;
  readonly settings: DesktopSettings;
  readonly token: string | null;
  readonly share: string | null;
  readonly startedAt: string;
  live: Promise<Live>;
  /** Once it runs. */
  now?: Live | undefined;
  /** When it was started again, by the monotonic clock. */
  readonly restarted: number[];
  /** Ends its start. */
  readonly control: AbortController;
  /** Once it is to end: resolves when it has. */
  ending?: Promise<void>;
  /** Whether its beginning is published, and its end is not. */
  isKnown: boolean;
}

/** What its events say of it. */
export const aboutOf = ({ name, run, token }: Entry) => ({ name, run_id: run, token });

/** It, for whoever works on it or looks at it. */
export const openOf = (name: string, { desktop, display, lockFile, gone }: Live): OpenDesktop => ({
  name,
  desktop,
  lockFile,
  session: display,
  lost: gone.signal,
});

/** It, as it is shown. */
export const viewOf = (entry: Entry, { display, desktop, memory }: Live): DesktopView => ({
  name: entry.name,
  kind: entry.kind,
  run_id: entry.run,
  size: display.size,
  scale: display.scale,
  locale: display.locale,
  display: display.name,
  by_name: display.hasBus,
  started_at: entry.startedAt,
  token: entry.token,
  restarts: entry.restarted.length,
  user: desktop.inputLock.user(),
  memory: memory?.use() ?? null,
  disk: display.disk?.use() ?? null,
});

/** @throws a `conflict` failure where a kept desktop runs with other settings than those that are asked for. */
export function requireSame({ name, settings: has }: Entry, wanted: DesktopSettings): void {
  const odd = (["size", "scale", "locale", "session"] as const).find(
    (one) => wanted[one] !== undefined && wanted[one] !== has[one],
  );
  if (odd === undefined) return;
  const is = has[odd] === undefined ? "the default" : has[odd];
  throw conflict(
    `the desktop ${name} runs with another ${odd} (${is}, not ${wanted[odd]}): svc desktops stop ${name}, or leave ${odd} out`,
  );
}
