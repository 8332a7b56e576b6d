/**
 * The screen and the door that all viewers share: they are opened when they are first used, and closed when nobody has used them for
 * a while.
 */
import type { Backend } from "../../backend";
import { type Door, openDoor } from "./door";
import { forgetPngs } from "./jpeg";
import { openScreen, type Screen } from "./screen";
import type { OwnVideos } from "./videos";

/** How long the screen is still watched when nobody looks any more, in milliseconds: thumbnails come again and again. */
const LINGER_MS = 5_000;

/** What the shared screen needs of those who use it. */
interface SharedScreenParts {
  /** Gives the desktop. */
  use(): Promise<Backend>;
  isUsed(): boolean;
  /** Called when the screen has gone and could not be found again. */
  gone(reason: string): void;
  readonly videos: OwnVideos;
}

/** The screen and the door. */
export class SharedScreen {
  #door: Promise<Door> | undefined;
  #screen: Promise<Screen> | undefined;
  #leaving: Timer | undefined;

  constructor(private readonly parts: SharedScreenParts) {}

  /** The screen. Callers must call {@link leaveLater} when they need it no longer. @throws why there is none. */
  useScreen(): Promise<Screen> {
    this.#stay();
    return this.#screen ?? this.#open();
  }

  /** The door. @throws why there is none. */
  useDoor(): Promise<Door> {
    const opening = this.#door ?? openDoor();
    opening.catch(() => {
      if (this.#door === opening) this.#door = undefined;
    });
    this.#door = opening;
    return opening;
  }

  /** The door, where it was used. */
  get door(): Promise<Door> | undefined {
    return this.#door;
  }

  /** Nobody gets videos in H.264 that have not begun. */
  forbidVideos(): void {
    this.parts.videos.forbid();
  }

  /** Closes both after a while, unless they are used then. */
  leaveLater(): void {
    if (!this.parts.isUsed()) this.#leaving ??= setTimeout(() => this.leave(), LINGER_MS);
  }

  /** Closes both, unless they are used. */
  leave(): void {
    this.#stay();
    if (this.parts.isUsed()) return;
    this.#door?.then((opened) => opened.close()).catch(() => {});
    this.#screen?.then((opened) => opened.close()).catch(() => {});
    this.#door = this.#screen = undefined;
    forgetPngs();
  }

  #stay(): void {
    clearTimeout(this.#leaving);
    this.#leaving = undefined;
  }

  #open(): Promise<Screen> {
    const gone = (reason: string) => {
      this.#screen = undefined;
      this.parts.gone(reason);
    };
    const opening = this.parts.use().then((backend) => openScreen(backend.watch, gone, this.parts.videos));
    opening.catch(() => {
      if (this.#screen === opening) this.#screen = undefined;
    });
    this.#screen = opening;
    return opening;
  }
}
