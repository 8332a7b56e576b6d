/**
 * The wire format of Wayland (The Wayland Protocol, chapter 4): words of 32 bits in the order of the host, and descriptors beside them.
 */
import type { PROTOCOL } from "./protocol";

type Table = typeof PROTOCOL;

/** The name of an interface that svc speaks. */
export type InterfaceName = keyof Table;

/** A message of the table: its name, then the types of its arguments. */
export type MessageForm = readonly [name: string, ...types: readonly string[]];

/** A value on the wire; an object is its number, null is none. */
export type Value = number | string | null | Uint8Array;

/** The value that goes with a type of the table. */
type ValueOf<T> = T extends "string"
  ? string
  : T extends "array"
    ? Uint8Array
    : T extends "object"
      ? number | null
      : number;

type Messages<I extends InterfaceName, K extends "requests" | "events"> = Table[I][K][number];

/** The names of the requests, or of the events, of an interface. */
export type MessageName<I extends InterfaceName, K extends "requests" | "events"> = Messages<I, K>[0];

type TypesOf<I extends InterfaceName, K extends "requests" | "events", N> =
  Extract<Messages<I, K>, readonly [N, ...unknown[]]> extends readonly [unknown, ...infer A] ? A : never;

type SentValues<A> = A extends readonly [infer H, ...infer R]
  ? H extends `new_id ${string}`
    ? SentValues<R>
    : [ValueOf<H>, ...SentValues<R>]
  : [];

/** The arguments of a request, without the object that it makes. */
export type RequestArguments<I extends InterfaceName, N> = SentValues<TypesOf<I, "requests", N>>;

type MadeBy<A> = A extends readonly [infer H, ...infer R]
  ? H extends `new_id ${infer M extends InterfaceName}`
    ? M
    : MadeBy<R>
  : never;

/** The interface of the object that a request makes; never for others. */
export type MadeInterface<I extends InterfaceName, N> = MadeBy<TypesOf<I, "requests", N>>;

type ReceivedValues<A> = A extends readonly [infer H, ...infer R]
  ? [H extends `new_id ${string}` ? number : ValueOf<H>, ...ReceivedValues<R>]
  : [];

/** What is called for the events of an object; a new object is its number. */
export type Handlers<I extends InterfaceName> = {
  readonly [N in MessageName<I, "events">]?: (...args: ReceivedValues<TypesOf<I, "events", N>>) => void;
};

/** The size of a message's head: the number of the object, then the size of all and the number of the message. */
export const HEAD_SIZE = 8;

/** A message, and the descriptors that go with it. */
export function encode(object: number, opcode: number, types: readonly string[], values: readonly Value[]) {
  const descriptors: number[] = [];
  const parts: Buffer[] = [];
  types.forEach((type, nth) => {
    const value = values[nth] ?? null;
    if (type === "fd") descriptors.push(Number(value));
    else if (typeof value === "string") parts.push(counted(Buffer.from(`${value}\0`)));
    else if (value instanceof Uint8Array) parts.push(counted(Buffer.from(value)));
    else parts.push(word(type === "fixed" ? Math.round(Number(value) * 256) : Number(value)));
  });
  const body = Buffer.concat(parts);
  const head = Buffer.concat([word(object), word(((HEAD_SIZE + body.length) << 16) | opcode)]);
  return { bytes: Buffer.concat([head, body]), descriptors };
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

const counted = (bytes: Buffer) =>
  Buffer.concat([word(bytes.length), bytes, Buffer.alloc(-bytes.length & 3)]);

/**
 * The values in the body of a message.
 *
 * @param descriptors those that have arrived: its own are taken from the front.
 * @throws a RangeError where the body is shorter than its values.
 */
export function decode(types: readonly string[], body: Buffer, descriptors: number[]): Value[] {
  let at = 0;
  const next = (bytes: number) => {
    const from = at;
    at += bytes;
    if (at > body.length) throw new RangeError("a message is shorter than its values");
    return from;
  };
  const block = () => {
    const length = body.readUInt32LE(next(4));
    const from = next(length + (-length & 3));
    return body.subarray(from, from + length);
  };
  return types.map((type) => {
    if (type === "fd") return descriptors.shift() ?? -1;
    if (type === "string") return block().toString("utf8").replace(/\0$/, "");
    if (type === "array") return new Uint8Array(block());
    if (type === "int") return body.readInt32LE(next(4));
    if (type === "fixed") return body.readInt32LE(next(4)) / 256;
    return body.readUInt32LE(next(4));
  });
}
