/** The windows that can be seen, and when they change: for who leaves some out of a picture. */
import type { Backend, Place } from "./backend";

/** A window, a menu or a tip on the screen. */
export interface ShownWindow {
  readonly id: number;
  /** Empty for menus and the like. */
  readonly title: string;
  /** The name of its program; null where the system does not say. */
  readonly program: string | null;
  readonly focused: boolean;
  /** Where all of it is, its frame included; null where the system does not say. Of one that cannot be seen it is undefined. */
  readonly place: Place | null | undefined;
  /** Those with the same owner belong together, such as a menu and its window: the process, or the client of an X server. */
  readonly owners: readonly string[];
  /** The window that it is a dialog of; null for none. */
  readonly dialogOf: number | null;
}

/** Windows that are watched. */
export interface WindowWatch {
  /** Whether menus, tips and dialogs are listed, with what they belong to. */
  readonly knowsMenus: boolean;
  /** Whether something may be different since the last {@link list}: all that happened before this call counts. */
  changed(): Promise<boolean>;
  /** @throws an `unavailable` failure where they cannot be listed. */
  list(): Promise<readonly ShownWindow[]>;
  close(): void;
}

/** For a platform that does not say when windows change: they may have changed at any time. */
export function pollWindows(backend: Pick<Backend, "windows">): WindowWatch {
  return {
    knowsMenus: false,
    changed: async () => true,
    async list() {
      const all = await backend.windows();
      return all.map(({ hwnd, title, process, pid, focused, state, x, y, width, height }) => {
        const isPlaced = x !== null && y !== null && width !== null && height !== null;
        const place = isPlaced ? { x, y, width, height } : null;
        return {
          id: hwnd,
          title,
          program: process,
          focused,
          place: state === "minimized" ? undefined : place,
          owners: pid === null ? [] : [`process ${pid}`],
          dialogOf: null,
        };
      });
    },
    close() {},
  };
}
