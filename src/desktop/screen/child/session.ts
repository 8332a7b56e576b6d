/**
 * One viewer: an RFB session (RFC 6143, and the extensions of rfbproto that noVNC and TigerVNC have) on a stream of bytes.
 *
 * Promise: a viewer that does not read, reads slowly, floods or sends garbage costs this session and no other: what waits to be
 * sent and what waits to be done are bounded, and no more is read while they are full.
 */
import type { Socket } from "node:net";
import { messageOf } from "../../../lib/errors";
import type { ViewerClipboard } from "./clipboard";
import { cursorRect, NO_CURSOR, showsCursor } from "./cursor";
import { type Encoded, type Form, wrap } from "./encoder";
import { isWithin } from "./frame";
import { createGauge } from "./gauge";
import { cutMessage, type Incoming, Invalid, type PixelFormat, Unread } from "./incoming";
import type { Input } from "./input";
import {
  BY_SERVER,
  BY_VIEWER,
  DONE,
  END_OF_CONTINUOUS_UPDATES,
  extendedSizeRect,
  FENCE_REQUEST,
  fence,
  GREETING,
  nameRect,
  PROHIBITED,
  PSEUDO,
  SECURITY_NONE,
  serverInit,
  sizeRect,
  updateHeader,
} from "./outgoing";
import { around, findTile, type Parts, WHOLE } from "./parts";
import { hasThreeBytes, OWN_FORMAT, ZRLE } from "./plain";
import type { Screen } from "./screen";

/** With so many bytes on their way to the viewer, nothing is encoded for it, and nothing more read from it. */
const MAX_UNSENT = 1_024 * 1_024;
/** How many answers about the size may wait. */
const MAX_SIZES = 8;
/** About how many pixels go into one update: as JPEGs all of a large screen, otherwise so many that they stay small. */
const [BUDGET_SMALL, BUDGET] = [512 * 1_024, 4 * 1_024 * 1_024];
/** How long a picture rests before it is sent again without loss; and how long until the next part of it, in milliseconds. */
const [REST_MS, NEXT_PART_MS] = [500, 40];
/** How many pixels are sent again at once. */
const REFINED_PIXELS = 96 * 1_024;
/** How long a viewer may take to shake hands, in milliseconds: some 20 s are normal for one that asks a person. */
const HANDSHAKE_MS = 60_000;
const TIGHT = 7;
/** The JPEG quality for the ten levels of a viewer: three, so that viewers share what is encoded. */
const QUALITIES = [45, 45, 45, 45, 75, 75, 75, 75, 90, 90];

/** What a person does. */
const ACTS: ReadonlySet<Incoming["kind"]> = new Set(["key", "pointer", "cut"]);

export type Session = ReturnType<typeof createSession>;

export interface SessionOptions {
  readonly socket: Socket;
  readonly screen: Screen;
  readonly input: Input;
  readonly clipboard: ViewerClipboard;
  readonly name: string;
  /** Whether the viewer controls from the start. */
  readonly control: boolean;
  /** For tests. */
  readonly handshakeMs?: number;
  /** Called once. */
  readonly ended: (reason: string) => void;
}

export function createSession(options: SessionOptions) {
  const { socket, screen, input, clipboard, handshakeMs = HANDSHAKE_MS } = options;
  const unread = new Unread();
  const gauge = createGauge();
  let { name, control: hasControl } = options;
  /** When the viewer last did something that counts. */
  let lastAct: number | null = null;
  let stage: "version" | "security" | "init" | "running" | "ended" = "version";
  let minorVersion = 8;

  let known: ReadonlySet<number> = new Set();
  let format: PixelFormat = OWN_FORMAT;
  let form: Form = { coding: "raw", format, hasPointer: true };
  let isFirstZrle = true;

  /** What the viewer has not been sent of each tile. */
  let dirty: Parts = new Uint32Array(0);
  let lossy = new Uint8Array(0);
  let nextTile = 0;
  /** Whether the viewer has asked for an update; with `continuous`, it need not. */
  let isAsked = false;
  let continuous = false;
  let hasSaidContinuous = false;
  let isSending = false;
  let hasNewCursor = true;
  /** Whether the viewer has a shape of the pointer, which it shows itself. */
  let hasCursor = false;
  let hasNewName = false;
  /** The answers to the viewer's wishes about the size, and news of it; each is an update of its own. */
  const sizes: Buffer[] = [];
  let refineTimer: Timer | undefined;

  const send = (bytes: Uint8Array) => {
    gauge.sent(bytes.length);
    socket.write(bytes);
  };
  /** Resolves when what the viewer held is released. */
  const end = async (reason: string) => {
    if (stage === "ended") return;
    stage = "ended";
    clearTimeout(refineTimer);
    clearTimeout(handshake);
    screen.remove(looker);
    const released = input.end();
    clipboard.end();
    socket.destroy();
    options.ended(reason);
    await released;
  };

  const isFull = () => socket.writableLength > MAX_UNSENT || input.isFull();
  /** Reads on as far as there is room. */
  const read = () => {
    try {
      while (stage !== "ended" && !isFull() && step()) {}
    } catch (error) {
      void end(error instanceof Invalid ? `it sent what it must not: ${error.message}` : messageOf(error));
    }
    if (stage === "ended") return;
    if (isFull()) socket.pause();
    else if (socket.isPaused()) socket.resume();
  };
  input.onRoom(read);
  clipboard.onMessage((form) => {
    if (stage === "running") send(form(known.has(PSEUDO.extendedClipboard)));
  });

  const resetFrame = () => {
    const { columns, rows } = screen.frame;
    dirty = new Uint32Array(columns * rows).fill(WHOLE);
    lossy = new Uint8Array(columns * rows);
    nextTile = 0;
  };

  const looker = {
    isReady: () =>
      stage === "running" &&
      !isSending &&
      (continuous ? !known.has(PSEUDO.fence) || gauge.outstanding() < gauge.window() : isAsked) &&
      socket.writableLength < MAX_UNSENT,
    changed(tiles: readonly number[], parts?: Parts) {
      for (const tile of tiles) dirty[tile] = around(dirty[tile] ?? 0, parts?.[tile] ?? WHOLE);
    },
    push: () => void push(),
    cursorChanged() {
      hasNewCursor = true;
      void push();
    },
    drawsPointer: () => form.hasPointer,
    clipboardChanged: () => clipboard.changed(),
    replaced() {
      if (stage !== "running") return;
      resetFrame();
      // An update that is being made goes nowhere, with what was to go along with it.
      hasNewCursor = hasCursor = hasNewName = true;
      if (known.has(PSEUDO.extendedDesktopSize)) sizes.push(extendedSizeRect(screen.frame, BY_SERVER, DONE));
      else if (known.has(PSEUDO.desktopSize)) sizes.push(sizeRect(screen.frame));
      else return void end("the screen has another size, and this viewer cannot change its own");
      void push();
    },
  };

  /** Sends what is new, if the viewer is ready. Never throws. */
  const push = async () => {
    if (!looker.isReady()) return;
    isSending = true;
    try {
      const size = sizes.shift();
      if (size) sendUpdate([size]);
      else {
        const wanted = form;
        const budget = wanted.coding === "tight" && wanted.quality !== null ? BUDGET : BUDGET_SMALL;
        await sendTiles(screen.encoder.encode(dirty, wanted, budget, nextTile), wanted, extras());
      }
    } catch (error) {
      void end(messageOf(error));
    } finally {
      isSending = false;
    }
    if (sizes.length > 0 || findTile(dirty) >= 0) void push();
    screen.look();
  };
  /** What goes along with pixels. */
  const extras = () => {
    const found: Buffer[] = [];
    // Who has the pointer in the picture must not show another.
    const shape = form.hasPointer ? NO_CURSOR : screen.cursor;
    if (shape && (form.hasPointer ? hasCursor : hasNewCursor)) {
      const cursor = cursorRect(shape, known, format);
      if (cursor) found.push(cursor);
      hasCursor = shape !== NO_CURSOR;
      hasNewCursor = false;
    }
    if (hasNewName && known.has(PSEUDO.desktopName)) found.push(nameRect(name));
    hasNewName = false;
    return found;
  };
  /** Sends what is ready first to who controls: a letter that was typed does not wait for a video on the same screen. */
  const sendTiles = async (encoded: readonly Encoded[], wanted: Form, first: readonly Buffer[]) => {
    const { encoder } = screen;
    const now = first.slice();
    const later: Encoded[] = [];
    for (const one of encoded) {
      if (one.bytes instanceof Buffer) now.push(wrapped(one, wanted, one.bytes));
      else later.push(one);
      for (const tile of one.tiles) {
        if (one.isLossy) lossy[tile] = 1;
        else if (isWithin(screen.frame.placeOf(tile), one.rect)) lossy[tile] = 0;
      }
      nextTile = (one.tiles[0] ?? 0) + 1;
    }
    if (later.length > 0 && now.length > 0 && continuous && hasControl) sendUpdate(now.splice(0));
    for (const one of later) now.push(wrapped(one, wanted, await one.bytes));
    if (stage !== "running" || encoder !== screen.encoder) return;
    if (encoded.length === 0) {
      if (now.length > 0) sendUpdate(now);
      return;
    }
    gauge.frame();
    sendUpdate(now, known.has(PSEUDO.fence) ? gauge.fence() : undefined);
    if (encoded.some((one) => one.isLossy)) refineLater(REST_MS);
  };
  /** @param wanted the form in which it was encoded: the viewer may want another one meanwhile. */
  const wrapped = ({ rect }: Encoded, wanted: Form, bytes: Buffer) => {
    const whole = wrap(wanted, rect, bytes, isFirstZrle);
    if (wanted.coding === "zrle") isFirstZrle = false;
    return whole;
  };
  /** @param after goes along: each write wakes the server and the viewer. */
  const sendUpdate = (rects: readonly Buffer[], after?: Buffer) => {
    isAsked = false;
    send(Buffer.concat([updateHeader(rects.length), ...rects, ...(after ? [after] : [])]));
  };

  const refineLater = (ms: number) => {
    refineTimer ??= setTimeout(() => {
      refineTimer = undefined;
      refine().catch((error) => end(messageOf(error)));
    }, ms);
  };
  /** Sends again, without loss, what has rested. */
  const refine = async () => {
    if (stage !== "running" || !lossy.includes(1)) return;
    const { frame, encoder } = screen;
    const rested = new Uint32Array(lossy.length);
    const before = performance.now() - REST_MS;
    for (let tile = lossy.indexOf(1); tile >= 0; tile = lossy.indexOf(1, tile + 1)) {
      if (!dirty[tile] && (frame.changedAt[tile] ?? 0) <= before) rested[tile] = WHOLE;
    }
    if (findTile(rested) < 0 || !looker.isReady()) return refineLater(REST_MS);
    isSending = true;
    try {
      const wanted: Form = form.coding === "tight" ? { ...form, quality: null } : form;
      await sendTiles(encoder.encode(rested, wanted, REFINED_PIXELS), wanted, []);
    } finally {
      isSending = false;
    }
    void push();
    if (lossy.includes(1)) refineLater(NEXT_PART_MS);
  };

  /** Takes one message. @returns whether there was one. */
  const step = (): boolean => {
    const bytes = unread.peek();
    switch (stage) {
      case "version": {
        if (bytes.length < 12) return false;
        const version = /^RFB 003\.(\d{3})\n$/.exec(bytes.toString("latin1", 0, 12));
        if (!version) throw new Invalid("no version of RFB 3");
        minorVersion = Number(version[1]);
        unread.drop(12);
        if (minorVersion < 7) send(Buffer.of(0, 0, 0, SECURITY_NONE));
        else send(Buffer.of(1, SECURITY_NONE));
        stage = minorVersion < 7 ? "init" : "security";
        return true;
      }
      case "security":
        if (bytes.length < 1) return false;
        if (bytes[0] !== SECURITY_NONE)
          throw new Invalid(`security type ${bytes[0]}; expected ${SECURITY_NONE}`);
        unread.drop(1);
        if (minorVersion >= 8) send(Buffer.alloc(4));
        stage = "init";
        return true;
      case "init":
        if (bytes.length < 1) return false;
        unread.drop(1);
        resetFrame();
        send(serverInit(screen.frame, name));
        stage = "running";
        clearTimeout(handshake);
        screen.add(looker);
        return true;
      case "running": {
        const cut = cutMessage(bytes);
        if ("more" in cut) return false;
        unread.drop(cut.length);
        take(cut.message);
        return true;
      }
      default:
        return false;
    }
  };

  const take = (message: Incoming) => {
    if (hasControl && ACTS.has(message.kind)) lastAct = performance.now();
    switch (message.kind) {
      case "format":
        format = message.format;
        choose();
        return resend();
      case "encodings":
        return takeEncodings(new Set(message.encodings));
      case "request":
        isAsked = true;
        if (!message.incremental) {
          dirty.fill(WHOLE);
          if (known.has(PSEUDO.extendedDesktopSize) && sizes.length === 0) {
            sizes.push(extendedSizeRect(screen.frame, BY_SERVER, DONE));
          }
        }
        break;
      case "continuous":
        continuous = message.on;
        if (!continuous) send(END_OF_CONTINUOUS_UPDATES);
        break;
      case "fence":
        if (message.flags & FENCE_REQUEST) {
          // Each message is done before the next is looked at: that is what all flags ask for.
          send(fence(message.flags & 7, message.payload));
        } else gauge.answered(message.payload);
        break;
      case "resize":
        if (sizes.length < MAX_SIZES) sizes.push(extendedSizeRect(screen.frame, BY_VIEWER, PROHIBITED));
        break;
      case "key":
      case "pointer":
        return input.take(message, screen.pointAt);
      case "cut":
        return clipboard.given(message.text);
      case "extended cut":
        return clipboard.take(message.flags, message.data);
      default:
    }
    void push();
    screen.look();
  };

  const takeEncodings = (encodings: ReadonlySet<number>) => {
    const before = known;
    known = encodings;
    choose();
    if (known.has(PSEUDO.extendedClipboard)) clipboard.offer();
    if (known.has(PSEUDO.fence) && !before.has(PSEUDO.fence)) send(gauge.fence());
    // What the first fence of a window of updates needs.
    if (known.has(PSEUDO.continuousUpdates) && known.has(PSEUDO.fence) && !hasSaidContinuous) {
      hasSaidContinuous = true;
      send(END_OF_CONTINUOUS_UPDATES);
    }
    hasNewCursor = true;
    void push();
  };
  const choose = () => {
    const hasPointer = !hasControl || !showsCursor(known);
    if (hasPointer !== form.hasPointer) {
      looker.changed(screen.encoder.pointer.tiles());
      hasNewCursor = true;
    }
    if (known.has(TIGHT) && hasThreeBytes(format)) {
      const levels = [...known].filter((one) => one >= PSEUDO.quality[0] && one <= PSEUDO.quality[1]);
      const [level] = levels.map((one) => one - PSEUDO.quality[0]);
      form = {
        coding: "tight",
        quality: level === undefined ? null : (QUALITIES[level] ?? null),
        hasPointer,
      };
    } else if (known.has(ZRLE) && isOwn(format)) form = { coding: "zrle", hasPointer };
    else form = { coding: "raw", format, hasPointer };
  };
  const resend = () => {
    dirty.fill(WHOLE);
    hasNewCursor = true;
  };

  socket.on("data", (chunk: Buffer) => {
    unread.add(chunk);
    read();
  });
  socket.on("drain", () => {
    read();
    void push();
    screen.look();
  });
  socket.on("error", () => {});
  socket.on("close", () => void end("its connection was closed"));
  // It would keep the place of another viewer.
  const late = `it did not shake hands within ${handshakeMs / 1_000} s`;
  const handshake = setTimeout(() => void end(late), handshakeMs);
  send(GREETING);

  return {
    end,
    /** Begins with what came along with the key. */
    begin(rest: Uint8Array) {
      unread.add(rest);
      read();
    },
    /** Resolves, when control ends, once all that the viewer held is released. */
    async control(on: boolean): Promise<void> {
      hasControl = on;
      lastAct = null;
      choose();
      void push();
      screen.look();
      clipboard.control(on);
      await input.control(on);
    },
    rename(text: string) {
      name = text;
      hasNewName = true;
      void push();
    },
    /** The last second's figures. */
    stats() {
      const { width, height } = screen.frame;
      if (known.has(PSEUDO.fence) && gauge.outstanding() === 0) send(gauge.fence());
      const idle_s = lastAct === null ? null : Math.round((performance.now() - lastAct) / 1_000);
      return { ...gauge.read(), width, height, unsent: socket.writableLength, idle_s };
    },
  };
}

const isOwn = ({ bits, depth, bigEndian, max, shift }: PixelFormat) =>
  [bits, depth, bigEndian, max, shift].join() ===
  [OWN_FORMAT.bits, OWN_FORMAT.depth, OWN_FORMAT.bigEndian, OWN_FORMAT.max, OWN_FORMAT.shift].join();
