/** What is used of the X11 protocol client `x11`, which brings no types (https://sidorares.github.io/node-x11/docs). */
declare module "x11" {
  /** An error of the protocol; `error` is its code. Socket errors come through the same event and have none. */
  export interface XError extends Error {
    readonly error?: number;
  }

  /** A reply or its error; `true` says that the error has been dealt with. */
  export type Reply<T> = (error: XError | null | undefined, value: T) => true;

  export interface XProperty {
    readonly type: number;
    readonly format: number;
    readonly data: Buffer;
  }

  export interface GeometryReply {
    readonly width: number;
    readonly height: number;
  }

  export interface ImageReply {
    readonly depth: number;
    readonly data: Buffer;
  }

  export interface AttributesReply {
    readonly mapState: number;
    readonly overrideRedirect: number;
  }

  export interface TreeReply {
    readonly parent: number;
    readonly children: readonly number[];
  }

  export interface PointerReply {
    readonly rootX: number;
    readonly rootY: number;
    /** Modifiers, buttons and, in bits 13 and 14, the keyboard group. */
    readonly keyMask: number;
  }

  export interface ScreenPlace {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  }

  export interface XClient {
    on(event: "error", listener: (error: XError) => void): void;
    on(event: "end", listener: () => void): void;
    require(name: "xtest", done: (error: Error | null, extension: XTest) => void): void;
    require(name: "xinerama", done: (error: Error | null, extension: Xinerama) => void): void;
    InternAtom(onlyIfExists: boolean, name: string, reply: Reply<number>): void;
    GetProperty(
      remove: 0,
      window: number,
      name: number,
      type: number,
      offset: number,
      length: number,
      reply: Reply<XProperty>,
    ): void;
    GetGeometry(drawable: number, reply: Reply<GeometryReply>): void;
    GetImage(
      format: 2,
      drawable: number,
      x: number,
      y: number,
      width: number,
      height: number,
      planes: number,
      reply: Reply<ImageReply>,
    ): void;
    GetInputFocus(reply: Reply<{ readonly focus: number }>): void;
    SetInputFocus(window: number, revertTo: 2): void;
    MapWindow(window: number): void;
    RaiseWindow(window: number): void;
    SendClientMessage(to: number, about: number, type: number, format: 32, data: readonly number[]): void;
    QueryTree(window: number, reply: Reply<TreeReply>): void;
    GetWindowAttributes(window: number, reply: Reply<AttributesReply>): void;
    QueryPointer(window: number, reply: Reply<PointerReply>): void;
    GetKeyboardMapping(firstKeycode: number, count: number, reply: Reply<number[][]>): void;
    ChangeKeyboardMapping(firstKeycode: number, keysymsPerKeycode: number, keysyms: readonly number[]): void;
    GetModifierMapping(reply: Reply<number[][]>): void;
    terminate(): void;
  }

  export interface XTest {
    readonly KeyPress: number;
    readonly KeyRelease: number;
    readonly ButtonPress: number;
    readonly ButtonRelease: number;
    readonly MotionNotify: number;
    FakeInput(type: number, detail: number, delay: number, root: number, x: number, y: number): void;
  }

  export interface Xinerama {
    QueryScreens(reply: Reply<readonly ScreenPlace[]>): void;
  }

  export interface XVisual {
    readonly class: number;
    readonly red_mask: number;
    readonly green_mask: number;
    readonly blue_mask: number;
  }

  export interface XScreen {
    readonly root: number;
    readonly root_visual: number;
    readonly root_depth: number;
    readonly depths: Readonly<Record<number, Readonly<Record<number, XVisual>>>>;
  }

  export interface XDisplay {
    readonly client: XClient;
    readonly screen: readonly XScreen[];
    readonly format: Readonly<
      Record<number, { readonly bits_per_pixel: number; readonly scanline_pad: number }>
    >;
    /** 0: least significant byte first. */
    readonly image_byte_order: number;
    readonly min_keycode: number;
    readonly max_keycode: number;
  }

  export function createClient(
    options: { readonly display: string; readonly shm: false },
    ready: (error: XError | undefined, display: XDisplay) => void,
  ): void;
  /** @throws when it cannot be parsed. */
  export function parseDisplay(display: string): { readonly screenNum: string | number };
}
