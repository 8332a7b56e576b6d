/**
 * Objects of COM through `bun:ffi`: making them, and calling the methods of their tables.
 *
 * An object is called on the thread that made it, in the apartment of many threads: nothing pumps messages here. A call blocks this
 * process until it is answered, so that only a child process may call.
 */
import { CFunction, dlopen, type Pointer, read } from "bun:ffi";
import { unavailable } from "../../../../lib/errors";
import { type Address, type OleAutomation, textAt, VARIANT_SIZE, type Value, valueIn } from "./values";

/** How an argument is given to a method. A structure of more than eight bytes, such as VARIANT, is given by its address (x64, arm64). */
export type Kind = "ptr" | "i32" | "u32" | "u64" | "f64";
type Argument = Address | number | Uint8Array | BigUint64Array;

/** HRESULTs, as unsigned numbers. */
export const RESULT = {
  noInterface: 0x8000_4002,
  notImplemented: 0x8000_4001,
  invalidArgument: 0x8007_0057,
  accessDenied: 0x8007_0005,
  noWindow: 0x8007_0578,
  notRegistered: 0x8004_0154,
  elementNotEnabled: 0x8004_0200,
  elementGone: 0x8004_0201,
  notSupported: 0x8004_0204,
  timeout: 0x8013_1505,
} as const;

/** A method that answered otherwise than "done". */
export class ComFailure extends Error {
  constructor(
    readonly result: number,
    what: string,
  ) {
    super(`${what}: 0x${result.toString(16).padStart(8, "0")}`);
  }
}

/** What `ask` returns; undefined where it fails with one of these results. @throws what else goes wrong. */
export function unlessResult<T>(results: readonly number[], ask: () => T): T | undefined {
  try {
    return ask();
  } catch (error) {
    if (error instanceof ComFailure && results.includes(error.result)) return undefined;
    throw error;
  }
}

/** An interface of an object; it is let go at the end of its scope. */
export interface Face extends Disposable {
  readonly at: Address;
  /** @throws {@link ComFailure}. */
  call(index: number, kinds?: readonly Kind[], ...args: readonly Argument[]): void;
  /** The object that the last parameter of the method is for; undefined where it gives none. @throws as `call`. */
  object(index: number, kinds?: readonly Kind[], ...args: readonly Argument[]): Face | undefined;
  /** The whole number that the last parameter is for; also a truth. @throws as `call`. */
  whole(index: number): number;
  /** @throws as `call`. */
  real(index: number): number;
  /** The text that the last parameter is for. @param most characters. @throws as `call`. */
  text(most: number, index: number, kinds?: readonly Kind[], ...args: readonly Argument[]): string;
  /** The value that the last parameter is for. @param most characters of a text. @throws as `call`. */
  value(most: number, index: number, kinds: readonly Kind[], ...args: readonly Argument[]): Value;
  /** Another interface of the object; undefined where it has none. */
  as(iid: string): Face | undefined;
}

/** COM, begun on this thread. */
export interface Com {
  readonly ole: OleAutomation;
  /** An object of a class; undefined where there is no such class. @throws {@link ComFailure}. */
  create(clsid: string, iid: string): Face | undefined;
}

/** The 16 bytes of a GUID: the first three parts are little-endian. */
export function guid(text: string): Uint8Array {
  const bytes = Buffer.from(text.replaceAll("-", ""), "hex");
  return Uint8Array.from([3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15], (at) => bytes[at] ?? 0);
}

/** COINIT_MULTITHREADED; RPC_E_CHANGED_MODE is what is answered where the thread has another apartment already. */
const MULTITHREADED = 0;
const CHANGED_MODE = 0x8001_0106;
const CLSCTX_INPROC_SERVER = 1;

const isBad = (result: number) => result >= 0x8000_0000;

/** @throws an `unavailable` failure where COM does not begin. */
export function openCom(): Com {
  const { symbols: ole32 } = dlopen("ole32.dll", {
    CoInitializeEx: { args: ["ptr", "u32"], returns: "i32" },
    CoCreateInstance: { args: ["ptr", "ptr", "u32", "ptr", "ptr"], returns: "i32" },
  });
  const { symbols: ole } = dlopen("oleaut32.dll", {
    SysAllocStringLen: { args: ["ptr", "u32"], returns: "ptr" },
    SysStringLen: { args: ["ptr"], returns: "u32" },
    SysFreeString: { args: ["ptr"], returns: "void" },
    VariantClear: { args: ["ptr"], returns: "i32" },
    SafeArrayCreateVector: { args: ["u32", "i32", "u32"], returns: "ptr" },
    SafeArrayDestroy: { args: ["ptr"], returns: "i32" },
  });
  const begun = ole32.CoInitializeEx(null, MULTITHREADED) >>> 0;
  if (isBad(begun) && begun !== CHANGED_MODE)
    throw unavailable(`COM does not begin: 0x${begun.toString(16)}`);
  const faceOf = faces(ole);
  return {
    ole,
    create(clsid, iid) {
      const made = new BigUint64Array(1);
      const result = ole32.CoCreateInstance(guid(clsid), null, CLSCTX_INPROC_SERVER, guid(iid), made) >>> 0;
      if (result === RESULT.notRegistered || result === RESULT.noInterface) return undefined;
      if (isBad(result)) throw new ComFailure(result, "CoCreateInstance");
      return addressIn(made, faceOf);
    },
  };
}

/** What `use` makes of the address that a method has put there; undefined for none. */
function addressIn<T>([at = 0n]: BigUint64Array, use: (at: Address) => T): T | undefined {
  return at === 0n ? undefined : use(Number(at) as Pointer);
}

const [QUERY, RELEASE] = [0, 2];

/** @returns what makes a {@link Face} of an address, and owns it then. */
export function faces(ole: OleAutomation & { VariantClear(variant: BigUint64Array): number }) {
  const methodOf = methods();
  const faceOf = (at: Address): Face => {
    const ask = (index: number, kinds: readonly Kind[], args: readonly Argument[]): number =>
      methodOf(at, index, kinds)(at, ...args) >>> 0;
    const call: Face["call"] = (index, kinds = [], ...args) => {
      const result = ask(index, kinds, args);
      if (isBad(result)) throw new ComFailure(result, `method ${index}`);
    };
    /** Calls with an address for the answer, of so many times eight bytes. */
    const answer = (index: number, kinds: readonly Kind[], args: readonly Argument[], size = 1) => {
      const memory = new BigUint64Array(size);
      call(index, [...kinds, "ptr"], ...args, memory);
      return memory;
    };
    return {
      at,
      call,
      object: (index, kinds = [], ...args) => addressIn(answer(index, kinds, args), faceOf),
      whole: (index) => new DataView(answer(index, [], []).buffer).getInt32(0, true),
      real: (index) => new DataView(answer(index, [], []).buffer).getFloat64(0, true),
      text(most, index, kinds = [], ...args) {
        const taken = (bstr: Address) => {
          try {
            return textAt(ole, bstr, most);
          } finally {
            ole.SysFreeString(bstr);
          }
        };
        return addressIn(answer(index, kinds, args), taken) ?? "";
      },
      value(most, index, kinds, ...args) {
        const variant = answer(index, kinds, args, VARIANT_SIZE / 8);
        try {
          return valueIn(ole, new DataView(variant.buffer), most);
        } finally {
          ole.VariantClear(variant);
        }
      },
      as(iid) {
        const made = new BigUint64Array(1);
        const result = ask(QUERY, ["ptr", "ptr"], [guid(iid), made]);
        if (result === RESULT.noInterface) return undefined;
        if (isBad(result)) throw new ComFailure(result, "QueryInterface");
        return addressIn(made, faceOf);
      },
      [Symbol.dispose]: () => void ask(RELEASE, [], []),
    };
  };
  return faceOf;
}

/** The functions of tables, each made once: objects of one kind have one table. */
function methods() {
  const known = new Map<string, (...args: readonly unknown[]) => number>();
  return (at: Address, index: number, kinds: readonly Kind[]) => {
    const address = read.ptr(read.ptr(at, 0), 8 * index) as Pointer;
    const key = `${address} ${kinds.join()}`;
    const before = known.get(key);
    if (before) return before;
    const made = CFunction({ ptr: address, args: ["ptr", ...kinds], returns: "i32" });
    const method = (...args: readonly unknown[]) => Number(made(...args));
    known.set(key, method);
    return method;
  };
}
