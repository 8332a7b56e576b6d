/**
 * Datagrams to a Unix socket, which neither Bun nor Node can send: through the C library.
 */
import { dlopen, ptr } from "bun:ffi";

/** From Linux's socket.h and un.h. */
const AF_UNIX = 1;
const SOCK_DGRAM_CLOEXEC = 0o2000002;
const MSG_NOSIGNAL = 0x4000;

/**
 * @param path of the socket; one that begins with `@` is in the abstract namespace (unix(7)).
 * @returns sends a text; what cannot be sent is lost, as with any datagram.
 * @throws when there is no C library to be found.
 */
export function createDatagramSender(path: string): (text: string) => void {
  const { socket, sendto } = openLibc();
  const family = new Uint8Array(new Uint16Array([AF_UNIX]).buffer);
  const address = Buffer.concat([family, Buffer.from(path.replace(/^@/, "\0"))]);
  const descriptor = socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0);
  return (text) => {
    const message = Buffer.from(text);
    sendto(descriptor, ptr(message), message.length, MSG_NOSIGNAL, ptr(address), address.length);
  };
}

function openLibc() {
  const symbols = {
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "u32"], returns: "i64" },
  } as const;
  try {
    return dlopen("libc.so.6", symbols).symbols;
  } catch {
    const architecture = process.arch === "arm64" ? "aarch64" : "x86_64";
    return dlopen(`libc.musl-${architecture}.so.1`, symbols).symbols;
  }
}
