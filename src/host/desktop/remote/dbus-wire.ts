/**
 * The wire format of D-Bus (D-Bus Specification, "Type System" and "Message Protocol"), with the descriptors that go beside a message: the library
 * that reads the accessibility bus passes none.
 */

/** A value with the type that it has on the wire. */
export interface Variant {
  readonly signature: string;
  readonly value: Value;
}

/** What is sent; a dictionary is a list of pairs. */
export type Value = string | number | boolean | Variant | readonly Value[];

/** What is received: a variant is what it holds, a dictionary a map, a struct and an array a list, `h` a descriptor. */
export type BusValue =
  | string
  | number
  | bigint
  | boolean
  | readonly BusValue[]
  | ReadonlyMap<BusValue, BusValue>;

/** A message, as far as it is used. */
export interface BusMessage {
  readonly type: number;
  readonly serial: number;
  readonly path: string | undefined;
  readonly face: string | undefined;
  readonly member: string | undefined;
  readonly error: string | undefined;
  readonly sender: string | undefined;
  /** The number of the call that it answers. */
  readonly replyTo: number | undefined;
  readonly signature: string;
  readonly body: readonly BusValue[];
  /** Those that came with it: whoever gets the message closes them. */
  readonly descriptors: readonly number[];
}

export const MESSAGE_TYPE = { call: 1, reply: 2, error: 3, signal: 4 } as const;

/** The numbers of the header's fields. */
const FIELD = {
  path: 1,
  face: 2,
  member: 3,
  error: 4,
  replyTo: 5,
  to: 6,
  sender: 7,
  signature: 8,
  fds: 9,
} as const;
const [LITTLE, VERSION] = [0x6c, 1];
/** The part of the header that has always the same size; with it, the size of all is known. */
export const HEAD_SIZE = 16;
/** The largest message that is read, in bytes: those of the desktop have some thousand. */
const MAX_MESSAGE = 1_048_576;

const ALIGNMENT: Readonly<Record<string, number>> = {
  ...{ y: 1, g: 1, v: 1, n: 2, q: 2, b: 4, i: 4, u: 4, h: 4, s: 4, o: 4, a: 4 },
  ...{ x: 8, t: 8, d: 8, "(": 8, "{": 8 },
};
const alignmentOf = (type: string) => ALIGNMENT[type[0] ?? ""] ?? 1;

/** The complete types that a signature lists. @throws a RangeError for what is none. */
function typesIn(signature: string): string[] {
  const types: string[] = [];
  for (let at = 0; at < signature.length; ) {
    const end = endOfType(signature, at);
    types.push(signature.slice(at, end));
    at = end;
  }
  return types;
}

function endOfType(signature: string, from: number): number {
  const first = signature[from];
  if (first === "a") return endOfType(signature, from + 1);
  if (first !== "(" && first !== "{") {
    if (first === undefined || !(first in ALIGNMENT)) throw new RangeError("a signature is cut off");
    return from + 1;
  }
  let at = from + 1;
  while (signature[at] !== ")" && signature[at] !== "}") at = endOfType(signature, at);
  return at + 1;
}

/** What a container holds: the types between its brackets. */
const inside = (type: string) => typesIn(type.slice(1, -1));

const membersOf = (value: Value): readonly Value[] => (Array.isArray(value) ? value : []);
const isVariant = (value: Value): value is Variant => typeof value === "object" && "signature" in value;

/** Builds a message, piece by piece. */
class Writer {
  readonly #pieces: Buffer[] = [];
  size = 0;

  align(to: number): void {
    this.#add(Buffer.alloc((to - (this.size % to)) % to));
  }

  put(type: string, value: Value): void {
    this.align(alignmentOf(type));
    const kind = type[0] ?? "";
    if (kind === "a") this.#list(type.slice(1), membersOf(value));
    else if (kind === "(" || kind === "{") this.#struct(inside(type), membersOf(value));
    else if (kind === "v") this.#variant(value);
    else if (kind === "s" || kind === "o") this.#text(String(value), 4);
    else if (kind === "g") this.#text(String(value), 1);
    else this.#number(kind, Number(value));
  }

  bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  #variant(value: Value): void {
    if (!isVariant(value)) throw new TypeError("expected a value with its type");
    this.put("g", value.signature);
    this.put(value.signature, value.value);
  }

  #number(kind: string, value: number): void {
    const bytes = Buffer.alloc(kind === "y" ? 1 : kind === "d" ? 8 : 4);
    if (kind === "y") bytes.writeUInt8(value);
    else if (kind === "d") bytes.writeDoubleLE(value);
    else if (kind === "i") bytes.writeInt32LE(value);
    else bytes.writeUInt32LE(value >>> 0);
    this.#add(bytes);
  }

  #text(text: string, sizeBytes: 1 | 4): void {
    const bytes = Buffer.from(`${text}\0`);
    const size = Buffer.alloc(sizeBytes);
    size.writeUIntLE(bytes.length - 1, 0, sizeBytes);
    this.#add(size);
    this.#add(bytes);
  }

  #list(type: string, values: readonly Value[]): void {
    const size = Buffer.alloc(4);
    this.#add(size);
    // The gap before the first is no part of the size.
    this.align(alignmentOf(type));
    const from = this.size;
    for (const value of values) this.put(type, value);
    size.writeUInt32LE(this.size - from);
  }

  #struct(types: readonly string[], values: readonly Value[]): void {
    for (const [nth, type] of types.entries()) this.put(type, values[nth] ?? 0);
  }

  #add(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.size += bytes.length;
  }
}

/** The lists of two among values. */
const pairsOf = (all: BusValue): Array<[BusValue, BusValue]> =>
  Array.isArray(all) ? all.flatMap((one) => (Array.isArray(one) ? [[one[0], one[1]]] : [])) : [];

/** Reads values; every read is within the message. */
class Reader {
  constructor(
    private readonly bytes: Buffer,
    private at: number,
    private readonly descriptors: readonly number[],
  ) {}

  get(type: string): BusValue {
    this.align(alignmentOf(type));
    switch (type[0]) {
      case "y":
        return this.bytes.readUInt8(this.next(1));
      case "n":
        return this.bytes.readInt16LE(this.next(2));
      case "q":
        return this.bytes.readUInt16LE(this.next(2));
      case "b":
        return this.bytes.readUInt32LE(this.next(4)) !== 0;
      case "i":
        return this.bytes.readInt32LE(this.next(4));
      case "u":
        return this.bytes.readUInt32LE(this.next(4));
      case "h":
        return this.descriptors[this.bytes.readUInt32LE(this.next(4))] ?? -1;
      case "x":
        return this.bytes.readBigInt64LE(this.next(8));
      case "t":
        return this.bytes.readBigUInt64LE(this.next(8));
      case "d":
        return this.bytes.readDoubleLE(this.next(8));
      case "g":
        return this.text(this.bytes.readUInt8(this.next(1)));
      case "v":
        return this.get(this.text(this.bytes.readUInt8(this.next(1))));
      case "a":
        return this.list(type.slice(1));
      case "(":
      case "{":
        return inside(type).map((one) => this.get(one));
      default:
        return this.text(this.bytes.readUInt32LE(this.next(4)));
    }
  }

  align(to: number): void {
    this.next((to - (this.at % to)) % to);
  }

  private list(type: string): BusValue {
    const size = this.bytes.readUInt32LE(this.next(4));
    this.align(alignmentOf(type));
    const end = this.at + size;
    if (end > this.bytes.length) throw new RangeError("a message is shorter than its values");
    const all: BusValue[] = [];
    while (this.at < end) {
      const from = this.at;
      all.push(this.get(type));
      if (this.at === from) throw new RangeError("a list holds values without a size");
    }
    return type.startsWith("{") ? new Map(pairsOf(all)) : all;
  }

  private text(size: number): string {
    const from = this.next(size + 1);
    return this.bytes.toString("utf8", from, from + size);
  }

  private next(size: number): number {
    const from = this.at;
    this.at += size;
    if (this.at > this.bytes.length) throw new RangeError("a message is shorter than its values");
    return from;
  }
}

/** A method call. @param to the name on the bus. */
export function callMessage(
  serial: number,
  to: string,
  { path, face, member }: { readonly path: string; readonly face: string; readonly member: string },
  signature: string,
  values: readonly Value[],
): Buffer {
  const body = new Writer();
  for (const [nth, type] of typesIn(signature).entries()) body.put(type, values[nth] ?? 0);
  const field = (number: number, type: string, value: string): Value => [number, { signature: type, value }];
  const fields = [
    field(FIELD.path, "o", path),
    field(FIELD.face, "s", face),
    field(FIELD.member, "s", member),
    field(FIELD.to, "s", to),
    ...(signature === "" ? [] : [field(FIELD.signature, "g", signature)]),
  ];
  const head = new Writer();
  for (const byte of [LITTLE, MESSAGE_TYPE.call, 0, VERSION]) head.put("y", byte);
  head.put("u", body.size);
  head.put("u", serial);
  head.put("a(yv)", fields);
  head.align(8);
  return Buffer.concat([head.bytes(), body.bytes()]);
}

/** The size of the message that begins with `head`, in bytes. @throws a RangeError for what is no message. */
export function messageSize(head: Buffer): number {
  if (head.readUInt8(0) !== LITTLE) throw new RangeError("a message has another order of bytes");
  const fields = HEAD_SIZE + head.readUInt32LE(12);
  const size = fields + ((8 - (fields % 8)) % 8) + head.readUInt32LE(4);
  if (size > MAX_MESSAGE) throw new RangeError(`a message has more than ${MAX_MESSAGE} bytes`);
  return size;
}

/**
 * A whole message, with the descriptors that are its own.
 *
 * @param takeDescriptors gives so many of those that have arrived, the first first. @throws a RangeError for what is none.
 */
export function readMessage(
  bytes: Buffer,
  takeDescriptors: (count: number) => readonly number[],
): BusMessage {
  const head = new Reader(bytes, HEAD_SIZE - 4, []);
  const fields = new Map(pairsOf(head.get("a(yv)")));
  head.align(8);
  const from = bytes.length - bytes.readUInt32LE(4);
  const signature = String(fields.get(FIELD.signature) ?? "");
  const descriptors = takeDescriptors(Number(fields.get(FIELD.fds) ?? 0));
  const body = new Reader(bytes, from, descriptors);
  const text = (field: number) => {
    const value = fields.get(field);
    return typeof value === "string" ? value : undefined;
  };
  const replyTo = fields.get(FIELD.replyTo);
  return {
    type: bytes.readUInt8(1),
    serial: bytes.readUInt32LE(8),
    path: text(FIELD.path),
    face: text(FIELD.face),
    member: text(FIELD.member),
    error: text(FIELD.error),
    sender: text(FIELD.sender),
    replyTo: typeof replyTo === "number" ? replyTo : undefined,
    signature,
    body: typesIn(signature).map((type) => body.get(type)),
    descriptors,
  };
}
