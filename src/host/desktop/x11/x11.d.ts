/** What is used of the X11 protocol client `x11`, which has no types of its own (https://sidorares.github.io/node-x11/docs). */
declare module "x11" {
  /** An error of the protocol; `error` is its code. Socket errors come through the same event and have none. */
  export interface XError extends Error {
    readonly error?: number;
  }

  /** Takes a reply or its error; `true` says that the error has been handled. */
  export type Reply<T> = (error: XError | null | undefined, value: T) => true;

  type Numbers<N extends string> = Readonly<Record<N, number>>;
  type Area = [x: number, y: number, width: number, height: number];

  type EventMask = { readonly eventMask: number };

  export interface XImage {
    readonly depth: number;
    readonly data: Buffer;
  }

  export interface XProperty {
    readonly type: number;
    readonly format: number;
    /** How much of it was not read, in bytes. */
    readonly bytesAfter: number;
    readonly data: Buffer;
  }

  /** The requests that have a reply, which the client hands to a callback after the arguments. */
  export interface XRequests {
    InternAtom(onlyIfExists: boolean, name: string): number;
    GetProperty(remove: 0, window: number, name: number, type: number, at: number, length: number): XProperty;
    GetGeometry(drawable: number): Numbers<"xPos" | "yPos" | "width" | "height" | "borderWidth">;
    GetImage(format: 2, drawable: number, ...area: [...Area, planes: number]): XImage;
    GetSelectionOwner(selection: number): number;
    GetInputFocus(): Numbers<"focus">;
    TranslateCoordinates(from: number, to: number, x: number, y: number): Numbers<"destX" | "destY">;
    QueryTree(window: number): { readonly parent: number; readonly children: readonly number[] };
    GetWindowAttributes(window: number): Numbers<"mapState" | "overrideRedirect">;
    /** `keyMask`: modifiers, buttons and, in bits 13 and 14, the keyboard group. */
    QueryPointer(window: number): Numbers<"rootX" | "rootY" | "keyMask" | "child">;
    /** A bit for each keycode that is down. */
    QueryKeymap(): Buffer;
    GetKeyboardMapping(firstKeycode: number, count: number): number[][];
    GetModifierMapping(): number[][];
    QueryExtension(name: string): { readonly present: number };
  }

  /** An event; each has only those fields that the protocol gives it. */
  export type XEvent = { readonly name: string } & Numbers<
    "time" | "wid" | "atom" | "state" | "requestor" | "selection" | "target" | "property" | "width" | "height"
  >;

  export interface XClient {
    on(event: "event", listener: (event: XEvent) => void): void;
    on(event: "error", listener: (error: XError) => void): void;
    on(event: "end", listener: () => void): void;
    require<N extends keyof XConnectionExtensions>(
      name: N,
      done: (error: Error | null, extension: XConnectionExtensions[N]) => void,
    ): void;
    AllocID(): number;
    CreateWindow(
      id: number,
      parent: number,
      ...place: [...Area, border: number, depth: number, kind: number, visual: number, values: EventMask]
    ): void;
    ChangeWindowAttributes(window: number, values: EventMask): void;
    ChangeProperty(
      mode: number,
      window: number,
      name: number,
      type: number,
      format: 8 | 32,
      data: Buffer | readonly number[],
    ): void;
    DeleteProperty(window: number, name: number): void;
    SetSelectionOwner(window: number, selection: number, time: number): void;
    ConvertSelection(window: number, selection: number, target: number, property: number, time: number): void;
    SendEvent(to: number, propagate: 0, eventMask: 0, event: Partial<XEvent>): void;
    SetInputFocus(window: number, revertTo: 2): void;
    MapWindow(window: number): void;
    RaiseWindow(window: number): void;
    ConfigureWindow(window: number, values: Partial<Numbers<"x" | "y" | "width" | "height">>): void;
    /** `eventMask`: by default what the window manager selects; 0 for the program of the window. */
    SendClientMessage(
      to: number,
      about: number,
      type: number,
      format: 32,
      data: readonly number[],
      eventMask?: 0,
    ): void;
    ChangeKeyboardMapping(firstKeycode: number, keysymsPerKeycode: number, keysyms: readonly number[]): void;
    terminate(): void;
  }

  type XTestEvents = Numbers<"KeyPress" | "KeyRelease" | "ButtonPress" | "ButtonRelease" | "MotionNotify">;

  export interface XTest extends XTestEvents {
    FakeInput(type: number, detail: number, delay: number, root: number, x: number, y: number): void;
  }

  /** The RECORD extension. */
  export interface XRecord {
    readonly CS: Numbers<"AllClients">;
    readonly Category: Numbers<"FromServer" | "StartOfData">;
    CreateContext(
      context: number,
      header: 0,
      clients: readonly number[],
      ranges: ReadonlyArray<{ readonly deviceEvents: Numbers<"first" | "last"> }>,
    ): void;
    /** @param take is called with each answer as it comes. */
    EnableContext(
      context: number,
      take: (answer: { readonly category: number; readonly data: Buffer }) => void,
      ended: () => true,
    ): void;
    /** From another connection than the one that enabled it. */
    DisableContext(context: number): void;
  }

  /** Every keysym by its name, with the comment that X11/keysymdef.h has on it. */
  export const keySyms: Readonly<
    Record<string, { readonly code: number; readonly description: string | null }>
  >;

  export interface Xinerama {
    QueryScreens(reply: Reply<ReadonlyArray<Numbers<"x" | "y" | "width" | "height">>>): void;
  }

  export interface XRandr {
    GetScreenResources(window: number, reply: Reply<{ readonly outputs: readonly number[] }>): void;
    GetOutputInfo(output: number, timestamp: number, reply: Reply<{ readonly name: string }>): void;
  }

  /** Extensions by their names. */
  export interface XConnectionExtensions {
    readonly xtest: XTest;
    readonly record: XRecord;
    readonly xinerama: Xinerama;
    readonly randr: XRandr;
    readonly damage: XDamage;
    readonly fixes: XFixes;
    readonly shm: XShm;
    readonly res: XResources;
  }

  /** X-Resource 1.2: which process each client of the server is, by what the kernel says of its socket. */
  export interface XResources {
    readonly major: number;
    readonly minor: number;
    readonly ClientIdMask: Numbers<"LocalClientPID">;
    /** @param specs `client`: any id of the client's. */
    QueryClientIds(
      specs: ReadonlyArray<Numbers<"client" | "mask">>,
      reply: Reply<ReadonlyArray<{ readonly value: readonly number[] }>>,
    ): void;
  }

  export interface XDamage {
    readonly ReportLevel: Numbers<"NonEmpty">;
    Create(damage: number, drawable: number, level: number): void;
    Subtract(damage: number, repair: number, parts: number): void;
  }

  type XRect = Numbers<"x" | "y" | "width" | "height">;

  export interface XFixes {
    CreateRegion(region: number, rects: readonly XRect[]): void;
    FetchRegion(region: number, reply: Reply<{ readonly rectangles: readonly XRect[] }>): void;
    SelectCursorInput(window: number, mask: number): void;
    SelectSelectionInput(window: number, selection: number, mask: number): void;
    GetCursorImage(
      reply: Reply<Numbers<"width" | "height" | "xhot" | "yhot"> & { readonly cursorImage: Buffer }>,
    ): void;
  }

  export interface XShm {
    /** @param done gets what went wrong, if anything did. */
    AttachFd(segment: number, fd: number, readOnly: 0, done: (error: Error | null) => true): void;
    GetImage(
      drawable: number,
      ...rest: [...Area, planes: number, format: 2, segment: number, offset: number, reply: Reply<unknown>]
    ): void;
  }

  export type XVisual = Numbers<"class" | "red_mask" | "green_mask" | "blue_mask">;

  export interface XScreen {
    readonly root: number;
    readonly root_visual: number;
    readonly root_depth: number;
    readonly depths: Readonly<Record<number, Readonly<Record<number, XVisual>>>>;
  }

  export interface XDisplay {
    readonly client: XClient;
    readonly screen: readonly XScreen[];
    /** What the ids of this client begin with. */
    readonly resource_base: number;
    readonly format: Readonly<Record<number, Numbers<"bits_per_pixel" | "scanline_pad">>>;
    /** 0: least significant byte first. */
    readonly image_byte_order: number;
    readonly min_keycode: number;
    readonly max_keycode: number;
  }

  export function createClient(
    options: { readonly display: string; readonly shm: boolean },
    ready: (error: XError | undefined, display: XDisplay) => void,
  ): void;
  /** @throws when it cannot be parsed. */
  export function parseDisplay(display: string): { readonly screenNum: string | number };
}
