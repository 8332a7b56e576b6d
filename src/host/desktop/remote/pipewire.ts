/**
 * Pictures of a screen from PipeWire, through the library of the host (libpipewire-0.3): its main loop runs in this thread, in small steps.
 *
 * What it answers lies in memory that others write: every size is checked against the memory that was mapped before anything is copied.
 */
import { CFunction, dlopen, JSCallback, type Pointer, ptr, read, toArrayBuffer } from "bun:ffi";
import { closeSync } from "node:fs";
import { unavailable } from "../../../lib/errors";
import { cString } from "../../../lib/libc";
import { printable } from "../../../lib/sanitize";
import type { Point } from "../geometry";
import type { OutputPicture } from "../wayland/picture-buffer";
import { type BufferQueue, createPictures } from "./buffers";
import { agreedFormat, wantedBuffers, wantedFormat } from "./pods";

const LIBRARY = "libpipewire-0.3.so.0";
/** How often the loop is looked at while pictures are wanted, in milliseconds: its descriptor (epoll) sends no signal. */
const STEP_MS = 8;
/** `struct pw_loop`, `struct spa_interface` and `struct spa_loop_control_methods`: where what is used lies. */
const LOOP_CONTROL = 16;
const INTERFACE = { funcs: 16, data: 24 } as const;
const CONTROL = { enter: 24, leave: 32, iterate: 40 } as const;
/** `enum spa_direction`, `enum pw_stream_flags`: linked by the session manager, mapped for us. */
const INPUT = 0;
const [AUTOCONNECT, MAP_BUFFERS, DONT_RECONNECT] = [1, 4, 128];
/** `enum pw_stream_state` */
const [ERROR, UNCONNECTED] = [-1, 0];
/** `spa/param/param.h`: the format that was agreed on. */
const PARAM_FORMAT = 4;
/** `struct spa_hook`, `struct pw_stream_events`, and where its functions lie in it. */
const [HOOK_SIZE, EVENTS_SIZE] = [48, 96];
const EVENT = { state: 16, param: 40 } as const;
const POD_HEAD = 8;
/** The largest parameter that is read, in bytes. */
const MAX_POD = 4_096;

const open = () =>
  dlopen(LIBRARY, {
    pw_init: { args: ["ptr", "ptr"], returns: "void" },
    pw_loop_new: { args: ["ptr"], returns: "ptr" },
    pw_loop_destroy: { args: ["ptr"], returns: "void" },
    pw_context_new: { args: ["ptr", "ptr", "u64"], returns: "ptr" },
    pw_context_destroy: { args: ["ptr"], returns: "void" },
    pw_context_connect: { args: ["ptr", "ptr", "u64"], returns: "ptr" },
    pw_context_connect_fd: { args: ["ptr", "i32", "ptr", "u64"], returns: "ptr" },
    pw_core_disconnect: { args: ["ptr"], returns: "i32" },
    pw_properties_new_string: { args: ["ptr"], returns: "ptr" },
    pw_stream_new: { args: ["ptr", "ptr", "ptr"], returns: "ptr" },
    pw_stream_add_listener: { args: ["ptr", "ptr", "ptr", "ptr"], returns: "void" },
    pw_stream_connect: { args: ["ptr", "i32", "u32", "u32", "ptr", "u32"], returns: "i32" },
    pw_stream_update_params: { args: ["ptr", "ptr", "u32"], returns: "i32" },
    pw_stream_dequeue_buffer: { args: ["ptr"], returns: "ptr" },
    pw_stream_queue_buffer: { args: ["ptr", "ptr"], returns: "i32" },
    pw_stream_disconnect: { args: ["ptr"], returns: "i32" },
    pw_stream_destroy: { args: ["ptr"], returns: "void" },
  }).symbols;

type Library = ReturnType<typeof open>;

/** Pictures of one node. */
export interface PictureStream {
  /** The newest picture; undefined before the first. It stays as it is until the next step. */
  readonly picture: OutputPicture | undefined;
  /** Where the pointer is on it, in its pixels; undefined where it is not, or that is not known. */
  readonly cursor: Point | undefined;
  /** How many pictures were taken: where several had come at once, the newest. */
  readonly count: number;
  /** Why there are no more; undefined while there may be. */
  readonly problem: string | undefined;
  /** Why the last picture that came was not taken; undefined where it was, and before the first. */
  readonly refusal: string | undefined;
  /** Each is called with each new picture, each place of the pointer, and when there are no more. */
  readonly listeners: Set<() => void>;
  /** There are no more pictures, for the reason `why`: tells who listens. */
  fail(why: string): void;
  close(): void;
}

/** A connection to PipeWire. */
export interface PipeWire {
  /** Pictures of a node of PipeWire, from now on. @throws `unavailable`. */
  stream(node: number): PictureStream;
  /** Brings what has arrived to the streams now. */
  step(): void;
  close(): void;
}

const pointerAt = (at: Pointer | bigint, offset: number) =>
  read.ptr(Number(at) as Pointer, offset) as Pointer;

/**
 * @param descriptor of a connection to PipeWire, which is this function's to close; that of the host when left out.
 * @throws an `unavailable` failure where the host has no PipeWire, or it does not run.
 */
export function openPipeWire(descriptor?: number): PipeWire {
  const library = load(descriptor);
  library.pw_init(null, null);
  const loop = library.pw_loop_new(null);
  if (!loop) {
    if (descriptor !== undefined) closeSync(descriptor);
    throw unavailable("PipeWire gives no loop");
  }
  const control = pointerAt(loop, LOOP_CONTROL);
  const [functions, data] = [pointerAt(control, INTERFACE.funcs), pointerAt(control, INTERFACE.data)];
  const method = <A extends readonly ("ptr" | "i32")[]>(offset: number, args: A) =>
    CFunction({ ptr: pointerAt(functions, offset), args: [...args], returns: "i32" });
  const iterate = method(CONTROL.iterate, ["ptr", "i32"]);
  const [enter, leave] = [method(CONTROL.enter, ["ptr"]), method(CONTROL.leave, ["ptr"])];
  enter(data);
  const context = library.pw_context_new(loop, null, 0);
  // PipeWire closes a descriptor that it was given, whatever comes of it.
  const core =
    context &&
    (descriptor === undefined
      ? library.pw_context_connect(context, null, 0)
      : library.pw_context_connect_fd(context, descriptor, null, 0));
  const streams = new Set<OwnStream>();
  let isOpen = true;
  const end = () => {
    if (!isOpen) return;
    isOpen = false;
    clearInterval(timer);
    for (const stream of streams) stream.close();
    if (core) library.pw_core_disconnect(core);
    if (context) library.pw_context_destroy(context);
    leave(data);
    library.pw_loop_destroy(loop);
    for (const one of [iterate, enter, leave]) one.close();
  };
  const step = () => {
    // A round for each thing that has happened, and an end to it.
    for (let round = 0; isOpen && round < 64 && Number(iterate(data, 0)) > 0; round++);
    // Who is told may close streams, the last of which ends all: never within the loop, whose functions would return into what is gone.
    for (const stream of [...streams]) stream.take();
  };
  let timer: Timer | undefined;
  if (!context || !core) {
    if (!context && descriptor !== undefined) closeSync(descriptor);
    end();
    throw unavailable("no pictures: PipeWire does not run in this session");
  }
  return {
    stream(node) {
      const made = createStream(library, Number(core) as Pointer, node, () => {
        streams.delete(made);
        if (streams.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      });
      streams.add(made);
      timer ??= setInterval(step, STEP_MS);
      return made;
    },
    step,
    close: end,
  };
}

function load(descriptor: number | undefined): Library {
  try {
    return open();
  } catch {
    if (descriptor !== undefined) closeSync(descriptor);
    throw unavailable(`no pictures: this host has no ${LIBRARY} (Debian: libpipewire-0.3-0)`);
  }
}

/** A stream, and what takes its pictures. */
interface OwnStream extends PictureStream {
  take(): void;
}

/** @param closed is called once. */
function createStream(library: Library, core: Pointer, node: number, closed: () => void): OwnStream {
  const properties = "media.type=Video media.category=Capture media.role=Screen node.name=svc";
  const stream = library.pw_stream_new(
    core,
    ptr(cString("svc")),
    library.pw_properties_new_string(ptr(cString(properties))),
  );
  if (!stream) throw unavailable("PipeWire makes no stream");
  const listeners = new Set<() => void>();
  /** Whether something has come that nobody was told yet. */
  let isNew = false;
  const say = () => {
    isNew = false;
    for (const listener of listeners) listener();
  };
  const pictures = createPictures();
  let count = 0;
  let problem: string | undefined;
  let isOpen = true;
  const wanted = new JSCallback(
    (_data: Pointer, id: number, param: Pointer | null) => {
      if (id !== PARAM_FORMAT || !param) return;
      const size = POD_HEAD + read.u32(param, 0);
      const pod = Buffer.from(toArrayBuffer(param, 0, Math.min(size, MAX_POD)).slice(0));
      pictures.agree(agreedFormat(pod));
      const params = wantedBuffers();
      library.pw_stream_update_params(stream, ptr(pointersTo(params)), params.length);
    },
    { args: ["ptr", "u32", "ptr"], returns: "void" },
  );
  const changed = new JSCallback(
    (_data: Pointer, _old: number, state: number, error: Pointer | null) => {
      if (!isOpen || (state !== ERROR && state !== UNCONNECTED)) return;
      // Told in the next `take`: a stream must not be destroyed in a call of its own.
      problem ??= `PipeWire ended the stream${error ? ` (${textAt(error)})` : ""}`;
      isNew = true;
    },
    { args: ["ptr", "i32", "i32", "ptr"], returns: "void" },
  );
  // The library keeps them for as long as the stream is there.
  const hook = Buffer.alloc(HOOK_SIZE);
  const events = Buffer.alloc(EVENTS_SIZE);
  events.writeBigUInt64LE(BigInt(changed.ptr ?? 0), EVENT.state);
  events.writeBigUInt64LE(BigInt(wanted.ptr ?? 0), EVENT.param);
  library.pw_stream_add_listener(stream, ptr(hook), ptr(events), null);
  const formats = [wantedFormat()];
  const flags = AUTOCONNECT | MAP_BUFFERS | DONT_RECONNECT;
  const failed = library.pw_stream_connect(
    stream,
    INPUT,
    node,
    flags,
    ptr(pointersTo(formats)),
    formats.length,
  );

  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    library.pw_stream_destroy(stream);
    wanted.close();
    changed.close();
    for (const kept of [hook, events]) kept.fill(0);
    closed();
  };
  if (failed < 0) {
    close();
    throw unavailable(`PipeWire does not connect to the pictures of the screen (error ${-failed})`);
  }
  const queue = queueOf(library, stream);
  return {
    get picture() {
      return pictures.newest();
    },
    get cursor() {
      return pictures.cursor();
    },
    get count() {
      return count;
    },
    get problem() {
      return problem;
    },
    get refusal() {
      return pictures.refusal();
    },
    listeners,
    take() {
      if (!isOpen) return;
      const come = pictures.take(queue);
      if (come === "picture") count++;
      if (come !== "nothing" || isNew) say();
    },
    fail(why) {
      problem ??= why;
      say();
    },
    close,
  };
}

/** The buffers of a stream that have arrived. */
const queueOf = (library: Library, stream: Pointer | number | bigint): BufferQueue => ({
  next() {
    const buffer = library.pw_stream_dequeue_buffer(stream as Pointer);
    return buffer ? (Number(buffer) as Pointer) : null;
  },
  giveBack: (buffer) => void library.pw_stream_queue_buffer(stream as Pointer, buffer),
});

const pointersTo = (all: readonly Buffer[]) => new BigUint64Array(all.map((one) => BigInt(ptr(one))));

const textAt = (at: Pointer) => {
  const bytes: number[] = [];
  for (let nth = 0; nth < 200; nth++) {
    const byte = read.u8(at, nth);
    if (byte === 0) break;
    bytes.push(byte);
  }
  return printable(Buffer.from(bytes).toString("utf8"), 200);
};
