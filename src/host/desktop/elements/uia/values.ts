/**
 * Texts and values as COM has them with 64 bits: BSTR, VARIANT and SAFEARRAY (wtypes.h, oaidl.h).
 */
import { type Pointer, read, toArrayBuffer } from "bun:ffi";
import { unavailable } from "../../../../lib/errors";

/** The address of something of COM. */
export type Address = Pointer | bigint;

/** What of oleaut32.dll makes texts and arrays, and lets them go. */
export interface OleAutomation {
  SysAllocStringLen(units: Uint16Array, count: number): Address | null;
  SysStringLen(bstr: Address): number;
  SysFreeString(bstr: Address): void;
  SafeArrayCreateVector(kind: number, lowest: number, count: number): Address | null;
  SafeArrayDestroy(array: Address): number;
}

/** VARENUM (wtypes.h). */
const VT = { i4: 3, r8: 5, bstr: 8, boolean: 11, array: 0x2000 } as const;
/** The size of a VARIANT, and where its value is. */
export const VARIANT_SIZE = 24;
const VALUE_AT = 8;
/** SAFEARRAY: where dimensions, size of an element, data, and count of the first dimension are. */
const SAFEARRAY = { dimensions: 0, size: 4, data: 16, count: 24 } as const;
/** More elements of an array than any property has. */
const MAX_ELEMENTS = 1_000;

/** What a property is; undefined where the element has no such property. */
export type Value = number | boolean | string | readonly number[] | undefined;

/** The units of UTF-16 of a text; at least one, as there is no address of nothing. */
const unitsOf = (text: string) =>
  Uint16Array.from({ length: text.length || 1 }, (_, at) => text.charCodeAt(at));

/** Lends a text as methods take one. */
export function withText<T>(ole: OleAutomation, text: string, use: (bstr: Address) => T): T {
  const bstr = ole.SysAllocStringLen(unitsOf(text), text.length);
  if (bstr === null) throw unavailable("there is no memory for a text");
  try {
    return use(bstr);
  } finally {
    ole.SysFreeString(bstr);
  }
}

/** Lends a VARIANT of a whole number, or of an array of some. */
export function withVariant<T>(
  ole: OleAutomation,
  value: number | readonly number[],
  use: (memory: BigUint64Array) => T,
): T {
  const memory = new BigUint64Array(VARIANT_SIZE / 8);
  const variant = new DataView(memory.buffer);
  if (typeof value === "number") {
    variant.setUint16(0, VT.i4, true);
    variant.setInt32(VALUE_AT, value, true);
    return use(memory);
  }
  const array = ole.SafeArrayCreateVector(VT.i4, 0, value.length);
  if (array === null) throw unavailable("there is no memory for an array");
  try {
    new Int32Array(toArrayBuffer(read.ptr(array, SAFEARRAY.data), 0, 4 * value.length)).set(value);
    variant.setUint16(0, VT.i4 | VT.array, true);
    variant.setBigUint64(VALUE_AT, BigInt(array), true);
    return use(memory);
  } finally {
    ole.SafeArrayDestroy(array);
  }
}

/** @param most characters. */
export function textAt(ole: OleAutomation, bstr: Address, most: number): string {
  const units = Math.min(ole.SysStringLen(bstr), most);
  return units === 0 ? "" : Buffer.from(toArrayBuffer(bstr, 0, 2 * units)).toString("utf16le");
}

/** What is in a VARIANT, which stays as it is. @param most characters of a text. */
export function valueIn(ole: OleAutomation, variant: DataView, most: number): Value {
  const kind = variant.getUint16(0, true);
  const address = Number(variant.getBigUint64(VALUE_AT, true)) as Pointer;
  switch (kind) {
    case VT.i4:
      return variant.getInt32(VALUE_AT, true);
    case VT.r8:
      return variant.getFloat64(VALUE_AT, true);
    case VT.boolean:
      return variant.getInt16(VALUE_AT, true) !== 0;
    case VT.bstr:
      return address === 0 ? "" : textAt(ole, address, most);
    case VT.i4 | VT.array:
      return address === 0 ? undefined : numbersAt(address, 4, read.i32);
    case VT.r8 | VT.array:
      return address === 0 ? undefined : numbersAt(address, 8, read.f64);
    default:
      // VT_UNKNOWN is what says that there is no such property.
      return undefined;
  }
}

/** The numbers of a SAFEARRAY of one dimension, which are `width` bytes wide. */
function numbersAt(
  array: Address,
  width: number,
  numberAt: (data: number, at: number) => number,
): readonly number[] | undefined {
  if (read.u16(array, SAFEARRAY.dimensions) !== 1 || read.u32(array, SAFEARRAY.size) !== width)
    return undefined;
  const count = Math.min(read.u32(array, SAFEARRAY.count), MAX_ELEMENTS);
  const data = read.ptr(array, SAFEARRAY.data);
  return data === 0 ? undefined : Array.from({ length: count }, (_, at) => numberAt(data, width * at));
}
