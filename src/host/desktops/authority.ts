/**
 * The cookie of a display, in the file format of libXau (`Xauth.h`, xauth(1)): who cannot read the file cannot connect.
 */
const PROTOCOL = "MIT-MAGIC-COOKIE-1";
const COOKIE_BYTES = 16;
/** Any address (`FamilyWild`). */
const WILD = 65_535;

/** A file with one fresh cookie, good for the display of any number: the number is known only once the server runs. */
export function newAuthority(): Uint8Array {
  return Buffer.concat([
    sixteen(WILD),
    counted(Buffer.alloc(0)),
    counted(Buffer.alloc(0)),
    counted(Buffer.from(PROTOCOL)),
    counted(crypto.getRandomValues(new Uint8Array(COOKIE_BYTES))),
  ]);
}

const sixteen = (value: number) => Buffer.from([value >> 8, value & 0xff]);
const counted = (bytes: Uint8Array) => Buffer.concat([sixteen(bytes.length), bytes]);
