/** The C library, for what neither Bun nor Node can do. */
import type { FFIFunction } from "bun:ffi";

/** `text` as C has it. */
export const cString = (text: string): Buffer => Buffer.from(`${text}\0`);

/**
 * Functions of the C library by name, each with its types.
 *
 * @throws when no C library is found.
 */
export function openLibc<const S extends Record<string, FFIFunction>>(symbols: S) {
  const { dlopen }: typeof import("bun:ffi") = require("bun:ffi");
  if (process.platform === "darwin") return dlopen("libSystem.B.dylib", symbols).symbols;
  try {
    return dlopen("libc.so.6", symbols).symbols;
  } catch {
    const architecture = process.arch === "arm64" ? "aarch64" : "x86_64";
    return dlopen(`libc.musl-${architecture}.so.1`, symbols).symbols;
  }
}
