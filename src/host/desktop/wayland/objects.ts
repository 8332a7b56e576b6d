/**
 * The objects of a connection to a Wayland compositor: their numbers, the requests to them, and the events from them.
 */
import { closeSync } from "node:fs";
import { PROTOCOL } from "./protocol";
import {
  decode,
  encode,
  type Handlers,
  HEAD_SIZE,
  type InterfaceName,
  type MadeInterface,
  type MessageForm,
  type MessageName,
  type RequestArguments,
  type Value,
} from "./wire";

/** How many descriptors may wait for the events that they belong to: those of a few messages of libwayland. */
const MAX_DESCRIPTORS = 112;
/** The number of `wl_display`, and the first of the objects that the compositor makes. */
const DISPLAY_ID = 1;
const FIRST_OF_COMPOSITOR = 0xff00_0000;

/** An object of the protocol. */
export interface WaylandObject<I extends InterfaceName> {
  readonly id: number;
  readonly version: number;
  /** @returns the object that the request makes. */
  make<N extends MessageName<I, "requests">>(
    name: N,
    ...args: RequestArguments<I, N>
  ): WaylandObject<MadeInterface<I, N>>;
  /** Sends a request that makes nothing. */
  ask<N extends MessageName<I, "requests">>(name: N, ...args: RequestArguments<I, N>): void;
  /** Its events go there from now on. @returns the object itself. */
  on(handlers: Handlers<I>): WaylandObject<I>;
}

/** The objects of a connection. */
export interface Objects {
  /** An object with a number: the compositor has made it, or it was {@link allocate}d. */
  adopt<I extends InterfaceName>(
    name: I,
    id: number,
    version: number,
    handlers: Handlers<I>,
  ): WaylandObject<I>;
  /** A number that no object has. */
  allocate(): number;
  /** The compositor knows the number no more. */
  forget(id: number): void;
  /** Hands events to the objects. @param descriptors that arrived with these bytes. @throws for what is no message, and for too many of them. */
  received(bytes: Uint8Array, descriptors: readonly number[]): void;
  /** Closes what has arrived and was taken by nobody. */
  close(): void;
}

interface Entry {
  readonly name: InterfaceName;
  handlers: object;
}

export function createObjects(send: (bytes: Uint8Array, descriptors: readonly number[]) => void): Objects {
  const entries = new Map<number, Entry>();
  const free: number[] = [];
  let next = DISPLAY_ID + 1;
  const allocate = () => free.pop() ?? next++;
  const events = createEvents(entries);

  const request = (id: number, name: InterfaceName, asked: string, args: readonly Value[]) => {
    const forms: readonly MessageForm[] = PROTOCOL[name].requests;
    const opcode = forms.findIndex(([known]) => known === asked);
    const [, ...types] = forms[opcode] ?? [""];
    let made: number | undefined;
    const given = [...args];
    const values = types.map((type): Value => {
      if (!type.startsWith("new_id ")) return given.shift() ?? null;
      made = allocate();
      return made;
    });
    const { bytes, descriptors } = encode(id, opcode, types, values);
    send(bytes, descriptors);
    const entry = entries.get(id);
    // What is on its way to it is for nobody.
    if (asked === "destroy" && entry) entry.handlers = {};
    return made;
  };
  const adopt: Objects["adopt"] = (name, id, version, handlers) => {
    entries.set(id, { name, handlers });
    return {
      id,
      version,
      make(asked, ...args) {
        const made = request(id, name, asked, args);
        if (made === undefined) throw new Error(`${name}.${asked} makes no object`);
        return adopt(madeBy(name, asked), made, version, {});
      },
      ask: (asked, ...args) => void request(id, name, asked, args),
      on(its) {
        entries.set(id, { name, handlers: its });
        return this;
      },
    };
  };
  return {
    adopt,
    allocate,
    forget(id) {
      if (id < FIRST_OF_COMPOSITOR && entries.delete(id)) free.push(id);
    },
    ...events,
  };
}

/** The interface of the object that a request makes, as the table has it. */
function madeBy<I extends InterfaceName, N extends MessageName<I, "requests">>(name: I, asked: N) {
  const forms: readonly MessageForm[] = PROTOCOL[name].requests;
  const type = forms.find(([known]) => known === asked)?.find((one) => one.startsWith("new_id "));
  return type?.slice("new_id ".length) as MadeInterface<I, N>;
}

/** Cuts what arrives into events. */
function createEvents(entries: ReadonlyMap<number, Entry>): Pick<Objects, "received" | "close"> {
  let kept = Buffer.alloc(0);
  const descriptors: number[] = [];
  const take = (id: number, opcode: number, body: Buffer) => {
    const entry = entries.get(id);
    const form: MessageForm | undefined = entry && PROTOCOL[entry.name].events[opcode];
    if (!entry || !form) return;
    const [event, ...types] = form;
    const values = decode(types, body, descriptors);
    const handler: unknown = Reflect.get(entry.handlers, event);
    if (typeof handler === "function") return void Reflect.apply(handler, undefined, values);
    for (const [nth, type] of types.entries()) if (type === "fd") closeSync(Number(values[nth]));
  };
  return {
    received(bytes, arrived) {
      kept = Buffer.concat([kept, bytes]);
      descriptors.push(...arrived);
      while (kept.length >= HEAD_SIZE) {
        // What nobody takes would use up those of the process.
        if (descriptors.length > MAX_DESCRIPTORS) throw new RangeError("too many descriptors wait");
        const second = kept.readUInt32LE(4);
        const size = Math.max(HEAD_SIZE, second >>> 16);
        if (kept.length < size) return;
        const [id, body] = [kept.readUInt32LE(0), kept.subarray(HEAD_SIZE, size)];
        kept = kept.subarray(size);
        take(id, second & 0xffff, body);
      }
    },
    close() {
      for (const descriptor of descriptors.splice(0)) closeSync(descriptor);
    },
  };
}
